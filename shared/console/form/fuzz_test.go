package form_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"

	"southbound/shared/console/form"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// maker makes random definitions and values.
type maker struct{ *rand.Rand }

func pick[T any](m *maker, all ...T) T { return all[m.IntN(len(all))] }

func (m *maker) modifier() definition.Modifier {
	return pick(m, definition.ReadOnly, definition.Once, definition.ReadWrite, definition.ReadWrite)
}

func (m *maker) part(depth int) definition.Part {
	out := definition.Part{Entity: "e"}
	for i := range 1 + m.IntN(4) {
		a := definition.Attribute{
			Name: fmt.Sprintf("a%d", i), Modifier: m.modifier(),
			Type: pick(m, "string", "int", "float", "number", "bool", "dict", "list", "any"),
		}
		if m.IntN(4) == 0 && a.Type != "list" {
			a.Type += "[]"
		}
		if m.IntN(3) == 0 {
			a.Type += "?"
		}
		m.rule(&a)
		if m.IntN(4) == 0 {
			a.DefaultSet, a.Default = true, m.value(&a)
		}
		out.Attributes = append(out.Attributes, a)
	}
	for i := range m.IntN(3) {
		if depth == 0 {
			break
		}
		e := definition.Embedded{
			Name: pick(m, "e/", "e~", "e") + fmt.Sprint(i), Modifier: m.modifier(),
			Limits: m.limits(), Part: m.part(depth - 1),
		}
		a := &e.Attributes[0]
		if e.Many() && m.IntN(4) > 0 {
			a.Modifier, a.Type, a.DefaultSet, a.ValidationType = definition.ReadWrite, "string", false, nil
			e.KeyAttributes = []string{a.Name}
		}
		out.Embedded = append(out.Embedded, e)
	}
	for i := range m.IntN(2) {
		r := definition.Relation{
			Name: fmt.Sprintf("r%d", i), Modifier: m.modifier(), Limits: m.limits(), Service: "s",
		}
		out.Relations = append(out.Relations, r)
	}
	return out
}

func (m *maker) limits() definition.Limits {
	most := 1 + m.IntN(3)
	out := definition.Limits{Lower: m.IntN(2), Upper: &most}
	if m.IntN(4) == 0 {
		out.Upper = nil
	}
	return out
}

func (m *maker) rule(a *definition.Attribute) {
	if m.IntN(3) > 0 {
		return
	}
	kind := "enum"
	a.ValidationType = &kind
	switch a.Base() {
	case "string":
		a.ValidationParam = map[string]any{"values": []any{"x", "", `"q"`, "1", "null"}[:1+m.IntN(5)]}
	case "int":
		a.ValidationParam = map[string]any{"values": []any{json.Number("1"), json.Number("2")}}
	default:
		kind = "int"
		a.ValidationParam = map[string]any{"max_length": 300}
	}
}

func (m *maker) text() string {
	return pick(m, "", "a", " b ", "c\nd", "\r", "e\r\nf", "\x00", "null", "true", "<b>", "\u2028",
		"\xff", "é\t", "\n", "env:X", "[", "\ufeff", "\ufffd")
}

// value returns a valid value of an attribute.
func (m *maker) value(a *definition.Attribute) any {
	if a.Optional() && m.IntN(3) == 0 {
		return nil
	}
	if !a.List() {
		return m.single(a)
	}
	out := []any{}
	for range m.IntN(4) {
		out = append(out, m.single(a))
	}
	return out
}

