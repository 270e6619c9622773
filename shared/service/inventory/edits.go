package inventory

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/service/definition"
)

// Operation is the kind of an edit.
type Operation string

// The operations. Replace sets a new value. Merge adds the entries of an object or the items of a
// list; it finds members of lists by their keys. Remove removes a member, or resets an attribute to
// its default.
const (
	Replace Operation = "replace"
	Merge   Operation = "merge"
	Remove  Operation = "remove"
)

// Edit is a change of one path.
type Edit struct {
	ID        string    `json:"edit_id"`
	Operation Operation `json:"operation"`
	Target    string    `json:"target"` // a Path
	Value     any       `json:"value"`
}

// Edited returns the attributes of an instance after edits of a customer, in order. It applies all
// edits or none.
func Edited(s *definition.Service, is map[string]any, edits []Edit) (map[string]any, error) {
	return edited(s, is, edits, Customer)
}

func edited(
	s *definition.Service, is map[string]any, edits []Edit, who Who,
) (map[string]any, error) {
	given, err := applied(s, is, edits, who)
	if err != nil {
		return nil, err
	}
	return changed(s, is, given, who, "")
}

// applied returns attributes after edits. It does not check their values.
func applied(
	s *definition.Service, is map[string]any, edits []Edit, who Who,
) (map[string]any, error) {
	e := &editor{checker: checker{service: s, who: who}}
	given, _ := plainNumber(is).(map[string]any)
	if given == nil {
		given = map[string]any{}
	}
	for _, edit := range edits {
		path, err := ParsePath(edit.Target)
		if err != nil {
			e.bad(nil, CodeEdit, hintPath,
				"the edit %s: %v", edit.ID, err)
			continue
		}
		e.edit = edit
		e.apply(&s.Part, nil, given, path)
	}
	return given, e.problems.Err()
}

// hintPath describes the syntax of a path.
const hintPath = "write databases[name=shop].size, with \\ before .[]=; in names, and before " +
	"[];\\ in values of keys"

// editor applies edits.
type editor struct {
	checker
	edit Edit
}

func (e *editor) wrong(at Path, format string, args ...any) {
	name := "the edit"
	if e.edit.ID != "" {
		name += " " + e.edit.ID
	}
	e.bad(at, CodeEdit, "", "%s: %s", name, fmt.Sprintf(format, args...))
}

// apply follows a path, and changes the value at its end.
func (e *editor) apply(p *definition.Part, at Path, in map[string]any, rest Path) {
	step := rest[0]
	here := at.in(step.Name)
	if a := p.Attribute(step.Name); a != nil {
		further := len(rest) > 1 || step.Keys != nil
		if further && holdsDicts(a) {
			e.entries(a, here, in, rest)
			return
		}
		if further {
			e.wrong(here, "the path goes on, and %s has nothing in it that has a name", step.Name)
			return
		}
		e.attribute(a, here, in)
		return
	}
	for i := range p.Relations {
		if r := &p.Relations[i]; r.Name == step.Name && len(rest) == 1 && step.Keys == nil {
			e.value(here, in, step.Name, none(r.Limits))
			return
		}
	}
	i := slices.IndexFunc(
		p.Embedded,
		func(o definition.Embedded) bool { return o.Name == step.Name },
	)
	if i < 0 {
		e.wrong(here, "there is no attribute %s that it could change", step.Name)
		return
	}
	e.embedded(&p.Embedded[i], here, in, rest)
}

// attribute changes an attribute.
func (e *editor) attribute(a *definition.Attribute, at Path, in map[string]any) {
	if e.edit.Operation == Remove && !a.DefaultSet && !a.Optional() {
		e.wrong(at, "%s cannot be removed: it has no default, and cannot be null", a.Name)
		return
	}
	e.value(at, in, a.Name, plainNumber(a.Default))
}

// value changes the value of a name. If the edit removes it, the value becomes fallback.
func (e *editor) value(at Path, in map[string]any, name string, fallback any) {
	given := plainNumber(e.edit.Value)
	switch e.edit.Operation {
	case Replace:
		in[name] = given
	case Remove:
		in[name] = fallback
	case Merge:
		if out, ok := merged(in[name], given); ok {
			in[name] = out
		} else {
			e.wrong(at, "%s cannot be merged into %s", jsonKind(given), jsonKind(in[name]))
		}
	default:
		e.wrong(at, "%q is not an operation; use replace, merge or remove", e.edit.Operation)
	}
}

