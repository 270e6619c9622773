package types

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a value as text, like str() in Python.
func Text(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case Object:
		return v.Text()
	}
	return Repr(v)
}

// Repr returns a value as Python shows it inside of lists: strings have quotes. Null is shown as
// null.
func Repr(v Value) string {
	text, _ := ReprWithin(v, math.MaxInt)
	return text
}

// ReprWithin returns Repr if it has at most limit bytes. Otherwise it returns a longer text that
// starts like Repr but is incomplete, and false.
func ReprWithin(v Value, limit int) (string, bool) {
	var b strings.Builder
	repr(&b, v, limit)
	return b.String(), b.Len() <= limit
}

// AppendRepr appends Repr of a value.
func AppendRepr(b []byte, v Value) []byte {
	switch v := v.(type) {
	case string:
		if plain(v) {
			return append(append(append(b, '\''), v...), '\'')
		}
	case int64:
		return strconv.AppendInt(b, v, 10)
	}
	return append(b, Repr(v)...)
}

// plain reports whether a text is ASCII and needs no escapes.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '\'' || c == '\\' {
			return false
		}
	}
	return true
}

// repr writes a value. It stops soon after the limit.
func repr(b *strings.Builder, v Value, limit int) {
	switch v := v.(type) {
	case Null:
		b.WriteString("null")
	case bool:
		if v {
			b.WriteString("True")
		} else {
			b.WriteString("False")
		}
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case *big.Int:
		b.WriteString(v.String())
	case float64:
		b.WriteString(FloatText(v))
	case string:
		quote(b, v, limit)
	case *List:
		b.WriteByte('[')
		for i, item := range v.Items {
			if b.Len() > limit {
				return
			}
			if i > 0 {
				b.WriteString(", ")
			}
			repr(b, item, limit)
		}
		b.WriteByte(']')
	case *Dict:
		b.WriteByte('{')
		for i, k := range v.keys {
			if b.Len() > limit {
				return
			}
			if i > 0 {
				b.WriteString(", ")
			}
			quote(b, k, limit)
			b.WriteString(": ")
			repr(b, v.values[k], limit)
		}
		b.WriteByte('}')
	case *Unknown:
		b.WriteString("<unknown>")
	case Object:
		fmt.Fprintf(b, "%s %02x", v.Type().FullName(), v.Number())
	case Reference:
		b.WriteString(v.ReferenceName())
	default:
		fmt.Fprintf(b, "<%T>", v)
	}
}

// shown formats a value for error messages: its kind, and a shortened form of the value.
func shown(v Value) string {
	switch v.(type) {
	case Null, Object, *Unknown:
		return Kind(v)
	}
	return Kind(v) + " (" + Short(v) + ")"
}

// Short returns Repr of a value, shortened for messages.
func Short(v Value) string {
	const limit = 60
	if o, ok := v.(Object); ok {
		return o.String()
	}
	s, _ := ReprWithin(v, limit*utf8.UTFMax) // enough bytes for all shown characters
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit]) + "…"
	}
	return s
}

// FloatText formats a float like Python.
func FloatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return infText(f)
	}
	s := strconv.FormatFloat(f, 'e', -1, 64)
	exponent, _ := strconv.Atoi(s[strings.IndexByte(s, 'e')+1:])
	if exponent >= -4 && exponent < 16 {
		s = strconv.FormatFloat(f, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
	}
	return s
}

func infText(f float64) string {
	if f < 0 {
		return "-inf"
	}
	return "inf"
}

// quote writes a string like repr() in Python: between ' unless the string contains ' and no ".
func quote(b *strings.Builder, s string, limit int) {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	b.WriteByte(mark)
	for s != "" {
		if b.Len() > limit {
			return
		}
		if n := plainLen(s, mark); n > 0 {
			b.WriteString(s[:min(n, max(limit-b.Len(), 0)+1)]) // at most one byte beyond the limit
			s = s[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == rune(mark) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
	}
	b.WriteByte(mark)
}

// plainLen returns the number of leading bytes that need no escape between marks.
func plainLen(s string, mark byte) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == mark || c == '\\' {
			return i
		}
	}
	return len(s)
}

// ASCII escapes all characters outside of ASCII, like ascii() in Python.
func ASCII(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x80:
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}