func (m *maker) single(a *definition.Attribute) any {
	if values, is := a.ValidationParam["values"].([]any); is && a.ValidationType != nil {
		return pick(m, values...)
	}
	switch a.Base() {
	case "string":
		s := m.text()
		b, _ := json.Marshal(s) // as the API reads it
		_ = json.Unmarshal(b, &s)
		return s
	case "int":
		return json.Number(pick(m, "0", "-7", "9223372036854775807"))
	case "float":
		return json.Number(pick(m, "0.5", "2.0", "1e300", "-3"))
	case "number":
		return json.Number(pick(m, "1", "2.50", "123456789012345678901234567890"))
	case "bool":
		return m.IntN(2) == 0
	case "dict":
		out := map[string]any{}
		for range m.IntN(3) {
			out[m.text()] = pick[any](m, nil, "x\ny", json.Number("1"), []any{}, map[string]any{"k": true})
		}
		return valid(out)
	case "list":
		return []any{json.Number("1"), "x", nil, map[string]any{"a": "b"}}[:m.IntN(5)]
	}
	return pick[any](m, "x", json.Number("3"), false)
}

// valid returns a value as the API reads it.
func valid(v any) any {
	b, _ := json.Marshal(v)
	var out any
	_ = json.Unmarshal(b, &out)
	return out
}

// values returns valid values of a part that a customer may order.
func (m *maker) values(p *definition.Part, all bool) map[string]any {
	out := map[string]any{}
	for i := range p.Attributes {
		if a := &p.Attributes[i]; a.Modifier != definition.ReadOnly || all {
			out[a.Name] = m.value(a)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if e.Modifier == definition.ReadOnly && !all {
			continue
		}
		out[e.Name] = m.members(e, all)
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		if r.Modifier == definition.ReadOnly && !all {
			continue
		}
		if !r.Many() {
			out[r.Name] = pick[any](m, "i1", "i2")
			continue
		}
		out[r.Name] = []any{"i1", "i2"}[:max(r.Lower, m.IntN(3))]
		if r.Upper != nil && *r.Upper < 2 {
			out[r.Name] = []any{"i1"}
		}
	}
	return out
}

func (m *maker) members(e *definition.Embedded, all bool) any {
	if !e.Many() {
		if e.Lower == 0 && m.IntN(2) == 0 {
			return nil
		}
		return m.values(&e.Part, all)
	}
	list, seen := []any{}, map[string]bool{}
	most := 3
	if e.Upper != nil {
		most = min(most, *e.Upper)
	}
	for range e.Lower + m.IntN(1+most-min(e.Lower, most)) {
		one := m.values(&e.Part, all)
		for _, k := range e.KeyAttributes {
			one[k] = pick(m, "k1", "k]2", "k;3", `k\4`, "null", "")
		}
		if id := fmt.Sprint(one["a0"]); len(e.KeyAttributes) == 0 || !seen[id] {
			seen[id] = true
			list = append(list, one)
		}
	}
	return list
}

// FuzzForm orders values of a random definition by its form, and changes them by the form of the
// instance.
func FuzzForm(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		m := &maker{rand.New(rand.NewPCG(seed, 1))}
		s := &definition.Service{Name: "s", Part: m.part(2), Strict: m.IntN(2) == 0}
		values := m.values(&s.Part, false)
		order := &form.Form{Service: s}
		if got := filled(t, order, values); !inventory.Equal(got, values) {
			t.Fatalf("order %s\ngives %s\nof %s", text(values), text(got), text(s))
		}
		base, err := inventory.Ordered(s, values)
		if err != nil {
			return // two members may have the same key after all
		}
		m.model(&s.Part, base)
		if _, err := inventory.Changed(s, base, base); err != nil {
			t.Fatalf("base %s\nis refused unchanged: %v\nof %s", text(base), err, text(s))
		}
		change := &form.Form{Service: s, Base: base}
		got := filled(t, change, base)
		if edits, err := change.Edits(got); err != nil || len(edits) > 0 {
			t.Fatalf("base %s\ngives %s\nwith edits %s, %v\nof %s", text(base), text(got),
				text(edits), err, text(s))
		}
		other := m.values(&s.Part, false)
		want, err := inventory.Changed(s, base, other)
		if err != nil {
			return // it changes values that customers may not
		}
		got = filled(t, change, other)
		edits, err := change.Edits(got)
		if err != nil {
			t.Fatalf("edits to %s: %v", text(got), err)
		}
		plain := []inventory.Edit{}
		for _, e := range edits {
			plain = append(plain, e.Edit)
		}
		is, err := inventory.Edited(s, base, plain)
		if err != nil {
			t.Fatalf("edits %s: %v", text(edits), err)
		}
		seen, _ := inventory.Changed(s, base, got)
		if !inventory.Equal(is, seen) {
			t.Fatalf("base %s\nto %s\nwant %s\nis %s\nby %s", text(base), text(other), text(want), text(is),
				text(edits))
		}
	})
}

