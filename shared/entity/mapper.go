package entity

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// Mapper maps entities to resources. It is immutable; a nil Mapper maps nothing.
type Mapper struct{ byKind map[string]*mapping }

// mapping is a Mapping with its collected fields.
type mapping struct {
	Mapping
	typ    *schema.Compiled
	fields []field // in the order of the type's attributes
	flags  map[string]string
}

// field is an attribute of a resource: from a path, or from a function.
type field struct {
	name string
	path string
	f    Func
}

// managed is the flag that decides whether an entity becomes a resource.
const managed = "managed"

func flagNames() []string {
	return []string{
		managed, "prevent_destroy", "purge_on_delete", "purged", "receive_events", "report_only",
		"send_event",
	}
}

// NewMapper checks mappings against the types of their resources. It returns all errors together as
// diag.Problems: Resource is the name of the entity, Attribute the attribute of the resource. It
// returns nil if there are no mappings.
func NewMapper(types *schema.Registry, mappings []Mapping) (*Mapper, error) {
	if len(mappings) == 0 {
		return nil, nil // a nil Mapper maps nothing
	}
	m := &Mapper{byKind: map[string]*mapping{}}
	c := &checker{types: types}
	for i := range mappings {
		c.entity = mappings[i].Entity
		if _, twice := m.byKind[c.entity]; twice {
			c.bad("", "keep one of the two", "the entity is mapped twice")
		}
		if namespace, name, ok := cutLast(c.entity); !ok || namespace == "" || name == "" {
			c.bad("", "a name such as net::Vlan",
				"%q is not the full name of an entity of a module",
				c.entity)
		}
		m.byKind[c.entity] = c.mapping(&mappings[i])
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return m, nil
}

// cutLast splits a full name into a namespace and a name.
func cutLast(full string) (namespace, name string, ok bool) {
	i := strings.LastIndex(full, "::")
	if i < 0 {
		return "", full, false
	}
	return full[:i], full[i+2:], true
}

// Entities returns the sorted names of the mapped entities.
func (m *Mapper) Entities() []string {
	if m == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m.byKind))
}

// Maps reports whether there is a mapping for an entity of these kinds; see Entity.
func (m *Mapper) Maps(kinds []string) bool { return m.of(kinds) != nil }

// of returns the mapping of the nearest kind; nil if there is none.
func (m *Mapper) of(kinds []string) *mapping {
	if m == nil {
		return nil
	}
	for _, k := range kinds {
		if found := m.byKind[k]; found != nil {
			return found
		}
	}
	return nil
}

// checker collects the problems of mappings.
type checker struct {
	types    *schema.Registry
	entity   string
	problems diag.Problems
}

func (c *checker) bad(attribute, hint, format string, args ...any) {
	c.problems.Add(diag.Problem{
		Resource: c.entity, Attribute: attribute, Message: fmt.Sprintf(format, args...), Hint: hint,
	})
}

func (c *checker) path(attribute, what, path string) {
	if !validPath(path) {
		c.bad(attribute, "relations and an attribute, joined by dots, such as host.name",
			"%s comes from %q, which is not a path", what, path)
	}
}

// mapping checks a mapping and collects its fields.
func (c *checker) mapping(given *Mapping) *mapping {
	m := &mapping{Mapping: *given, flags: map[string]string{}}
	t, ok := c.types.Type(given.Type)
	if !ok {
		c.bad("", near(given.Type, c.types.Names(), "there are "), "there is no type %q",
			given.Type)
		return m
	}
	m.typ = t
	if given.Agent == "" {
		c.bad("", "a path such as host.name", "it names no agent")
	} else {
		c.path("", "the agent", given.Agent)
	}
	fields := map[string]field{}
	c.gather(m, given.Fields, fields)
	c.take(m, fields)
	return m
}

// take assigns the collected fields to the attributes of the type.
func (c *checker) take(m *mapping, fields map[string]field) {
	names := make([]string, 0, len(m.typ.Attributes))
	for i := range m.typ.Attributes {
		name := m.typ.Attributes[i].Name
		names = append(names, name)
		a, _ := m.typ.Attribute(name)
		f, mapped := fields[name]
		readOnly := a.Behaviour == schema.ReadOnly
		switch {
		case mapped && readOnly:
			c.bad(name, "leave it out", "the attribute is only reported, it cannot be mapped")
		case mapped:
			m.fields = append(m.fields, f)
		case !readOnly && a.Required():
			c.bad(name, "map it", "the attribute of %s is required, and is not mapped", m.Type)
		}
		delete(fields, name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.bad(name, near(name, names, "it has "), "%s has no attribute %q", m.Type, name)
	}
}

// gather collects fields, inherited ones first.
func (c *checker) gather(m *mapping, from Fields, into map[string]field) {
	for _, inherited := range from.Inherits {
		c.gather(m, inherited, into)
	}
	said := map[string]bool{}
	add := func(f field) {
		if said[f.name] {
			c.bad(f.name, "", "the attribute is mapped twice")
		}
		said[f.name] = true
		into[f.name] = f
	}
	for _, name := range from.Names {
		add(field{name: name, path: name})
	}
	for _, name := range slices.Sorted(maps.Keys(from.Map)) {
		c.path(name, "the attribute", from.Map[name])
		add(field{name: name, path: from.Map[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(from.Funcs)) {
		if from.Funcs[name] == nil {
			c.bad(name, "", "the function is nil")
		}
		add(field{name: name, f: from.Funcs[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(from.Flags)) {
		if !slices.Contains(flagNames(), name) {
			c.bad("", near(name, flagNames(), "flags are "), "there is no flag %q", name)
		}
		c.path("", "the flag "+name, from.Flags[name])
		m.flags[name] = from.Flags[name]
	}
}
