package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
)

func (c *checker) bad(at Path, code, hint, format string, args ...any) {
	if len(c.problems) >= diag.Limit {
		return
	}
	p := diag.Problem{
		Attribute: at.String(), Code: code, Hint: hint, Message: fmt.Sprintf(format, args...),
	}
	if c.root != "" {
		p.Pointer = at.Pointer(c.root)
	}
	c.problems.Add(p)
}

// rules reports whether modifiers apply to a part. They always apply to the service itself. With
// strict modifiers they also apply to embedded parts.
func (c *checker) rules(top bool) bool { return top || c.service.Strict }

// part checks the given values of a part. It fills in the rest from the current values or from
// defaults.
func (c *checker) part(
	p *definition.Part, at Path, given, is map[string]any, top bool,
) map[string]any {
	out := map[string]any{}
	known := map[string]bool{}
	for i := range p.Attributes {
		a := &p.Attributes[i]
		known[a.Name] = true
		c.attribute(a, at.in(a.Name), given, is, out, top)
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		known[e.Name] = true
		c.embedded(e, at.in(e.Name), given, is, out, top)
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		known[r.Name] = true
		c.relation(r, at.in(r.Name), given, is, out, top)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			c.bad(at.in(name), CodeUnknown,
				"the attributes are "+strings.Join(slices.Sorted(maps.Keys(known)), ", "),
				"there is no such attribute")
		}
	}
	return out
}

// theirs rejects a value of a customer for an attribute that only the model sets. The customer may
// repeat the current value. It reports whether it rejected the value.
func (c *checker) theirs(m definition.Modifier, top bool, v, was any, at Path) bool {
	if c.who != Customer || m != definition.ReadOnly || !c.rules(top) || equal(v, was) {
		return false
	}
	c.bad(at, CodeModifier, "leave it out",
		"it has the modifier r: only the model sets it")
	return true
}

func (c *checker) attribute(
	a *definition.Attribute, at Path, given, is, out map[string]any, top bool,
) {
	v, has := given[a.Name]
	was, had := is[a.Name]
	switch {
	case has && v == nil && !a.Optional() && a.Modifier == definition.ReadOnly && was == nil:
		out[a.Name] = nil // the model has not set it yet
	case has:
		if v, ok := c.value(a, at, v); ok && !c.theirs(a.Modifier, top, v, was, at) {
			out[a.Name] = v
		}
	case had:
		out[a.Name] = was
	case a.DefaultSet:
		out[a.Name] = plainNumber(a.Default)
	case a.Optional() || a.Modifier == definition.ReadOnly:
		out[a.Name] = nil
	default:
		c.bad(at, CodeMissing, "give it: it is "+kindOf(a), "it is missing")
	}
}

func (c *checker) embedded(
	e *definition.Embedded, at Path, given, is, out map[string]any, top bool,
) {
	v, has := given[e.Name]
	was, had := is[e.Name]
	if !has {
		switch {
		case had:
			out[e.Name] = was
		case e.Modifier == definition.ReadOnly || e.Lower == 0:
			out[e.Name] = none(e.Limits)
		default:
			c.bad(at, CodeMissing, "give it: it is "+members(e.Limits), "it is missing")
		}
		return
	}
	if e.Many() {
		out[e.Name] = c.list(e, at, v, was)
	} else {
		out[e.Name] = c.single(e, at, v, was)
	}
	if c.theirs(e.Modifier, top, out[e.Name], emptied(was, e.Limits), at) {
		delete(out, e.Name)
	}
}

// none is the value of a relation without members.
func none(l definition.Limits) any {
	if l.Many() {
		return []any{}
	}
	return nil
}

func emptied(v any, l definition.Limits) any {
	if v == nil {
		return none(l)
	}
	return v
}

func (c *checker) single(e *definition.Embedded, at Path, v, was any) any {
	if v == nil {
		if e.Lower > 0 && e.Modifier != definition.ReadOnly {
			c.bad(at, CodeMembers, "give it", "it cannot be null")
		}
		return nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		c.bad(at, CodeType, "", "it is %s, and not an object", jsonKind(v))
		return nil
	}
	before, _ := was.(map[string]any)
	if before != nil && key(e, before) != key(e, m) && len(e.KeyAttributes) > 0 {
		before = nil // another member
	}
	return c.part(&e.Part, at, m, before, false)
}

// list checks the members of a relation. It finds their earlier states by their keys.
func (c *checker) list(e *definition.Embedded, at Path, v, was any) any {
	items, ok := v.([]any)
	if !ok {
		c.bad(at, CodeType, "", "it is %s, and not a list", jsonKind(v))
		return []any{}
	}
	if !unset(e.Modifier, e.Limits, v, was) {
		c.limits(e.Limits, at, len(items))
	}
	before := earlierOf(e, was)
	seen := map[string]bool{}
	out := make([]any, 0, len(items))
	for i, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			c.bad(at.Item(i), CodeType, "give an object with the attributes of a member",
				"%s is %s, and not an object", itemOf(i, len(items)), jsonKind(item))
			continue
		}
		here := at.Item(i)
		if c.unnamed(e, here, m, itemOf(i, len(items))) {
			continue
		}
		m = withKeys(e, m)
		if len(e.KeyAttributes) > 0 {
			here = member(here, e, m)
			if k := key(e, m); seen[k] {
				c.bad(
					here,
					CodeMembers,
					"take one of them away",
					"there are two members with this key",
				)
			} else {
				seen[k] = true
			}
		}
		out = append(out, c.part(&e.Part, here, m, before(m), false))
	}
	return out
}

