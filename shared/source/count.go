package source

import (
	"bytes"
	"strings"

	"southbound/shared/pattern"
)

// maxValues returns how many values a text in YAML has at most. It counts the characters with
// which a value can begin, wherever they stand, so that nothing has to be known of quotes and
// comments. What is surely a block scalar is left out; see blockScalar.
func maxValues(text []byte, enough int64) int64 {
	n := valuesIn(text)
	if n <= enough || hasOtherBreaks(text) {
		return n
	}
	return min(n, valuesOutside(text))
}

// valuesIn counts what may begin a value, and the document.
func valuesIn(text []byte) int64 { return 2 + begins(text) }

func begins(text []byte) int64 {
	n := 3 * int64(bytes.Count(text, []byte("\n...")))
	for i, c := range text {
		switch c {
		case ',', '[':
			n += 2
		case '{':
			n += 3
		case '*', '&', '!':
			n++
		case '-', '?':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n", text[i+1]) >= 0 {
				n += 3
			}
		case ':':
			if i == 0 || i+1 == len(text) || !inWord(text[i-1]) || !inWord(text[i+1]) {
				n += 3
			}
		}
	}
	return n
}

// inWord reports whether a : beside such a character is part of a text.
func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/' ||
		c == '_' || c == '.'
}

// While all lines are of these forms, it is certain that nothing is open (quotes, brackets) at the
// end of a line. So a line that ends with | or > begins a block scalar, which lasts as long as the
// lines are indented more than that one.
var (
	surelyClosed = pattern.Lazy(
		`^(---|\.\.\.)?\r?$|^ *(#|\r?$)|^ *(- +)*[\w.-]+:( +([\w/.~$+][^"'\\\[\]{}#&*!|>%@` + "`" +
			`\r]*|"[^"\\\r]*"|'[^'\r]*'|` +
			`\[ *"[^"\\\r]*"( *, *"[^"\\\r]*")* *\]))? *\r?$`)
	beforeKey   = pattern.Lazy(`^ *(- +)*`)
	blockScalar = pattern.Lazy(`^ *(- +)*[\w.-]+: +[|>][0-9+-]{0,2} *\r?$`)
)

// valuesOutside counts what may begin a value outside of what are surely block scalars.
func valuesOutside(text []byte) int64 {
	n := int64(2 + 3*bytes.Count(text, []byte("\n...")))
	for len(text) > 0 {
		line, after, _ := bytes.Cut(text, newline)
		switch {
		case blockScalar().Match(line):
			n += begins(line)
			text = after[deeper(after, len(beforeKey().Find(line))):]
			continue
		case !surelyClosed().Match(line):
			return n + begins(text)
		}
		n += begins(line)
		text = after
	}
	return n
}

// deeper returns where the first line stands that is not blank and not indented by more than indent
// spaces.
func deeper(text []byte, indent int) int {
	at := 0
	for at < len(text) {
		line, _, _ := bytes.Cut(text[at:], newline)
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		if spaces <= indent && len(bytes.TrimRight(line, " \r")) > 0 {
			break
		}
		at += min(len(line)+1, len(text)-at)
	}
	return at
}
