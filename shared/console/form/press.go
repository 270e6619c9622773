package form

import (
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
)

// The buttons of a form.
const (
	Add    = "add"
	Remove = "remove"
	Up     = "up"
	Down   = "down"
	As     = "as" // switches a dict between rows and JSON
)

// Press changes the rows of a form by one of its buttons, with the pointer that the button has. It
// returns the name of the control that is edited next. Its errors are of the kind fault.Refused.
func (f *Form) Press(d *Draft, button, at string) (string, error) {
	p := presser{f}
	t, ok := p.target(d, at)
	if !ok {
		return "", fault.New(fault.Refused, "", "%.200s: the form has no such value", at).
			WithHint("reload the form")
	}
	switch button {
	case Add:
		return p.add(&t)
	case Remove:
		return p.remove(&t)
	case Up, Down:
		return t.move(button)
	case As:
		return at, t.toggle()
	}
	return "", fault.New(fault.Refused, "", "%.40s: the form has no such button", button).
		WithHint("use add, remove, up, down or as")
}

// presser applies buttons.
type presser struct{ *Form }

// target is a value of a form that a button changes.
type target struct {
	field
	draft *Draft
	in    scope
	index int // of the item of the value; -1: the value itself
}

func refused(at, format string, args ...any) error {
	return fault.New(fault.Refused, "", at+": "+format, args...)
}

// target finds the value to which a pointer leads, or the item of a list.
func (f presser) target(d *Draft, at string) (target, bool) {
	tokens := strings.Split(strings.TrimPrefix(at, "/"), "/")
	p, base, in, here := &f.Service.Part, f.Base, f.root(), ""
	for {
		one, ok := f.named(p, here, base, in, tokens[0])
		if !ok {
			return target{}, false
		}
		t := target{field: one, draft: d.part(one.name), in: in, index: -1}
		if d.parts == nil || t.draft.json && len(tokens) > 1 {
			return target{}, false
		}
		d.parts[one.name] = t.draft
		if tokens = tokens[1:]; len(tokens) == 0 {
			return t, true
		}
		next := t.draft
		here = one.at
		if one.embedded == nil || one.embedded.Many() {
			i, err := strconv.Atoi(tokens[0])
			if err != nil || i < 0 || i >= len(t.draft.items) {
				return target{}, false
			}
			if tokens = tokens[1:]; len(tokens) == 0 {
				t.index = i
				return t, true
			}
			next, here = t.draft.items[i], item(here, i)
		}
		if one.embedded == nil {
			return target{}, false
		}
		var was map[string]any
		if next.isKept() && !in.fresh {
			was = member(one.embedded, base[one.name], next.kept)
		}
		d, p, base, in = next, &one.embedded.Part, was, scope{fresh: was == nil}
	}
}

// named returns a value of a part that the form asks for.
func (f presser) named(
	p *definition.Part, at string, base map[string]any, in scope, token string,
) (field, bool) {
	for _, one := range f.fields(p, at, base, in) {
		if escaped(one.name) == token && (one.mood == asked || one.mood == locked) {
			return one, true
		}
	}
	return field{}, false
}

func (f presser) add(t *target) (string, error) {
	next := func(d *Draft) (string, error) {
		if !t.draft.pasted {
			t.draft.items = append(t.draft.items, d)
		}
		t.draft.null = false
		return item(t.at, len(t.draft.items)-1), nil
	}
	e, a := t.embedded, t.attribute
	switch {
	case t.index >= 0 || t.mood == locked:
		return "", refused(t.at, "nothing can be added here")
	case e != nil && e.Many():
		if e.Upper != nil && len(t.draft.items) >= *e.Upper {
			return "", refused(t.at, "it has at most %s", counted(*e.Upper, "entry", "entries"))
		}
		return next(drafter(f).part(&e.Part, nil, nil, scope{fresh: true}))
	case e != nil:
		*t.draft = *drafter(f).part(&e.Part, nil, nil, scope{fresh: true})
		return t.at, nil
	case a != nil && a.List():
		return next(&Draft{json: shapeOf(a) == shapeJSON})
	case a != nil && shapeOf(a) == shapeDict && !t.draft.json,
		t.relation != nil && t.relation.Many():
		return next(&Draft{})
	}
	return "", refused(t.at, "it is no list")
}

func (f presser) remove(t *target) (string, error) {
	e := t.embedded
	switch {
	case t.mood == locked:
		return "", refused(t.at, "its members cannot be removed")
	case t.index >= 0:
		if e != nil && len(t.draft.items) <= e.Lower && t.draft.items[t.index].isKept() {
			return "", refused(t.at, "it has at least %s", counted(e.Lower, "entry", "entries"))
		}
		t.draft.items = append(t.draft.items[:t.index:t.index], t.draft.items[t.index+1:]...)
		return t.at, nil
	case e != nil && !e.Many() && e.Lower == 0:
		*t.draft = Draft{}
		return t.at, nil
	}
	return "", refused(t.at, "it cannot be removed")
}

func (t *target) move(button string) (string, error) {
	to := t.index + map[string]int{Up: -1, Down: 1}[button]
	if t.index < 0 || t.mood == locked || to < 0 || to >= len(t.draft.items) {
		return "", refused(t.at, "it cannot be moved")
	}
	items := t.draft.items
	items[t.index], items[to] = items[to], items[t.index]
	return item(t.at, to), nil
}

// toggle switches a dict between rows and JSON.
func (t *target) toggle() error {
	if t.attribute == nil || shapeOf(t.attribute) != shapeDict || t.index >= 0 {
		return refused(t.at, "it has one form")
	}
	w := &valuer{}
	v, ok := w.value(t.attribute, t.draft, t.at, t.attribute.Optional())
	m, is := v.(map[string]any)
	if !ok || v != nil && !is {
		return refused(t.at, "correct its value first: it is no object")
	}
	null := t.draft.null
	if t.draft.json {
		*t.draft = *draftedDict(m)
		if t.draft.json {
			return refused(t.at, "it has entries that are written as JSON only")
		}
	} else if *t.draft = (Draft{json: true}); is {
		t.draft.text = encoded(m)
	}
	t.draft.null = null
	return nil
}

// counted returns a number with a noun.
func counted(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + several
}
