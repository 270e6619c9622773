package text_test

import (
	"strings"
	"testing"
	"unicode/utf16"

	"southbound/shared/lang/lsp/text"
)

// TestPositions holds how characters count in each encoding: é is 2 bytes and 1 unit, 𝕊 is 4 bytes
// and 2 units.
func TestPositions(t *testing.T) {
	t.Parallel()
	doc := text.New("a\r\né𝕊b\rlast")
	for _, test := range []struct {
		offset int
		e      text.Encoding
		want   text.Position
	}{
		{0, text.UTF16, text.Position{}},
		{3, text.UTF16, text.Position{Line: 1}},
		{5, text.UTF16, text.Position{Line: 1, Character: 1}},
		{9, text.UTF16, text.Position{Line: 1, Character: 3}},
		{9, text.UTF8, text.Position{Line: 1, Character: 6}},
		{9, text.UTF32, text.Position{Line: 1, Character: 2}},
		{11, text.UTF16, text.Position{Line: 2}},
		{15, text.UTF16, text.Position{Line: 2, Character: 4}},
	} {
		if got := doc.Position(test.offset, test.e); got != test.want {
			t.Errorf("%d in %d: got %v, want %v", test.offset, test.e, got, test.want)
		}
		if got := doc.Offset(test.want, test.e); got != test.offset {
			t.Errorf("%v in %d: got %d, want %d", test.want, test.e, got, test.offset)
		}
	}
}

// TestBeyond holds what positions are that stand nowhere.
func TestBeyond(t *testing.T) {
	t.Parallel()
	doc := text.New("ab\r\nc𝕊")
	for _, test := range []struct {
		line, character uint32
		want            int
	}{{0, 99, 2}, {1, 2, 5}, {1, 99, 9}, {7, 0, 9}, {1 << 31, 1 << 31, 9}} {
		p := text.Position{Line: test.line, Character: test.character}
		if got := doc.Offset(p, text.UTF16); got != test.want {
			t.Errorf("%v: got %d, want %d", p, got, test.want)
		}
	}
	if got := doc.At(2, 2); got != 5 {
		t.Errorf("2:2 is at %d", got)
	}
	back := text.Range{Start: text.Position{Line: 1}, End: text.Position{Character: 1}}
	if got := doc.Replace(back, "x", text.UTF16).String(); got != "axc𝕊" {
		t.Errorf("a range backwards makes %q", got)
	}
}

// FuzzEdit makes an edit as an editor makes it, on units of UTF-16, and holds that the text is the
// same; and that every place of a text has a position that leads back to it.
func FuzzEdit(f *testing.F) {
	f.Add("a = 1\nb = 2\n", "x", uint16(2), uint16(7))
	f.Add("é𝕊\r\n𝕊", "\r", uint16(1), uint16(1))
	f.Add("a\rb\n\r\nc", "\n", uint16(2), uint16(3))
	f.Fuzz(func(t *testing.T, before, with string, a, b uint16) {
		const limit = 500 // every place is tried
		before, with = before[:min(len(before), limit)], with[:min(len(with), limit)]
		before, with = strings.ToValidUTF8(before, "?"), strings.ToValidUTF8(with, "?")
		units := utf16.Encode([]rune(before))
		from, to := whole(units, int(a)), whole(units, int(b))
		if to < from {
			from, to = to, from
		}
		want := string(utf16.Decode(units[:from])) + with + string(utf16.Decode(units[to:]))
		r := text.Range{Start: position(units, from), End: position(units, to)}
		doc := text.New(before)
		after := doc.Replace(r, with, text.UTF16)
		if after.String() != want {
			t.Fatalf("%q with %q at %v is %q, want %q", before, with, r, after, want)
		}
		for _, e := range []text.Encoding{text.UTF8, text.UTF16, text.UTF32} {
			for i := range want { // the places within a line end lead to its beginning
				if inEnd := i > 0 && want[i-1] == '\r' && want[i] == '\n'; inEnd {
					continue
				}
				if got := after.Offset(after.Position(i, e), e); got != i {
					t.Fatalf("%q: %d leads to %d", want, i, got)
				}
			}
		}
	})
}

// whole returns a place of a text that is neither within a character nor within a line end, where
// no cursor can be.
func whole(units []uint16, at int) int {
	at %= len(units) + 1
	if at > 0 && at < len(units) {
		low := utf16.IsSurrogate(rune(units[at])) && units[at] >= 0xdc00
		if low || units[at-1] == '\r' && units[at] == '\n' {
			return at - 1
		}
	}
	return at
}

// position counts lines and units, as an editor does.
func position(units []uint16, at int) text.Position {
	var p text.Position
	for i, u := range units[:at] {
		p.Character++
		if u == '\n' || u == '\r' && (i+1 == len(units) || units[i+1] != '\n') {
			p.Line, p.Character = p.Line+1, 0
		}
	}
	return p
}
