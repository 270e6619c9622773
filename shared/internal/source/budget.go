package source

import (
	"fmt"
	"strings"
)

const (
	// maxValues limits the values of a document file: names, texts, numbers, lists and maps. The
	// YAML library needs about 300 bytes for each during parsing.
	maxValues = 4_000_000
	// maxExpanded limits the values that all aliases of a file expand to.
	maxExpanded = 500_000
)

// tooMany reports that a file exceeds maxValues.
func (r *report) tooMany(at place) {
	r.syntax(at, "split it into several files of a directory; a long text can stand in a file "+
		"beside it: {file: NAME}", "the document may hold more than %s values", grouped(maxValues))
}

// grouped returns a number with commas between thousands.
func grouped(n int) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// valuesIn returns an upper bound of the number of values in a YAML text, so that the text can be
// rejected before the library parses it. It counts the characters with which a value can start,
// including those in quotes and comments.
func valuesIn(text []byte) int {
	n := 2
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
		case '.':
			if i >= 1 && text[i-1] == '\n' { // perhaps the end of a document
				n += 3
			}
		}
	}
	return n
}

// inWord reports whether a colon next to this character is part of a text.
func inWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '/' ||
		c == '_' || c == '.'
}
