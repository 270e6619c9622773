package resource

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"southbound/shared/fault"
)

// maxDepth bounds the nesting of stored values.
const maxDepth = 200

// DecodeValue reads what CanonicalValue wrote; it also takes white space and any order of members. What is not JSON, a member
// that is there twice, and trailing bytes are fault.Invalid.
func DecodeValue(b []byte) (any, error) {
	d := &decoder{b: b}
	v := d.value(0)
	d.space()
	if d.err == nil && d.i != len(b) {
		d.fail("there is more behind the value")
	}
	return v, d.err
}

// Decode reads what Resource.Encode wrote.
func Decode(b []byte) (*Resource, error) {
	d := &decoder{b: b}
	raw, ok := d.plain(0).(map[string]any)
	d.space()
	if d.err == nil && (!ok || d.i != len(b)) {
		d.fail("this is no resource")
	}
	if d.err != nil {
		return nil, d.err
	}
	r := &Resource{Flags: Flags{ReceiveEvents: true}}
	id, _ := raw["id"].(string)
	r.ID, r.Type, r.Agent = ID(id), ID(id).Type(), ID(id).Agent()
	if r.Type == "" || r.Agent == "" {
		return nil, fault.New(fault.Invalid, "decode resource", "%q is no id", id)
	}
	r.Set, _ = raw["set"].(string)
	for _, f := range r.flags() {
		if v, ok := raw[f.name].(bool); ok {
			*f.value = v
		}
	}
	if list, ok := raw["requires"].([]any); ok {
		r.Requires = make([]ID, 0, len(list))
		for _, e := range list {
			s, _ := e.(string)
			r.Requires = append(r.Requires, ID(s))
		}
	}
	attrs, _ := raw["attributes"].(map[string]any)
	r.Attributes = make(map[string]any, len(attrs))
	for k, v := range attrs {
		w, err := fromForms(v)
		if err != nil {
			return nil, err
		}
		r.Attributes[k] = w
	}
	return r, nil
}