// model sets the values that only the model sets.
func (m *maker) model(p *definition.Part, in map[string]any) {
	for i := range p.Attributes {
		if a := &p.Attributes[i]; a.Modifier == definition.ReadOnly && m.IntN(2) == 0 {
			in[a.Name] = m.value(a)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if e.Modifier == definition.ReadOnly {
			continue
		}
		switch v := in[e.Name].(type) {
		case map[string]any:
			m.model(&e.Part, v)
		case []any:
			for _, one := range v {
				m.model(&e.Part, one.(map[string]any))
			}
		}
	}
}

// filled returns the values of a form that shows values and is posted unchanged, twice: a form that
// is shown again posts the same.
func filled(t *testing.T, f *form.Form, values map[string]any) map[string]any {
	t.Helper()
	d := f.Draft(values)
	for range 2 {
		posted := browsed(f.View(d, nil, form.Sources{}))
		again, problems := f.Read(posted)
		if len(problems) > 0 {
			t.Fatalf("names of %v: %v", posted, problems)
		}
		d = again
	}
	got, problems := f.Values(d)
	if len(problems) > 0 {
		t.Fatalf("values of %s: %v\nof %s", text(values), problems, text(f.Service))
	}
	typed, problems := f.Parse(f.Text(got))
	if typed == nil {
		t.Fatalf("JSON %s: %v", f.Text(got), problems)
	}
	return got
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(b)
}

// FuzzDefinitions shows that nothing panics on any definition, any values and any posted names.
func FuzzDefinitions(f *testing.F) {
	for _, seed := range []string{
		`{"attributes":[{"name":"a","type":"string?","attribute_annotations":{"web_suggested_values":5}}]}`,
		`{"attributes":[{"name":"","type":"[]?","modifier":"x","default_value_set":true}],
			"embedded_entities":[{"name":"e","lower_limit":-1,"upper_limit":-5,"key_attributes":["z"]}]}`,
		`{"attributes":[{"name":"a","type":"int","validation_type":"enum",
			"validation_parameters":{"values":[null,[],"x"]}}],"strict_modifier_enforcement":true,
			"entity_annotations":{"web_tabs":[{"key":1},null]},"service_identity":"nope"}`,
		`{"embedded_entities":[{"name":"e","lower_limit":2147483647,"modifier":"rw+",
			"embedded_entities":[{"name":"e","lower_limit":2147483647}]}]}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[1],"e":[{"a":{}},5]}`), "add=/e&remove=/e/0&/a=x&item=/e/0&null=/a")
	}
	f.Fuzz(func(t *testing.T, def, given []byte, query string) {
		var s definition.Service
		var values map[string]any
		if json.Unmarshal(def, &s) != nil || json.Unmarshal(given, &values) != nil {
			return
		}
		posted, _ := url.ParseQuery(query)
		for _, base := range []map[string]any{nil, values} {
			one := &form.Form{Service: &s, Base: base}
			d := one.Draft(values)
			browsed(one.View(d, one.Check(values), form.Sources{}))
			_, _ = one.Edits(values)
			d, problems := one.Read(posted)
			for _, button := range []string{"add", "remove", "up", "down", "as"} {
				_, _ = one.Press(d, button, posted.Get(button))
			}
			got, more := one.Values(d)
			browsed(one.View(d, append(problems, more...), form.Sources{}))
			_, _ = one.Parse(one.Text(got))
		}
	})
}
