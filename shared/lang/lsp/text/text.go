// Package text holds the text of a document that an editor changes: where its lines are, how the
// positions of the protocol are places in it, and what an edit makes of it.
package text

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Encoding says what the characters of a Position count. The zero value is what editors take that
// say nothing.
type Encoding uint8

// The encodings of positions.
const (
	UTF16 Encoding = iota
	UTF8
	UTF32
)

// Position is a place as the protocol writes it. Both numbers count from 0.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is what stands from one place to another, without what is at End.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// Text is a text with its lines. It never changes.
type Text struct {
	text  string
	lines []int // where each begins
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

// line returns where a line begins and where its characters end, the line end not among them.
func (t *Text) line(n int) (from, to int) {
	from, to = t.lines[n], len(t.text)
	if n+1 < len(t.lines) {
		to = t.lines[n+1]
		to -= len(t.text[from:to]) - len(strings.TrimRight(t.text[from:to], "\r\n"))
	}
	return from, to
}

// Offset returns the byte at a position. What is behind the end of a line is its end, what is
// behind the last line the end of the text, and what is within a character its beginning.
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

// Position returns the position of a byte.
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

// Range returns the range between two bytes.
func (t *Text) Range(from, to int, e Encoding) Range {
	return Range{t.Position(from, e), t.Position(to, e)}
}

// At returns the byte at a line and a column that count from 1, columns in characters, as problems
// say them.
func (t *Text) At(line, column int) int {
	if line < 1 || column < 1 {
		return 0
	}
	const limit = 1 << 30
	return t.Offset(Position{uint32(min(line, limit) - 1), uint32(min(column, limit) - 1)}, UTF32)
}

// Replace returns the text with what stands in a range replaced. A range that ends before it begins
// is taken the other way round.
func (t *Text) Replace(r Range, with string, e Encoding) *Text {
	from, to := t.Offset(r.Start, e), t.Offset(r.End, e)
	if to < from {
		from, to = to, from
	}
	return New(t.text[:from] + with + t.text[to:])
}

// width returns how much a character counts.
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