// fromForms turns the forms of references back into references.
func fromForms(v any) (any, error) {
	switch v := v.(type) {
	case []any:
		for i := range v {
			w, err := fromForms(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = w
		}
	case map[string]any:
		if looksLikeForm(v) {
			return form(v)
		}
		if err := membersFromForms(v); err != nil {
			return nil, err
		}
	}
	return v, nil
}

func membersFromForms(m map[string]any) error {
	for k, e := range m {
		switch e.(type) {
		case []any, map[string]any:
			w, err := fromForms(e)
			if err != nil {
				return err
			}
			m[k] = w
		}
	}
	return nil
}

// form reads one stored reference.
func form(m map[string]any) (any, error) {
	text := func(key string) string {
		s, _ := m[key].(string)
		return s
	}
	bad := fault.New(fault.Invalid, "decode value", "a stored reference has the wrong members")
	if v, ok := m["value"].(map[string]any); ok && len(m) == 1 {
		return v, membersFromForms(v)
	}
	size, _ := m["size"].(int64)
	switch {
	case len(m) == 2 && len(text("file")) == 64:
		return File{Hash: text("file"), Size: size}, nil
	case text("secret") != "" && (len(m) == 1 || len(m) == 2 && text("version") != ""):
		return Secret{Source: text("secret"), Version: text("version")}, nil
	case len(m) == 1 && text("parameter") != "":
		return Parameter{Name: text("parameter")}, nil
	case len(m) == 2 && text("fact") != "" && text("of") != "":
		return Fact{Name: text("fact"), Of: ID(text("of"))}, nil
	}
	return nil, bad
}

// decoder reads JSON into values.
type decoder struct {
	b   []byte
	i   int
	err error
}

func (d *decoder) fail(msg string) {
	if d.err == nil {
		d.err = fault.New(fault.Invalid, "decode value", "%s, at byte %d", msg, d.i)
	}
	d.i = len(d.b)
}

func (d *decoder) space() {
	for d.i < len(d.b) && strings.IndexByte(" \t\r\n", d.b[d.i]) >= 0 {
		d.i++
	}
}

func (d *decoder) value(depth int) any {
	v := d.plain(depth)
	if d.err != nil {
		return nil
	}
	w, err := fromForms(v)
	if err != nil {
		d.err = err
	}
	return w
}

// plain reads a value and leaves the forms of references as maps.
func (d *decoder) plain(depth int) any {
	d.space()
	if d.i >= len(d.b) || depth > maxDepth {
		d.fail("the value ends early or is nested too deep")
		return nil
	}
	switch c := d.b[d.i]; {
	case c == '{':
		return d.object(depth)
	case c == '[':
		return d.list(depth)
	case c == '"':
		return d.text()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	for _, word := range []struct {
		text  string
		value any
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if bytes.HasPrefix(d.b[d.i:], []byte(word.text)) {
			d.i += len(word.text)
			return word.value
		}
	}
	d.fail("this is no JSON")
	return nil
}

// next skips to c, or to end, and says which it was.
func (d *decoder) next(c, end byte) (more bool) {
	d.space()
	if d.i < len(d.b) {
		switch d.b[d.i] {
		case c:
			d.i++
			return true
		case end:
			d.i++
			return false
		}
	}
	d.fail("this is no JSON")
	return false
}

func (d *decoder) object(depth int) any {
	d.i++
	m := make(map[string]any, 4)
	d.space()
	if d.i < len(d.b) && d.b[d.i] == '}' {
		d.i++
		return m
	}
	for d.err == nil {
		d.space()
		if d.i >= len(d.b) || d.b[d.i] != '"' {
			d.fail("expected the name of a member")
			return nil
		}
		key := d.text()
		d.space()
		if d.i >= len(d.b) || d.b[d.i] != ':' {
			d.fail("expected :")
			return nil
		}
		d.i++
		if _, twice := m[key]; twice {
			d.fail("a member is there twice")
			return nil
		}
		m[key] = d.plain(depth + 1)
		if !d.next(',', '}') {
			break
		}
	}
	return m
}

func (d *decoder) list(depth int) any {
	d.i++
	list := []any{}
	d.space()
	if d.i < len(d.b) && d.b[d.i] == ']' {
		d.i++
		return list
	}
	for d.err == nil {
		list = append(list, d.plain(depth+1))
		if !d.next(',', ']') {
			break
		}
	}
	return list
}

func (d *decoder) number() any {
	from := d.i
	whole := true
	for d.i < len(d.b) && strings.IndexByte("+-0123456789.eE", d.b[d.i]) >= 0 {
		whole = whole && strings.IndexByte(".eE", d.b[d.i]) < 0
		d.i++
	}
	text := string(d.b[from:d.i])
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || digits[0] < '0' || digits[0] > '9' || (len(digits) > 1 && digits[0] == '0' && digits[1] != '.' && digits[1]|0x20 != 'e') {
		d.fail("this is no number")
		return nil
	}
	if whole {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
		if n, ok := new(big.Int).SetString(text, 10); ok {
			return n
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		d.fail("this is no number")
	}
	return f
}

func (d *decoder) text() string {
	d.i++
	from := d.i
	for d.i < len(d.b) && d.b[d.i] != '"' && d.b[d.i] != '\\' && d.b[d.i] >= 0x20 {
		d.i++
	}
	if d.i < len(d.b) && d.b[d.i] == '"' {
		s := string(d.b[from:d.i])
		d.i++
		if !utf8.ValidString(s) {
			d.fail("the text is not UTF-8")
		}
		return s
	}
	return d.escapedText(append([]byte(nil), d.b[from:d.i]...))
}

func (d *decoder) escapedText(out []byte) string {
	for d.i < len(d.b) {
		c := d.b[d.i]
		d.i++
		switch {
		case c == '"':
			if !utf8.Valid(out) {
				d.fail("the text is not UTF-8")
			}
			return string(out)
		case c < 0x20:
			d.fail("a control character stands bare in a text")
			return ""
		case c != '\\':
			out = append(out, c)
			continue
		}
		if d.i >= len(d.b) {
			break
		}
		e := d.b[d.i]
		d.i++
		if e == 'u' {
			out = utf8.AppendRune(out, d.unicode())
			continue
		}
		at := strings.IndexByte(`"\/bfnrt`, e)
		if at < 0 {
			d.fail(`\ stands before nothing that needs it`)
			return ""
		}
		out = append(out, "\"\\/\b\f\n\r\t"[at])
	}
	d.fail("the text has no end")
	return ""
}

// unicode reads the digits behind \u, and the second half of a pair.
func (d *decoder) unicode() rune {
	r := d.hex4()
	if !utf16.IsSurrogate(r) {
		return r
	}
	if d.i+1 < len(d.b) && d.b[d.i] == '\\' && d.b[d.i+1] == 'u' {
		d.i += 2
		if pair := utf16.DecodeRune(r, d.hex4()); pair != utf8.RuneError {
			return pair
		}
	}
	d.fail("half of a surrogate pair")
	return utf8.RuneError
}

func (d *decoder) hex4() rune {
	if d.i+4 > len(d.b) {
		d.fail("the text has no end")
		return 0
	}
	n, err := strconv.ParseUint(string(d.b[d.i:d.i+4]), 16, 32)
	if err != nil {
		d.fail("expected four hex digits")
		return 0
	}
	d.i += 4
	return rune(n)
}
