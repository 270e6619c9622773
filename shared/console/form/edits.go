package form

import (
	"strconv"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Edit is an edit of an instance, with the earlier value as JSON.
type Edit struct {
	inventory.Edit
	From, To string // as JSON; "" for none
}

// Edits returns the edits that change the instance to attributes; none if they are equal. Members
// of lists are named by their keys.
func (f *Form) Edits(values map[string]any) ([]Edit, error) {
	want, err := inventory.Changed(f.Service, f.Base, values)
	if err != nil {
		return nil, err
	}
	var out []Edit
	for _, one := range f.fields(&f.Service.Part, "", f.Base, f.root()) {
		v, has := values[one.name]
		if !has || inventory.Equal(f.Base[one.name], want[one.name]) {
			continue
		}
		path := inventory.Path{{Name: one.name}}
		d := &differ{form: f}
		d.field(one, path, f.Base[one.name], v)
		if !gives(f, d.edits, one.name, want) {
			d.edits = nil
			d.add(inventory.Replace, path, f.Base[one.name], v)
		}
		out = append(out, d.edits...)
	}
	for i := range out {
		out[i].ID = strconv.Itoa(i + 1)
	}
	return out, nil
}

// gives reports whether edits lead to the wanted value of an attribute.
func gives(f *Form, edits []Edit, name string, want map[string]any) bool {
	plain := make([]inventory.Edit, len(edits))
	for i := range edits {
		plain[i] = edits[i].Edit
	}
	got, err := inventory.Edited(f.Service, f.Base, plain)
	return err == nil && inventory.Equal(got[name], want[name])
}

// differ collects edits.
type differ struct {
	form  *Form
	edits []Edit
}

func (d *differ) add(op inventory.Operation, path inventory.Path, from, to any) {
	e := Edit{Edit: inventory.Edit{Operation: op, Target: path.String(), Value: to}}
	if from != nil {
		e.From = encoded(from)
	}
	if op != inventory.Remove {
		e.To = encoded(to)
	}
	d.edits = append(d.edits, e)
}

func (d *differ) field(one field, path inventory.Path, was, is any) {
	if one.embedded == nil {
		d.add(inventory.Replace, path, was, is)
		return
	}
	e := one.embedded
	if e.Many() {
		d.members(e, path, was, is)
		return
	}
	before, had := was.(map[string]any)
	after, has := is.(map[string]any)
	if !had || !has || !sameKeys(e, after, keysOf(e, before)) {
		d.add(inventory.Replace, path, was, is)
		return
	}
	d.part(&e.Part, path, before, after)
}

func (d *differ) part(p *definition.Part, path inventory.Path, was, is map[string]any) {
	for _, one := range d.form.fields(p, "", was, scope{}) {
		v, has := is[one.name]
		if has && !inventory.Equal(was[one.name], v) {
			d.field(one, path.To(inventory.Step{Name: one.name}), was[one.name], v)
		}
	}
}

// members compares members by their keys.
func (d *differ) members(e *definition.Embedded, path inventory.Path, was, is any) {
	before, _ := was.([]any)
	after, _ := is.([]any)
	if len(e.KeyAttributes) == 0 {
		d.add(inventory.Replace, path, was, is)
		return
	}
	last := path[len(path)-1]
	for _, v := range before {
		m, _ := v.(map[string]any)
		if member(e, after, keysOf(e, m)) == nil {
			last.Keys = pathKeys(e, m)
			d.add(inventory.Remove, path[:len(path)-1].To(last), v, nil)
		}
	}
	for _, v := range after {
		m, _ := v.(map[string]any)
		old := member(e, before, keysOf(e, m))
		if old == nil {
			d.add(inventory.Merge, path, nil, []any{v})
			continue
		}
		last.Keys = pathKeys(e, m)
		d.part(&e.Part, path[:len(path)-1].To(last), old, m)
	}
}

func pathKeys(e *definition.Embedded, m map[string]any) []inventory.Key {
	var out []inventory.Key
	for _, k := range e.KeyAttributes {
		out = append(out, inventory.Key{Name: k, Value: inventory.Text(m[k])})
	}
	return out
}