// unnamed rejects a member without a required key, because no path could name the member.
func (c *checker) unnamed(e *definition.Embedded, at Path, m map[string]any, which string) bool {
	out := false
	for _, k := range e.KeyAttributes {
		a := e.Attribute(k)
		if _, has := m[k]; has || a == nil || a.DefaultSet || a.Optional() ||
			a.Modifier == definition.ReadOnly {
			continue
		}
		c.bad(at.in(k), CodeMissing, "give it: it is "+kindOf(a), "%s: it is missing", which)
		out = true
	}
	return out
}

// withKeys returns a member with defaults for the keys that are missing.
func withKeys(e *definition.Embedded, m map[string]any) map[string]any {
	out := m
	for _, k := range e.KeyAttributes {
		a := e.Attribute(k)
		if _, has := m[k]; has || a == nil || !a.DefaultSet {
			continue
		}
		if len(out) == len(m) {
			out = maps.Clone(m)
		}
		out[k] = a.Default
	}
	return out
}

func (c *checker) limits(l definition.Limits, at Path, n int) {
	if n < l.Lower || l.Upper != nil && n > *l.Upper {
		has := fmt.Sprintf("it has %d members", n)
		if n == 1 {
			has = "it has 1 member"
		}
		c.bad(at, CodeMembers, "it takes "+members(l), "%s", has)
	}
}

func members(l definition.Limits) string {
	switch {
	case !l.Many():
		return "one"
	case l.Upper == nil:
		return fmt.Sprintf("a list with at least %d", l.Lower)
	}
	return fmt.Sprintf("a list with %d to %d", l.Lower, *l.Upper)
}

// key returns the values of the keys of a member as text; "" if the members have no keys.
func key(e *definition.Embedded, m map[string]any) string {
	var b strings.Builder
	for _, k := range e.KeyAttributes {
		fmt.Fprintf(&b, "%q;", Text(m[k]))
	}
	return b.String()
}

// member returns the path of a member.
func member(at Path, e *definition.Embedded, m map[string]any) Path {
	s := at[len(at)-1]
	s.Keys = nil
	for _, k := range e.KeyAttributes {
		s.Keys = append(s.Keys, Key{k, Text(m[k])})
	}
	return at[:len(at)-1].To(s)
}

// byKey returns the members of a list by their keys. The result is empty if the members have no
// keys.
func byKey(e *definition.Embedded, list any) map[string]map[string]any {
	out := map[string]map[string]any{}
	items, _ := list.([]any)
	if len(e.KeyAttributes) == 0 {
		return out
	}
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out[key(e, m)] = m
		}
	}
	return out
}

// earlierOf returns a function that finds the earlier state of a member. Without keys, a member has
// an earlier state only if it is repeated unchanged; each earlier member is found once.
func earlierOf(e *definition.Embedded, was any) func(map[string]any) map[string]any {
	if len(e.KeyAttributes) > 0 {
		before := byKey(e, was)
		return func(m map[string]any) map[string]any { return before[key(e, m)] }
	}
	items, _ := was.([]any)
	rest := slices.Clone(items)
	return func(m map[string]any) map[string]any {
		i := slices.IndexFunc(rest, func(o any) bool { return equal(o, m) })
		if i < 0 {
			return nil
		}
		found, _ := rest[i].(map[string]any)
		rest = slices.Delete(rest, i, i+1)
		return found
	}
}

// unset reports whether the model has not set a relation yet. Its lower limit does not apply then.
func unset(m definition.Modifier, l definition.Limits, v, was any) bool {
	return m == definition.ReadOnly && equal(v, none(l)) && equal(emptied(was, l), none(l))
}

// relation checks the ids of other instances.
func (c *checker) relation(
	r *definition.Relation, at Path, given, is, out map[string]any, top bool,
) {
	v, has := given[r.Name]
	was, had := is[r.Name]
	switch {
	case !has && had:
		out[r.Name] = was
		return
	case !has && (r.Lower == 0 || r.Modifier == definition.ReadOnly):
		out[r.Name] = none(r.Limits)
		return
	case !has:
		c.bad(at, CodeMissing, "give the id of an instance of "+r.Service, "it is missing")
		return
	case unset(r.Modifier, r.Limits, v, was):
		out[r.Name] = v
		return
	}
	if c.ids(r, at, v) && !c.theirs(r.Modifier, top, v, emptied(was, r.Limits), at) {
		out[r.Name] = v
	}
}

func (c *checker) ids(r *definition.Relation, at Path, v any) bool {
	if !r.Many() {
		if _, ok := v.(string); !ok && (v != nil || r.Lower > 0) {
			c.bad(at, CodeType, "give the id of an instance of "+r.Service,
				"it is %s, and not a string", jsonKind(v))
			return false
		}
		return true
	}
	items, ok := v.([]any)
	if !ok {
		c.bad(at, CodeType, "give a list of ids of instances of "+r.Service,
			"it is %s, and not a list", jsonKind(v))
		return false
	}
	c.limits(r.Limits, at, len(items))
	seen := map[any]bool{}
	for i, item := range items {
		if _, ok := item.(string); !ok {
			c.bad(at.Item(i), CodeType, "give the id of an instance of "+r.Service,
				"%s is %s, and not a string", itemOf(i, len(items)), jsonKind(item))
			return false
		}
		if seen[item] {
			c.bad(at.Item(i), CodeMembers, "take one of them away", "%q is there twice", item)
			return false
		}
		seen[item] = true
	}
	return true
}
