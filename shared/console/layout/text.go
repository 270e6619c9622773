package layout

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	titleCells = 20 // of the titles of boxes
	labelCells = 32 // of the texts at lines
	cell       = 7  // pixels of a character at most, on average
	maxText    = 1000
)

// plain returns a text with marks for control characters and for those that change the direction
// of writing. It cuts texts that no drawing needs.
func plain(s string) string {
	if len(s) > 4*maxText {
		s = strings.ToValidUTF8(s[:4*maxText], "") + "…"
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r < 0x20:
			return r + 0x2400 // control pictures
		case r == 0x7F:
			return '\u2421'
		case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs):
			return utf8.RuneError
		}
		return r
	}, s)
}

// cells returns how many columns a text takes; characters of East Asia take two.
func cells(s string) int {
	n := 0
	for _, r := range s {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// cut returns a text of at most limit columns: if it is longer, its middle is replaced by "…".
func cut(s string, limit int) string {
	if cells(s) <= limit {
		return s
	}
	runes := []rune(s)
	head, room := 0, (limit-1)/2
	for head < len(runes) && cellsOf(runes[head]) <= room {
		room -= cellsOf(runes[head])
		head++
	}
	tail, room := len(runes), limit-1-(limit-1)/2
	for tail > head && cellsOf(runes[tail-1]) <= room {
		room -= cellsOf(runes[tail-1])
		tail--
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}

func labelWidth(s string) int { return cell*cells(cut(plain(s), labelCells)) + 10 }
