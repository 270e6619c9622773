// Package text holds the text of a document that an editor changes: it finds lines, converts the
// positions of the protocol, and applies edits.
package text

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding is the unit of characters in a Position. The zero value is the protocol's default.
type Encoding uint8

// The encodings of positions.
const (
	UTF16 Encoding = iota
	UTF8
	UTF32
)

// Position is a place in the format of the protocol. Both numbers count from 0.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is the text between two places; End is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is a text with an index of its lines. It is immutable.
type Text struct {
	text  string
	lines []int // the offset of each line
}

// New returns a text. Lines end with \n, \r\n or \r, as in models.
func New(s string) *Text {
	t := &Text{text: s, lines: make([]int, 1, 1+strings.Count(s, "\n"))}
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n') {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// String returns the text.
func (t *Text) String() string { return t.text }

// line returns the start and the end of a line, without its line break.
func (t *Text) line(n int) (from, to int) {
	from, to = t.lines[n], len(t.text)
	if n+1 < len(t.lines) {
		to = t.lines[n+1]
		to -= len(t.text[from:to]) - len(strings.TrimRight(t.text[from:to], "\r\n"))
	}
	return from, to
}

// Offset returns the byte offset of a position. A position after the end of a line stands for that
// end. One after the last line stands for the end of the text. One within a character stands for
// the first byte of the character.
func (t *Text) Offset(p Position, e Encoding) int {
	if int64(p.Line) >= int64(len(t.lines)) {
		return len(t.text)
	}
	from, to := t.line(int(p.Line))
	left := int64(p.Character)
	for i, r := range t.text[from:to] {
		if left -= int64(e.width(r)); left < 0 {
			return from + i
		}
	}
	return to
}

// Position returns the position of a byte offset.
func (t *Text) Position(offset int, e Encoding) Position {
	offset = max(0, min(offset, len(t.text)))
	n, found := slices.BinarySearch(t.lines, offset)
	if !found {
		n--
	}
	out := Position{Line: uint32(n)} // texts are bounded
	for i, r := range t.text[t.lines[n]:] {
		if t.lines[n]+i >= offset {
			break
		}
		out.Character += uint32(e.width(r)) // 1 to 4
	}
	return out
}

// Range returns the range between two byte offsets.
func (t *Text) Range(from, to int, e Encoding) Range {
	return Range{t.Position(from, e), t.Position(to, e)}
}

// At returns the byte offset of a line and a column. Both count from 1, columns in characters, as
// in problems.
func (t *Text) At(line, column int) int {
	if line < 1 || column < 1 {
		return 0
	}
	const limit = 1 << 30
	return t.Offset(Position{uint32(min(line, limit) - 1), uint32(min(column, limit) - 1)}, UTF32)
}

// Replace returns the text with a range replaced. If the end of the range precedes its start, they
// are swapped.
func (t *Text) Replace(r Range, with string, e Encoding) *Text {
	from, to := t.Offset(r.Start, e), t.Offset(r.End, e)
	if to < from {
		from, to = to, from
	}
	return New(t.text[:from] + with + t.text[to:])
}

// width returns the length of a character in the units of the encoding.
func (e Encoding) width(r rune) int {
	switch {
	case e == UTF32:
		return 1
	case e == UTF8:
		if r == utf8.RuneError {
			return 1 // a byte that is not UTF-8, which cannot come from an editor
		}
		return utf8.RuneLen(r)
	}
	if n := utf16.RuneLen(r); n > 0 {
		return n
	}
	return 1
}
