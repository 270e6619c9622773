package schema

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/redact"
	"southbound/shared/resource"
)

// mismatch is the reason why a value does not match a type, with the innermost wrong position.
type mismatch struct {
	path  []step
	want  *DataType
	got   any
	from  origin
	extra string // replaces "got ..."; derived from the type only, so it is safe to show
	shown string // extra with parts of the value
}

// step is one level of the path to the position. A name that comes from the value rather than from
// the type is private. If values are hidden, private names are hidden too.
type step struct {
	text    string
	private bool
}

func (m *mismatch) under(text string, private bool) *mismatch {
	m.path = append([]step{{text, private}}, m.path...)
	return m
}

// explain returns the reason why d does not accept v.
func (d *DataType) explain(v any, from origin) *mismatch {
	plain := &mismatch{want: d, got: v, from: from}
	switch d.kind {
	case kindOptional:
		if v != nil {
			return d.of[0].explain(v, from)
		}
		return plain
	case kindSensitive:
		if from == observed && v != nil {
			return d.of[0].explain(v, from)
		}
		return plain
	case kindVariant:
		if o := alikeIn(d, v); o != nil {
			return o.explain(v, from)
		}
		return plain
	}
	switch v := v.(type) {
	case []any:
		return explainList(d, plain, v)
	case map[string]any:
		return explainMap(d, plain, v)
	}
	return plain
}

// alikeIn returns the member of a Variant that accepts the shape of v, if v is a list or a map. It
// returns nil unless there is exactly one such member.
func alikeIn(d *DataType, v any) *DataType {
	_, list := v.([]any)
	_, hash := v.(map[string]any)
	var found *DataType
	for _, o := range d.of {
		inner := o
		for len(inner.of) > 0 && inner.kind == kindOptional {
			inner = inner.of[0]
		}
		if list && (inner.kind == kindArray || inner.kind == kindTuple) || hash &&
			(inner.kind == kindHash || inner.kind == kindStruct) {
			if found != nil {
				return nil
			}
			found = inner
		}
	}
	return found
}

func explainList(d *DataType, plain *mismatch, list []any) *mismatch {
	if d.kind != kindArray && d.kind != kindTuple {
		return plain
	}
	if !d.size.has(int64(len(list))) {
		return plain
	}
	for i, e := range list {
		if t := d.item(i); t != nil && !t.accepts(e, plain.from) {
			return t.explain(e, plain.from).under("item "+strconv.Itoa(i+1), false)
		}
	}
	return plain
}

func explainMap(d *DataType, plain *mismatch, m map[string]any) *mismatch {
	switch {
	case d.kind == kindStruct:
		return explainStruct(d, plain, m)
	case d.kind != kindHash, !d.size.has(int64(len(m))):
		return plain
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		switch {
		case !d.of[0].accepts(k, observed):
			return d.of[0].explain(k, observed).under("a key", false)
		case !d.of[1].accepts(m[k], plain.from):
			return d.of[1].explain(m[k], plain.from).under(strconv.Quote(shorten(k, 40)), true)
		}
	}
	return plain
}

func explainStruct(d *DataType, plain *mismatch, m map[string]any) *mismatch {
	names := make([]string, len(d.members))
	for i := range d.members {
		e := &d.members[i]
		names[i] = e.name
		v, ok := m[e.name]
		switch {
		case ok && !e.typ.accepts(v, plain.from):
			return e.typ.explain(v, plain.from).under(strconv.Quote(e.name), false)
		case !ok && !e.mayBeAbsent():
			plain.extra = fmt.Sprintf("%q is missing: expected %s", e.name, e.typ.Describe())
			plain.shown = plain.extra
		}
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if slices.Contains(names, k) {
			continue
		}
		plain.extra = "there is a key too many: expected " + d.Describe()
		plain.shown = fmt.Sprintf("there is no key %q: expected %s", shorten(k, 40), d.Describe())
		if near := Nearest(k, names); near != "" {
			plain.shown = fmt.Sprintf("there is no key %q, did you mean %q?", shorten(k, 40), near)
		}
		break
	}
	return plain
}

// render returns the message and the hint. If show is set, they may contain parts of the value.
func (m *mismatch) render(show bool) (text, hint string) {
	var b strings.Builder
	for _, s := range m.path {
		if s.private && !show {
			s.text = "a value"
		}
		b.WriteString(s.text + ": ")
	}
	switch {
	case m.extra != "" && show:
		b.WriteString(m.shown)
	case m.extra != "":
		b.WriteString(m.extra)
	default:
		b.WriteString("expected " + m.want.Describe() + ", got " + describeValue(m.got, show))
		hint = hintFor(m.want, m.got, m.from, show)
	}
	return b.String(), hint
}

// describeValue describes a value for messages. Without show, it describes only the kind of the
// value.
func describeValue(v any, show bool) string {
	switch v := v.(type) {
	case nil:
		return "nothing (null)"
	case bool:
		return hidden(show, "the Boolean "+strconv.FormatBool(v), "a Boolean")
	case string:
		if v == "" {
			return hidden(show, "the empty string", "a string")
		}
		return hidden(show, "the string "+strconv.Quote(shorten(redact.URL(v, "<redacted>"), 40)),
			"a string")
	case int64, *big.Int:
		return hidden(show, "the integer "+shorten(fmt.Sprint(v), 40), "an integer")
	case float64:
		text, _ := resource.CanonicalValue(v)
		return hidden(show, "the float "+string(text), "a float")
	case []any:
		return counted(show, "a list", len(v))
	case map[string]any:
		return counted(show, "a map", len(v))
	case resource.File:
		return "a file"
	case resource.Secret, resource.Parameter, resource.Fact:
		return "a reference"
	case resource.Text:
		return "a text of parts"
	}
	return fmt.Sprintf("a %T, which is not a value", v)
}

func hidden(show bool, plain, sort string) string {
	if show {
		return plain
	}
	return sort
}

func counted(show bool, sort string, n int) string {
	switch {
	case !show:
		return sort
	case n == 1:
		return sort + " of 1 item"
	}
	return fmt.Sprintf("%s of %d items", sort, n)
}
