package inventory

import (
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// ReplaceAll returns the change that replaces all attributes of an instance, for a customer who has
// read a version. Missing attributes that customers may change get their defaults; other missing
// attributes stay. The instance takes the definition s, as with Update.
func ReplaceAll(
	s *definition.Service, r Record, given map[string]any, version int64, now time.Time,
) (Change, error) {
	if err := moved(s, &r); err != nil {
		return Change{}, err
	}
	attributes, err := Replaced(s, r.Current(), given)
	if err != nil {
		return Change{}, inState(err, r.State)
	}
	return Advance(s, r, lifecycle.Update{Attributes: attributes, Version: version}, now)
}

// Replaced returns the attributes of an instance after a customer has replaced all of them.
func Replaced(s *definition.Service, is, given map[string]any) (map[string]any, error) {
	c := &replacer{s}
	plain, _ := plainNumber(given).(map[string]any)
	out, err := checked(s, plain, c.fixed(&s.Part, plain, is, true), Customer,
		PointerRoot)
	if err != nil {
		return nil, err
	}
	if err := allowed(s, is, out, Customer, PointerRoot); err != nil {
		return nil, err
	}
	return out, nil
}

// replacer finds the attributes that customers cannot replace.
type replacer struct{ service *definition.Service }

// rules reports whether modifiers apply to a part. They always apply to the service itself. With
// strict modifiers they also apply to embedded parts.
func (c *replacer) rules(top bool) bool { return top || c.service.Strict }

// keeps reports whether an attribute with a modifier keeps its value when a customer replaces all.
func (c *replacer) keeps(m definition.Modifier, top bool) bool {
	if c.rules(top) {
		return !Customer.may(m)
	}
	return m == definition.ReadOnly
}

// fixed returns the attributes of a part that keep their values if they are not given. For given
// members, it returns the fixed attributes of these members.
func (c *replacer) fixed(
	p *definition.Part, given, is map[string]any, top bool,
) map[string]any {
	out := map[string]any{}
	keep := func(name string, m definition.Modifier) {
		if v, had := is[name]; had && c.keeps(m, top) {
			out[name] = v
		}
	}
	for i := range p.Attributes {
		keep(p.Attributes[i].Name, p.Attributes[i].Modifier)
	}
	for i := range p.Relations {
		keep(p.Relations[i].Name, p.Relations[i].Modifier)
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		now, has := given[e.Name]
		if !has {
			keep(e.Name, e.Modifier)
			continue
		}
		if v, had := is[e.Name]; had {
			out[e.Name] = c.fixedMembers(e, now, v)
		}
	}
	return out
}

// fixedMembers returns the fixed attributes of the given members of a relation.
func (c *replacer) fixedMembers(e *definition.Embedded, given, is any) any {
	if !e.Many() {
		now, _ := given.(map[string]any)
		was, had := is.(map[string]any)
		if !had || now == nil {
			return is
		}
		return c.fixedMember(e, now, was)
	}
	was, out := byKey(e, is), []any{}
	items, _ := given.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		if before := was[key(e, withKeys(e, m))]; before != nil {
			out = append(out, c.fixedMember(e, m, before))
		}
	}
	return out
}

// fixedMember returns the fixed attributes of a member, and its keys, which identify it.
func (c *replacer) fixedMember(e *definition.Embedded, given, is map[string]any) map[string]any {
	out := c.fixed(&e.Part, given, is, false)
	for _, k := range e.KeyAttributes {
		out[k] = is[k]
	}
	return out
}

// Writable returns attributes without those that only the model sets.
func Writable(s *definition.Service, all map[string]any) map[string]any {
	if all == nil {
		return nil
	}
	return (&replacer{s}).writable(&s.Part, all, true)
}

func (c *replacer) writable(p *definition.Part, all map[string]any, top bool) map[string]any {
	out := map[string]any{}
	for name, v := range all {
		out[name] = v
	}
	drop := func(name string, m definition.Modifier) bool {
		if m == definition.ReadOnly && c.rules(top) {
			delete(out, name)
			return true
		}
		return false
	}
	for i := range p.Attributes {
		drop(p.Attributes[i].Name, p.Attributes[i].Modifier)
	}
	for i := range p.Relations {
		drop(p.Relations[i].Name, p.Relations[i].Modifier)
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		v, has := out[e.Name]
		if !has || drop(e.Name, e.Modifier) {
			continue
		}
		switch v := v.(type) {
		case map[string]any:
			out[e.Name] = c.writable(&e.Part, v, false)
		case []any:
			list := make([]any, len(v))
			for i, one := range v {
				if m, is := one.(map[string]any); is {
					list[i] = c.writable(&e.Part, m, false)
				} else {
					list[i] = one
				}
			}
			out[e.Name] = list
		}
	}
	return out
}

// EditSet returns the change that edits one set of an instance (candidate, active or rollback), for
// an expert who has read a version. s is the definition of the instance. Modifiers do not apply,
// but the identity cannot change. The instance stays in its state.
func EditSet(
	s *definition.Service, r Record, set string, edits []Edit, version int64, now time.Time,
) (Change, error) {
	m := Migration{
		State: r.State, Candidate: r.Candidate, Active: r.Active, Rollback: r.Rollback,
	}
	of := map[string]*map[string]any{
		"candidate": &m.Candidate, "active": &m.Active, "rollback": &m.Rollback,
	}[set]
	if of == nil {
		return Change{}, fault.New(fault.Invalid, "", "there is no set %.40q of attributes", set).
			WithHint("the sets are candidate, active and rollback")
	}
	if *of == nil {
		return Change{}, fault.New(fault.Conflict, "",
			"the instance %s has no %s attributes in the state %s", r.ID, set, r.State).
			WithHint("edit one of the sets that it has")
	}
	var err error
	if *of, err = applied(s, *of, edits, Model); err != nil {
		return Change{}, err
	}
	return Migrate(s, r, m, version, now)
}
