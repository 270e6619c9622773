package source

import (
	"bytes"
	"strings"
)

// maxValues returns how many values a text in YAML has at most. It counts the characters with
// which a value can begin, wherever they stand, so that nothing has to be known of quotes and
// comments. What is surely a block scalar is left out; see valuesOutside.
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

// valuesOutside counts what may begin a value outside of what are surely block scalars. While all
// lines are surely closed, it is certain that nothing is open (quotes, brackets) at the end of a
// line. So a line that ends with | or > begins a block scalar, which lasts as long as the lines are
// indented more than that one.
func valuesOutside(text []byte) int64 {
	n := int64(2 + 3*bytes.Count(text, []byte("\n...")))
	for len(text) > 0 {
		line, after, _ := bytes.Cut(text, newline)
		indent, value, keyed := valueOf(line)
		switch {
		case keyed && beginsBlock(value):
			n += begins(line)
			text = after[deeper(after, indent):]
			continue
		case !(keyed && closedValue(value)) && !closedLine(line):
			return n + begins(text)
		}
		n += begins(line)
		text = after
	}
	return n
}

// valueOf takes a line apart that has a simple key, maybe as the first of items of lists: where the
// key begins, and what follows its colon, without a return at the end.
func valueOf(line []byte) (indent int, value []byte, ok bool) {
	rest := bytes.TrimLeft(line, " ")
	for len(rest) > 1 && rest[0] == '-' && rest[1] == ' ' {
		rest = bytes.TrimLeft(rest[1:], " ")
	}
	indent, n := len(line)-len(rest), 0
	for n < len(rest) && (isWord(rest[n]) || rest[n] == '.' || rest[n] == '-') {
		n++
	}
	if n == 0 || n == len(rest) || rest[n] != ':' {
		return 0, nil, false
	}
	return indent, bytes.TrimSuffix(rest[n+1:], []byte("\r")), true
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

// beginsBlock reports whether a value is the head of a block scalar.
func beginsBlock(value []byte) bool {
	head := bytes.Trim(value, " ")
	if len(head) == 0 || len(head) > 3 || value[0] != ' ' || head[0] != '|' && head[0] != '>' {
		return false
	}
	return len(bytes.Trim(head[1:], "0123456789+-")) == 0
}

// closedLine reports whether a line is blank, a comment, or between documents.
func closedLine(line []byte) bool {
	switch rest := bytes.TrimLeft(line, " "); string(bytes.TrimSuffix(rest, []byte("\r"))) {
	case "":
		return true
	case "---", "...":
		return len(rest) == len(line)
	default:
		return rest[0] == '#'
	}
}

// closedValue reports whether what follows a key is nothing, a text that is surely not quoted, or
// one text or list of texts in quotes that surely end where they seem to.
func closedValue(value []byte) bool {
	text := bytes.Trim(value, " ")
	switch {
	case len(text) == 0:
		return true
	case value[0] != ' ':
		return false
	case text[0] == '"' || text[0] == '\'':
		return endOfQuotes(text) == len(text)
	case text[0] == '[':
		return closedList(text[1:])
	}
	return (isWord(text[0]) || bytes.IndexByte([]byte("/.~$+"), text[0]) >= 0) &&
		!bytes.ContainsAny(text, "\"'\\[]{}#&*!|>%@`\r")
}

// endOfQuotes returns where the text in quotes ends with which another begins, -1 if that is not
// certain.
func endOfQuotes(text []byte) int {
	ends := "\"\\\r"
	if text[0] == '\'' {
		ends = "'\r"
	}
	n := 1 + bytes.IndexAny(text[1:], ends)
	if n == 0 || text[n] != text[0] {
		return -1
	}
	return n + 1
}

// closedList reports whether a text is the rest of a list of texts in double quotes.
func closedList(text []byte) bool {
	for {
		text = bytes.TrimLeft(text, " ")
		if len(text) == 0 || text[0] != '"' {
			return false
		}
		end := endOfQuotes(text)
		if end < 0 {
			return false
		}
		text = bytes.TrimLeft(text[end:], " ")
		if len(text) == 0 || text[0] != ',' {
			return string(text) == "]"
		}
		text = text[1:]
	}
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
