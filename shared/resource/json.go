package resource

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// decoder parses JSON into values. Texts without escapes share the memory of s, so a value needs
// few allocations. After the first error, i is at the end and err is set, and later results have no
// meaning.
//
// Large: a recursive-descent parser has a method for each form of a value, and the methods share
// the position in the text.
type decoder struct {
	s   string
	i   int
	err error
	// plain reads each map as data, and never as a reference.
	plain bool
}

func (d *decoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\r', '\n':
			d.i++
		default:
			return
		}
	}
}

// end rejects any text after the value.
func (d *decoder) end() {
	if d.space(); d.err == nil && d.i != len(d.s) {
		d.fail("there is more behind the value")
	}
}

// expect skips c.
func (d *decoder) expect(c byte, problem string) {
	if d.space(); d.i < len(d.s) && d.s[d.i] == c {
		d.i++
		return
	}
	d.fail(problem)
}

// open enters a list or map and reports whether it has any items.
func (d *decoder) open(start, end byte) bool {
	if d.expect(start, "this value has the wrong type"); d.err != nil {
		return false
	}
	if d.space(); d.i < len(d.s) && d.s[d.i] == end {
		d.i++
		return false
	}
	return true
}

// more advances to the next item and reports whether there is one.
func (d *decoder) more(end byte) bool {
	if d.space(); d.i < len(d.s) {
		switch d.s[d.i] {
		case ',':
			d.i++
			return true
		case end:
			d.i++
			return false
		}
	}
	d.fail("expected , or " + string(end))
	return false
}

// key reads the name of a member and the colon.
func (d *decoder) key() string {
	s := d.string()
	d.expect(':', "expected :")
	return s
}

func (d *decoder) value(depth int) any {
	d.space()
	if d.i >= len(d.s) {
		d.fail("the value ends early")
		return nil
	}
	switch c := d.s[d.i]; {
	case c == '"':
		return d.string()
	case c == '{':
		return d.object(depth, d.plain)
	case c == '[':
		return d.list(depth)
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	case strings.HasPrefix(d.s[d.i:], "true"):
		d.i += 4
		return true
	case strings.HasPrefix(d.s[d.i:], "false"):
		d.i += 5
		return false
	case strings.HasPrefix(d.s[d.i:], "null"):
		d.i += 4
		return nil
	}
	d.fail("this is not valid JSON")
	return nil
}

func (d *decoder) digits() bool {
	from := d.i
	for d.i < len(d.s) && d.s[d.i] >= '0' && d.s[d.i] <= '9' {
		d.i++
	}
	return d.i > from
}

func (d *decoder) skip(set string) bool {
	if d.i < len(d.s) && strings.IndexByte(set, d.s[d.i]) >= 0 {
		d.i++
		return true
	}
	return false
}

// number reads a number: an int64 or *big.Int if it has neither fraction nor exponent, otherwise a
// float64.
func (d *decoder) number() any {
	from := d.i
	d.skip("-")
	ok := d.skip("0") || d.digits()
	whole := true
	if ok && d.skip(".") {
		whole, ok = false, d.digits()
	}
	if ok && d.skip("eE") {
		d.skip("+-")
		whole, ok = false, d.digits()
	}
	if !ok {
		d.fail("this is not a number")
		return nil
	}
	text := d.s[from:d.i]
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		n, _ := new(big.Int).SetString(text, 10)
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		d.fail("this number is too large")
	}
	return f
}

func (d *decoder) string() string {
	if d.expect('"', "expected a text"); d.err != nil {
		return ""
	}
	from, ascii := d.i, true
	for d.i < len(d.s) {
		switch c := d.s[d.i]; {
		case c == '"':
			s := d.s[from:d.i]
			if !ascii && !utf8.ValidString(s) {
				d.fail("the text is not UTF-8")
				return ""
			}
			d.i++
			return s
		case c == '\\' || c < 0x20:
			return d.escapedString(from)
		case c >= utf8.RuneSelf:
			ascii = false
		}
		d.i++
	}
	d.fail("the text has no end")
	return ""
}

// escapedString reads the rest of a text that starts at from, beginning with the first escape.
func (d *decoder) escapedString(from int) string {
	end := strings.IndexByte(d.s[d.i:], '"')
	out := append(make([]byte, 0, d.i-from+max(end, 0)+16), d.s[from:d.i]...)
	for d.i < len(d.s) {
		c := d.s[d.i]
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				d.fail("the text is not UTF-8")
				return ""
			}
			d.i++
			return string(out)
		case c < 0x20:
			d.fail("a control character stands bare in a text")
			return ""
		case c == '\\':
			out = d.escape(out)
		default:
			out = append(out, c)
			d.i++
		}
	}
	d.fail("the text has no end")
	return ""
}

// escape reads an escape sequence and appends the character.
func (d *decoder) escape(out []byte) []byte {
	if d.i+1 < len(d.s) {
		switch c := d.s[d.i+1]; c {
		case 'u':
			return utf8.AppendRune(out, d.unicode())
		default:
			if at := strings.IndexByte(`"\/bfnrt`, c); at >= 0 {
				d.i += 2
				return append(out, "\"\\/\b\f\n\r\t"[at])
			}
		}
	}
	d.fail(`\ stands before nothing that needs it`)
	return out
}

// unicode reads \uXXXX, and the second half of a surrogate pair.
func (d *decoder) unicode() rune {
	r, ok := d.unit()
	if ok && !utf16.IsSurrogate(r) {
		return r
	}
	if low, ok2 := d.unit(); ok && ok2 {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair
		}
	}
	d.fail("expected four hex digits, of a character or of both halves of a pair")
	return utf8.RuneError
}

func (d *decoder) unit() (rune, bool) {
	if d.i+6 > len(d.s) || d.s[d.i] != '\\' || d.s[d.i+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(d.s[d.i+2:d.i+6], 16, 32)
	if err != nil {
		return 0, false
	}
	d.i += 6
	return rune(n), true
}
