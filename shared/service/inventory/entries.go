package inventory

import (
	"slices"
	"strings"

	"southbound/shared/service/definition"
)

// holdsDicts reports whether the value of an attribute is a dict or a list of dicts, so that a path
// can continue into it.
func holdsDicts(a *definition.Attribute) bool {
	kind := strings.TrimSuffix(strings.TrimSuffix(a.Type, "?"), "[]")
	return kind == "dict"
}

// entries changes a value inside an attribute that holds dicts. path begins with the attribute.
func (e *editor) entries(a *definition.Attribute, at Path, in map[string]any, path Path) {
	if in[a.Name] == nil && path[0].Keys == nil && e.edit.Operation != Remove {
		in[a.Name] = map[string]any{}
	}
	e.goInto(at, in, path)
}

// goInto follows a path whose first step is an entry of a dict, and changes the value at its end.
// at is the path of the entry.
func (e *editor) goInto(at Path, dict map[string]any, path Path) {
	step := path[0]
	if step.Keys != nil {
		e.item(at[:len(at)-1].To(step), dict, path)
		return
	}
	if len(path) == 1 {
		e.entry(at, dict, step.Name)
		return
	}
	v, has := dict[step.Name]
	inner, isDict := v.(map[string]any)
	switch {
	case !has:
		e.wrong(at, "there is no entry %s", step.Name)
	case !isDict:
		e.wrong(at, "%s is %s, and the path goes on", step.Name, jsonKind(v))
	default:
		e.goInto(at.in(path[1].Name), inner, path[1:])
	}
}

// entry changes an entry of a dict.
func (e *editor) entry(at Path, dict map[string]any, name string) {
	if e.edit.Operation != Remove {
		e.value(at, dict, name, nil)
		return
	}
	if _, has := dict[name]; !has {
		e.wrong(at, "there is no entry %s", name)
		return
	}
	delete(dict, name)
}

// item changes the dict in a list that keys identify, or follows the path into it.
func (e *editor) item(at Path, dict map[string]any, path Path) {
	step := path[0]
	list, isList := dict[step.Name].([]any)
	if !isList {
		e.wrong(at, "%s is %s, and has no items with keys", step.Name,
			jsonKind(dict[step.Name]))
		return
	}
	found := -1
	for i, one := range list {
		m, isDict := one.(map[string]any)
		if !isDict || !matches(m, step.Keys) {
			continue
		}
		if found >= 0 {
			e.wrong(at, "there is more than one such item")
			return
		}
		found = i
	}
	if found < 0 {
		e.wrong(at, "there is no such item")
		return
	}
	m, _ := list[found].(map[string]any)
	switch {
	case len(path) > 1:
		e.goInto(at.in(path[1].Name), m, path[1:])
	case e.edit.Operation == Remove:
		dict[step.Name] = slices.Delete(list, found, found+1)
	default:
		box := map[string]any{"": m}
		e.value(at, box, "", nil)
		list[found] = box[""]
	}
}