// merged adds the entries of an object to an object, or missing items to a list.
func merged(is, given any) (any, bool) {
	switch given := given.(type) {
	case map[string]any:
		m, ok := is.(map[string]any)
		if !ok && is != nil {
			return nil, false
		}
		out := map[string]any{}
		for k, v := range m {
			out[k] = v
		}
		for k, v := range given {
			out[k] = v
		}
		return out, true
	case []any:
		l, ok := is.([]any)
		if !ok && is != nil {
			return nil, false
		}
		out := slices.Clone(l)
		for _, v := range given {
			if !slices.ContainsFunc(out, func(o any) bool { return equal(o, v) }) {
				out = append(out, v)
			}
		}
		return out, true
	}
	return nil, false
}

// embedded changes members of a relation, or follows the path into one of them.
func (e *editor) embedded(d *definition.Embedded, at Path, in map[string]any, rest Path) {
	step := rest[0]
	switch {
	case !d.Many() && step.Keys != nil:
		e.wrong(at, "%s leads to one, so it has no keys", d.Name)
	case !d.Many() && len(rest) == 1:
		e.single(d, at, in)
	case !d.Many():
		m, ok := in[d.Name].(map[string]any)
		if !ok {
			e.wrong(at, "%s is null", d.Name)
			return
		}
		was := maps.Clone(m)
		e.apply(&d.Part, at, m, rest[1:])
		e.sameKeys(d, at, was, m)
	case step.Keys == nil && len(rest) == 1:
		e.members(d, at, in)
	case step.Keys == nil:
		e.wrong(at, "name the member: %s[key=value]", d.Name)
	default:
		e.member(d, at, in, rest)
	}
}

// single changes the whole member of a to-one relation.
func (e *editor) single(d *definition.Embedded, at Path, in map[string]any) {
	was, had := in[d.Name].(map[string]any)
	e.value(at, in, d.Name, nil)
	if is, has := in[d.Name].(map[string]any); had && has && e.edit.Operation == Merge {
		e.sameKeys(d, at, was, is)
	}
}

// members changes the whole list of members.
func (e *editor) members(d *definition.Embedded, at Path, in map[string]any) {
	given, ok := plainNumber(e.edit.Value).([]any)
	if e.edit.Operation != Merge || !ok || len(d.KeyAttributes) == 0 {
		e.value(at, in, d.Name, []any{})
		return
	}
	was, _ := in[d.Name].([]any)
	out := slices.Clone(was)
	for _, v := range given {
		m, ok := v.(map[string]any)
		i := slices.IndexFunc(out, func(o any) bool {
			other, is := o.(map[string]any)
			return ok && is && key(d, other) == key(d, m)
		})
		if i < 0 {
			out = append(out, v)
			continue
		}
		out[i], _ = merged(out[i], m)
	}
	in[d.Name] = out
}

// member changes the member that keys identify, or follows the path into it.
func (e *editor) member(d *definition.Embedded, at Path, in map[string]any, rest Path) {
	step := rest[0]
	here := at[:len(at)-1].To(step)
	list, _ := in[d.Name].([]any)
	found := -1
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok || !matches(m, step.Keys) {
			continue
		}
		if found >= 0 {
			e.wrong(here, "there is more than one such member")
			return
		}
		found = i
	}
	if found < 0 {
		e.wrong(here, "there is no such member")
		return
	}
	m, _ := list[found].(map[string]any)
	was := maps.Clone(m)
	switch {
	case len(rest) > 1:
		e.apply(&d.Part, here, m, rest[1:])
		e.sameKeys(d, here, was, m)
	case e.edit.Operation == Remove:
		in[d.Name] = slices.Delete(slices.Clone(list), found, found+1)
	default:
		box := map[string]any{"": m}
		e.value(here, box, "", nil)
		list[found] = box[""]
		if is, ok := box[""].(map[string]any); ok && e.edit.Operation == Merge {
			e.sameKeys(d, here, was, is)
		}
	}
}

// sameKeys rejects a change of a key that customers may set only once, because it would replace the
// member.
func (e *editor) sameKeys(d *definition.Embedded, at Path, was, is map[string]any) {
	for _, k := range d.KeyAttributes {
		a := d.Attribute(k)
		if e.rules(false) && a != nil && !e.who.may(a.Modifier) && !equal(was[k], is[k]) {
			e.refuse(at.in(k), a.Modifier, "it would change")
		}
	}
}

// matches reports whether a member has the values of keys.
func matches(m map[string]any, keys []Key) bool {
	for _, k := range keys {
		if v, ok := m[k.Name]; !ok || !Called(v, k.Value) {
			return false
		}
	}
	return true
}
