package inventory

import (
	"southbound/shared/service/definition"
)

// Who is a party that changes attributes.
type Who int

// The parties. A Customer changes rw+ attributes. The Model changes r attributes. A Promotion makes
// a set of both active, and changes everything except rw attributes.
const (
	Customer Who = iota
	Model
	Promotion
)

// may reports whether the party may change an attribute with a modifier.
func (w Who) may(m definition.Modifier) bool {
	switch w {
	case Customer:
		return m == definition.ReadWrite
	case Model:
		return m == definition.ReadOnly
	case Promotion:
		return m != definition.Once
	}
	return false
}

// Allowed checks a change of attributes. It returns diag.Problems with the path and the modifier of
// each attribute that the party may not change; nil if there is none. Without earlier attributes
// everything is allowed. An attribute that did not exist before is allowed too, because another
// definition lacked it.
func Allowed(s *definition.Service, before, after map[string]any, who Who) error {
	return allowed(s, before, after, who, "")
}

// allowed is Allowed with the JSON pointer to the later attributes; see checked.
func allowed(
	s *definition.Service, before, after map[string]any, who Who, root string,
) error {
	if before == nil {
		return nil
	}
	c := &checker{service: s, who: who, root: root}
	c.allowed(&s.Part, nil, before, after)
	return c.problems.Err()
}

func (c *checker) refuse(at Path, m definition.Modifier, what string) {
	hint, rule := "leave it as it is", "it is set once, and never changes"
	switch {
	case m == definition.ReadOnly:
		rule = "only the model sets it"
	case c.who == Model:
		hint, rule = `give it the modifier r in the model`, "customers set it, and not the model"
	}
	c.bad(at, CodeModifier, hint, "%s, and it has the modifier %s: %s", what, m, rule)
}

// allowed compares a part with its earlier state.
func (c *checker) allowed(p *definition.Part, at Path, before, after map[string]any) {
	for i := range p.Attributes {
		a := &p.Attributes[i]
		was, had := before[a.Name]
		if had && !equal(was, after[a.Name]) && !c.who.may(a.Modifier) {
			c.refuse(at.in(a.Name), a.Modifier, "it would change")
		}
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		was, had := before[r.Name]
		if had && !sameIDs(was, after[r.Name]) && !c.who.may(r.Modifier) {
			c.refuse(at.in(r.Name), r.Modifier, "it would lead elsewhere")
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if _, had := before[e.Name]; !had {
			continue
		}
		was, is := emptied(before[e.Name], e.Limits), emptied(after[e.Name], e.Limits)
		switch {
		case equal(was, is):
		case !c.service.Strict:
			if !c.who.may(e.Modifier) {
				c.refuse(at.in(e.Name), e.Modifier, "it would change")
			}
		case e.Many():
			c.membersAllowed(e, at.in(e.Name), was, is)
		default:
			c.memberAllowed(e, at.in(e.Name), was, is)
		}
	}
}

// sameIDs compares relations to other instances. The order of their ids has no meaning.
func sameIDs(a, b any) bool {
	x, ok := a.([]any)
	y, also := b.([]any)
	if !ok || !also {
		empty := func(v any) bool { l, is := v.([]any); return v == nil || is && len(l) == 0 }
		return equal(a, b) || empty(a) && empty(b)
	}
	count := map[any]int{}
	for _, id := range x {
		count[id]++
	}
	for _, id := range y {
		count[id]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}

// memberAllowed compares the member of a to-one relation with its earlier state.
func (c *checker) memberAllowed(e *definition.Embedded, at Path, before, after any) {
	was, had := before.(map[string]any)
	is, has := after.(map[string]any)
	other := had && has && len(e.KeyAttributes) > 0 && key(e, was) != key(e, is)
	switch {
	case had && has && !other:
		c.allowed(&e.Part, at, was, is)
	case c.who.may(e.Modifier):
	case other:
		c.refuse(at, e.Modifier, "another one would take its place")
	case has:
		c.refuse(at, e.Modifier, "it would be added")
	default:
		c.refuse(at, e.Modifier, "it would be removed")
	}
}

// membersAllowed compares members by their keys.
func (c *checker) membersAllowed(e *definition.Embedded, at Path, before, after any) {
	was, is := byKey(e, before), byKey(e, after)
	each := func(list any, f func(i int, k string, m map[string]any)) {
		items, _ := list.([]any)
		for i, item := range items {
			if m, ok := item.(map[string]any); ok {
				f(i, key(e, m), m)
			}
		}
	}
	each(before, func(_ int, k string, m map[string]any) {
		if is[k] == nil && !c.who.may(e.Modifier) {
			c.refuse(member(at, e, m), e.Modifier, "it would be removed")
		}
	})
	each(after, func(i int, k string, m map[string]any) {
		here := member(at.Item(i), e, m)
		switch {
		case was[k] != nil:
			c.allowed(&e.Part, here, was[k], m)
		case !c.who.may(e.Modifier):
			c.refuse(here, e.Modifier, "it would be added")
		}
	})
}
