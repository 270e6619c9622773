package source

import (
	"bytes"
	"unicode/utf8"
)

var byteOrderMark = []byte("\ufeff")

// check returns a text without its byte order mark. It reports a text that is not UTF-8 or contains
// a NUL.
func (r *report) check(text []byte) ([]byte, bool) {
	for _, e := range []struct{ mark, name string }{ // the longer ones first
		{"\xff\xfe\x00\x00", "UTF-32"}, {"\x00\x00\xfe\xff", "UTF-32"}, {"\xff\xfe", "UTF-16"},
		{"\xfe\xff", "UTF-16"},
	} {
		if bytes.HasPrefix(text, []byte(e.mark)) {
			r.add(place{1, 1}, "save it as UTF-8", "the text is %s", e.name)
			return nil, false
		}
	}
	text = bytes.TrimPrefix(text, byteOrderMark)
	if at := bytes.IndexByte(text, 0); at >= 0 {
		hint := "remove it"
		if at < 4 {
			hint = "save it as UTF-8; this looks like UTF-16 or UTF-32"
		}
		r.add(placeOf(text, at), hint, "a NUL stands in the text, at byte %d", at+1)
		return nil, false
	}
	if utf8.Valid(text) {
		return text, true
	}
	at := 0
	for {
		c, n := utf8.DecodeRune(text[at:])
		if c == utf8.RuneError && n == 1 {
			break
		}
		at += n
	}
	r.add(placeOf(text, at), "save it as UTF-8", "the text is not UTF-8: the byte %#02x at byte %d",
		text[at], at+1)
	return nil, false
}

// directive hides a %YAML directive at the start of the text from the library, which accepts only
// 1.1. It rejects version 1.1, since scalars have other meanings there (yes is true).
func (r *report) directive(text []byte) []byte {
	at := 0
	for line := range bytes.Lines(text) {
		version, is := bytes.CutPrefix(line, []byte("%YAML "))
		if is {
			version, _, _ = bytes.Cut(version, []byte("#"))
			if v := string(bytes.TrimSpace(version)); v != "1.2" {
				r.add(placeOf(text, at),
					"remove the directive, and put yes, no, on and off in quotes or write true "+
						"and false",
					"the format is YAML 1.2, not %s", short(v))
			}
			text = bytes.Clone(text)
			text[at] = '#'
			return text
		}
		if !blankOrComment(bytes.TrimRight(line, "\n")) {
			return text
		}
		at += len(line)
	}
	return text
}

func blankOrComment(line []byte) bool {
	t := bytes.TrimRight(bytes.TrimLeft(line, " "), "\r")
	return len(t) == 0 || t[0] == '#'
}

// placeOf returns the place of the byte at an offset.
func placeOf(text []byte, offset int) place { return place{1, 1}.after(text[:offset]) }

// after returns the place of the end of a text that starts at p.
func (p place) after(text []byte) place {
	if last := bytes.LastIndexByte(text, '\n'); last >= 0 {
		p.line += int32(bytes.Count(text, []byte{'\n'})) // texts are bounded
		p.column = 1
		text = text[last+1:]
	}
	p.column += int32(utf8.RuneCount(text)) // texts are bounded
	return p
}

// control returns the offset of the first character that YAML does not allow, or -1.
func control(text []byte) int {
	for i, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return i
		}
	}
	return -1
}
