package resource

import (
	"bytes"
	"slices"

	"southbound/shared/fault"
)

// DecodeValue decodes the output of CanonicalValue. It also accepts white space and any order of
// members. It returns fault.Invalid for text that is not JSON, a repeated member, a reference with
// unknown members, and trailing bytes.
func DecodeValue(b []byte) (any, error) {
	d := &decoder{s: string(b)}
	v := d.value(0)
	d.end()
	if d.err != nil {
		return nil, d.err
	}
	return v, nil
}

// Decode decodes the output of Resource.Encode. It returns fault.Invalid for unknown members and
// never ignores them, since a newer program may have written them.
func Decode(b []byte) (*Resource, error) {
	d := &decoder{s: string(b)}
	r := &Resource{Flags: Flags{ReceiveEvents: true}}
	d.resource(r)
	d.end()
	if d.err == nil && (r.ID == "" || r.Attributes == nil) {
		d.fail("a resource has an id and attributes")
	}
	if d.err != nil {
		return nil, d.err
	}
	return r, nil
}

// SetOf returns the resource set in the output of Resource.Encode, without decoding the resource; ""
// if it is in none, or if b is not such output.
func SetOf(b []byte) string {
	// The set is the last member. A quote that no backslash precedes is never part of a string.
	text, ok := bytes.CutSuffix(b, []byte(`"}`))
	from := bytes.LastIndexByte(text, '"')
	if !ok || from < 0 {
		return ""
	}
	if bytes.IndexByte(text[from+1:], '\\') < 0 && (from == 0 || text[from-1] != '\\') {
		if bytes.HasSuffix(text[:from], []byte(`,"set":`)) {
			return string(text[from+1:])
		}
		return ""
	}
	r, err := Decode(b)
	if err != nil {
		return ""
	}
	return r.Set
}

// resource reads the members of a resource.
func (d *decoder) resource(r *Resource) {
	var room [12]string
	seen := room[:0]
	for more := d.open('{', '}'); more; more = d.more('}') {
		key := d.key()
		if slices.Contains(seen, key) {
			d.fail("a member is there twice")
		}
		seen = append(seen, key)
		d.member(r, key)
	}
}

func (d *decoder) member(r *Resource, key string) {
	switch key {
	case "attributes":
		r.Attributes = d.attributes()
	case "followed":
		r.Followed = d.attributes()
	case "id":
		r.ID = d.id()
		r.Type, r.Agent = r.ID.Type(), r.ID.Agent()
	case "prevent_destroy":
		r.PreventDestroy = d.bool()
	case "purge_on_delete":
		r.PurgeOnDelete = d.bool()
	case "purged":
		r.Purged = d.bool()
	case "receive_events":
		r.ReceiveEvents = d.bool()
	case "report_only":
		r.ReportOnly = d.bool()
	case "requires":
		r.Requires = d.ids()
	case "heard":
		r.Subscribed = d.bool()
	case "hears":
		r.Subscriptions = d.ids()
	case "send_event":
		r.SendEvent = d.bool()
	case "set":
		r.Set = d.string()
	default:
		d.fail("a resource has no such member")
	}
}

func (d *decoder) attributes() map[string]any {
	d.space()
	if d.i >= len(d.s) || d.s[d.i] != '{' {
		d.fail("expected {")
		return nil
	}
	m, _ := d.object(0, true).(map[string]any)
	return m
}

func (d *decoder) ids() []ID {
	var out []ID
	for more := d.open('[', ']'); more; more = d.more(']') {
		out = append(out, d.id())
	}
	return out
}

func (d *decoder) id() ID {
	s := d.string()
	if _, problem := scanID(s, nil); problem != "" && d.err == nil {
		d.fail("this is not an id")
	}
	return ID(s)
}

func (d *decoder) bool() bool {
	b, ok := d.value(0).(bool)
	if !ok {
		d.fail("expected true or false")
	}
	return b
}

// object reads a map, or the reference that it represents. In a literal map, names have no special
// meaning.
func (d *decoder) object(depth int, literal bool) any {
	if depth >= MaxDepth {
		d.fail("lists and maps are nested too deep")
		return nil
	}
	m := make(map[string]any, 4)
	form, wrapped := false, false
	for more := d.open('{', '}'); more; more = d.more('}') {
		key := d.key()
		had := len(m)
		if !literal && formKey(key) {
			form = true
			if d.space(); key == "value" && d.i < len(d.s) && d.s[d.i] == '{' {
				wrapped = true
			}
		}
		if wrapped && key == "value" {
			m[key] = d.object(depth+1, true)
		} else {
			m[key] = d.value(depth + 1)
		}
		if len(m) == had {
			d.fail("a member is there twice")
		}
	}
	switch {
	case d.err != nil:
		return nil
	case form:
		return d.reference(m, wrapped)
	case !literal && textForm(m):
		return d.text(m)
	}
	return m
}

// text returns the text of parts that a map represents. Without references, the map is data: bodies
// that are older than this form hold such maps.
func (d *decoder) text(m map[string]any) any {
	parts, _ := m["text"].([]any)
	if len(References(parts)) == 0 {
		return m
	}
	v, err := NewText(parts...)
	if err != nil {
		d.fail("a text has a part that cannot stand in it, or is too long")
	}
	return v
}

// reference returns the reference that a map with reference names represents.
func (d *decoder) reference(m map[string]any, wrapped bool) any {
	text := func(key string) string {
		s, _ := m[key].(string)
		return s
	}
	size, sized := m["size"].(int64)
	if wrapped && len(m) == 1 {
		literal, _ := m["value"].(map[string]any)
		if textForm(literal) {
			return literal
		}
		for k := range literal {
			if formKey(k) {
				return literal
			}
		}
	}
	switch {
	case len(m) == 2 && sized && size >= 0 && validHash(text("file")):
		return File{Hash: text("file"), Size: size}
	case text("secret") != "" && (len(m) == 1 || len(m) == 2 && text("version") != ""):
		return Secret{Source: text("secret"), Version: text("version")}
	case len(m) == 1 && text("parameter") != "":
		return Parameter{Name: text("parameter")}
	case len(m) == 2 && text("fact") != "" && text("of") != "":
		return Fact{Name: text("fact"), Of: ID(text("of"))}
	}
	d.fail("a reference has the wrong members")
	return nil
}

func (d *decoder) list(depth int) any {
	if depth >= MaxDepth {
		d.fail("lists and maps are nested too deep")
		return nil
	}
	list := []any{}
	for more := d.open('[', ']'); more; more = d.more(']') {
		list = append(list, d.value(depth+1))
	}
	return list
}

func (d *decoder) fail(problem string) {
	if d.err == nil {
		d.err = fault.New(fault.Invalid, "decode", "%s, at byte %d", problem, d.i+1)
	}
	d.i = len(d.s)
}
