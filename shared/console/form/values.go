package form

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Values returns the attributes that the content of a form stands for, and the problems of values
// that cannot be read. Values of the instance that the form does not ask for are included. Pointers
// of problems are names of controls.
func (f *Form) Values(d *Draft) (map[string]any, diag.Problems) {
	w := &valuer{form: f}
	out := w.part(&f.Service.Part, d, "", f.Base, f.root())
	return out, w.problems
}

// valuer computes attributes.
type valuer struct {
	form     *Form
	problems diag.Problems
}

func (w *valuer) bad(at, code, hint, format string, args ...any) {
	if len(w.problems) < diag.Limit {
		w.problems.Add(diag.Problem{
			Pointer: at, Attribute: strings.TrimPrefix(at, "/"), Code: code, Hint: hint,
			Message: fmt.Sprintf(format, args...),
		})
	}
}

func (w *valuer) part(
	p *definition.Part, d *Draft, at string, base map[string]any, in scope,
) map[string]any {
	out := map[string]any{}
	for _, one := range w.form.fields(p, at, base, in) {
		part := d.part(one.name)
		switch {
		case one.mood == hidden:
		case one.mood == fixed:
			out[one.name] = base[one.name]
		case part.json:
			optional := one.attribute == nil || one.attribute.Optional()
			if v, ok := w.parsed(part, one.at, optional); ok {
				out[one.name] = v
			}
		case one.attribute != nil:
			if v, ok := w.attribute(one.attribute, part, one.at); ok {
				out[one.name] = v
			}
		case one.embedded != nil:
			out[one.name] = w.members(one.embedded, part, one.at, base[one.name], in)
		default:
			if v, ok := w.relation(one.relation, part, one.at); ok {
				out[one.name] = v
			}
		}
	}
	return out
}

func (w *valuer) attribute(a *definition.Attribute, d *Draft, at string) (any, bool) {
	if !a.List() {
		return w.value(a, d, at, a.Optional())
	}
	if d.null && a.Optional() {
		return nil, true
	}
	out, good := []any{}, true
	for i, one := range d.items {
		v, ok := w.value(a, one, item(at, i), false)
		out, good = append(out, v), good && ok
	}
	return out, good
}

// value returns a value that is not a list.
func (w *valuer) value(a *definition.Attribute, d *Draft, at string, optional bool) (any, bool) {
	kind := shapeOf(a)
	switch {
	case d.null && optional:
		return nil, true
	case d.json:
		return w.parsed(d, at, optional)
	case kind == shapeDict:
		return w.dict(d, at)
	case d.text == "" && kind == shapeText && (optional || d.empty):
		return "", true
	case d.text == "" && optional && kind != shapeText:
		return nil, true
	case d.text == "" && kind == shapeText:
		w.bad(at, inventory.CodeMissing, `fill it in; if an empty text is meant, tick "empty text"`,
			"it is empty")
		return nil, false
	case d.text == "" && kind == shapeChoice:
		w.bad(at, inventory.CodeMissing, "choose one of its values", "it is required")
		return nil, false
	case d.text == "":
		w.bad(at, inventory.CodeMissing, "fill it in", "it is required")
		return nil, false
	}
	return w.scalar(a, kind, d, at)
}

func (w *valuer) scalar(a *definition.Attribute, kind shape, d *Draft, at string) (any, bool) {
	switch kind {
	case shapeBool:
		if d.text == "true" || d.text == "false" {
			return d.text == "true", true
		}
		w.bad(at, inventory.CodeType, "choose yes or no", "it is neither yes nor no")
	case shapeNumber:
		if n, ok := number(d.text); ok {
			return n, true
		}
		w.bad(at, inventory.CodeType, "write digits, as in 42 or -1.5", "it is not a number")
	case shapeChoice:
		if v, ok := chosen(a, d.text); ok {
			return v, true
		}
		w.bad(at, inventory.CodeValue, "choose one of its values", "the value is not offered")
	default:
		if d.empty {
			w.bad(at, inventory.CodeValue, `clear the field, or untick "empty text"`,
				`it has a text, and "empty text" is ticked`)
			return nil, false
		}
		return d.text, true
	}
	return nil, false
}

func (w *valuer) dict(d *Draft, at string) (any, bool) {
	out, good := map[string]any{}, true
	for i, row := range d.items {
		here := item(at, i)
		if _, twice := out[row.key]; twice {
			w.bad(here, inventory.CodeValue, "rename or remove one of them",
				"the key %q occurs twice", row.key)
			good = false
		}
		v, ok := w.parsed(row, here, false)
		out[row.key], good = v, good && ok
	}
	return out, good
}

// parsed returns a value that is written as JSON.
func (w *valuer) parsed(d *Draft, at string, optional bool) (any, bool) {
	switch {
	case strings.TrimSpace(d.text) != "":
	case optional || d.null:
		return nil, true
	default:
		w.bad(at, inventory.CodeMissing, `write JSON, such as "text", 5, true or []`, "it is empty")
		return nil, false
	}
	v, mistake := decoded(d.text)
	if mistake != nil {
		w.bad(at, inventory.CodeType, `write JSON, such as "text", 5, true or []`,
			"line %d, column %d: %s", mistake.Line, mistake.Column, mistake.Message)
		return nil, false
	}
	return v, true
}

func (w *valuer) members(
	e *definition.Embedded, d *Draft, at string, base any, in scope,
) any {
	if !e.Many() {
		if !d.there {
			return nil
		}
		return w.member(e, d, at, base, in)
	}
	out := []any{}
	for i, one := range d.items {
		out = append(out, w.member(e, one, item(at, i), base, in))
	}
	if len(e.KeyAttributes) == 0 && !in.fresh {
		return restored(w.form, e, out, base)
	}
	return out
}

func (w *valuer) member(
	e *definition.Embedded, d *Draft, at string, base any, in scope,
) map[string]any {
	var was map[string]any
	if d.isKept() && !in.fresh {
		was = member(e, base, d.kept)
	}
	return w.part(&e.Part, d, at, was, scope{fresh: was == nil})
}

// restored replaces members without keys by the members of the instance that they stand for, which
// also have the values that a form does not ask for.
func restored(f *Form, e *definition.Embedded, members []any, base any) []any {
	was, _ := base.([]any)
	shown := make([]any, len(was))
	for j := range was {
		if m, is := was[j].(map[string]any); is {
			shown[j] = visibleOf(f, e, m)
		}
	}
	used := make([]bool, len(was))
	out := slices.Clone(members)
	for i, v := range members {
		for j := range was {
			if used[j] || shown[j] == nil || !inventory.Equal(shown[j], v) {
				continue
			}
			out[i], used[j] = was[j], true
			break
		}
	}
	return out
}

// visibleOf returns the values of a member without keys that a form asks for.
func visibleOf(f *Form, e *definition.Embedded, m map[string]any) map[string]any {
	w := &valuer{form: f}
	in := scope{fresh: true}
	return w.part(&e.Part, drafter{f}.part(&e.Part, m, nil, in), "", nil, in)
}

func (w *valuer) relation(r *definition.Relation, d *Draft, at string) (any, bool) {
	if r.Many() {
		out := []any{}
		for i, one := range d.items {
			if one.text == "" {
				w.bad(item(at, i), inventory.CodeMissing, "choose an instance, or remove the row",
					"it is empty")
				continue
			}
			out = append(out, one.text)
		}
		return out, true
	}
	switch {
	case d.text != "":
		return d.text, true
	case r.Lower > 0:
		w.bad(at, inventory.CodeMissing, "choose an instance of "+r.Service, "it is required")
		return nil, false
	}
	return nil, true
}
