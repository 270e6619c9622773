package entity

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Mapper makes resources of entities. It is immutable.
type Mapper struct {
	byKind map[string]*mapping
	agents map[string]AgentMapping
}

// mapping is a Mapping whose fields have been gathered.
type mapping struct {
	Mapping
	typ    *schema.Compiled
	fields []field // in the order of the type's attributes
	flags  map[string]string
}

// field is one attribute of a resource: from a path, or made by a function.
type field struct {
	name string
	path string
	f    Func
}

func flagNames() []string {
	return []string{"managed", "prevent_destroy", "purge_on_delete", "purged", "receive_events", "report_only", "send_event", "set"}
}

// NewMapper checks mappings against the types of their resources. What is wrong is returned all at
// once as diag.Problems, in which Resource is the kind of the entity and Attribute that of the
// resource.
func NewMapper(types *schema.Registry, mappings []Mapping, agents ...AgentMapping) (*Mapper, error) {
	m := &Mapper{byKind: map[string]*mapping{}, agents: map[string]AgentMapping{}}
	c := &checker{types: types}
	for i := range mappings {
		c.kind = mappings[i].Kind
		if _, twice := m.byKind[c.kind]; twice {
			c.bad("", "", "the entity is mapped twice")
		}
		m.byKind[c.kind] = c.mapping(&mappings[i])
	}
	for _, a := range agents {
		c.kind = a.Kind
		if _, twice := m.agents[a.Kind]; twice {
			c.bad("", "", "the agent is mapped twice")
		}
		m.agents[a.Kind] = a
		c.path("", "the name of the agent", a.Name)
		for what, path := range map[string]string{"the transport": a.Transport, "the lanes": a.Lanes} {
			if path != "" {
				c.path("", what, path)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.Options)) {
			c.path(name, "the option", a.Options[name])
		}
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	return m, nil
}

// checker gathers what is wrong with mappings.
type checker struct {
	types    *schema.Registry
	kind     string
	problems diag.Problems
}

func (c *checker) bad(attribute, hint, format string, args ...any) {
	c.problems.Add(diag.Problem{Resource: c.kind, Attribute: attribute, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (c *checker) path(attribute, what, path string) {
	if !validPath(path) {
		c.bad(attribute, "relations and an attribute, joined by dots, such as host.name", "%s comes from %q, which is not a path", what, path)
	}
}

func (c *checker) mapping(given *Mapping) *mapping {
	m := &mapping{Mapping: *given, flags: map[string]string{}}
	t, ok := c.types.Type(given.Type)
	if !ok {
		c.bad("", near(given.Type, c.types.Names(), "there are "), "there is no type %q", given.Type)
		return m
	}
	m.typ = t
	if given.Agent == "" {
		c.bad("", "a path such as host.name", "it does not say the agent")
	} else {
		c.path("", "the agent", given.Agent)
	}
	fields := map[string]field{}
	c.gather(m, given.Fields, fields, 0)
	names := make([]string, 0, len(t.Attributes))
	for i := range t.Attributes {
		a := &t.Attributes[i]
		names = append(names, a.Name)
		f, mapped := fields[a.Name]
		compiled, _ := t.Attribute(a.Name)
		switch {
		case mapped && a.Behaviour == schema.ReadOnly:
			c.bad(a.Name, "leave it out", "the attribute is only reported, it cannot be mapped")
		case mapped:
			m.fields = append(m.fields, f)
		case a.Default == nil && !compiled.DataType.Optional() && a.Behaviour != schema.ReadOnly:
			c.bad(a.Name, "map it", "the attribute of %s is required, and is not mapped", t.Name)
		}
		delete(fields, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		c.bad(name, near(name, names, "it has "), "%s has no attribute %q", t.Name, name)
	}
	return m
}

// gather takes fields, those that are inherited first.
func (c *checker) gather(m *mapping, from Fields, into map[string]field, depth int) {
	for _, inherited := range from.Inherits {
		c.gather(m, inherited, into, depth+1)
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

// mappingOf returns the mapping of an entity's nearest kind, nil for what is not a resource.
func (m *Mapper) mappingOf(e Entity) *mapping {
	for _, k := range e.Kinds() {
		if found := m.byKind[k]; found != nil {
			return found
		}
	}
	return nil
}

func (m *Mapper) agentOf(e Entity) (AgentMapping, bool) {
	for _, k := range e.Kinds() {
		if a, ok := m.agents[k]; ok {
			return a, true
		}
	}
	return AgentMapping{}, false
}

// flag sets what documents say beside attributes; it returns what is wrong, "" for nothing.
func flag(r *resource.Resource, managed *bool, name string, v any) string {
	if name == "set" {
		text, ok := v.(string)
		if r.Set = text; !ok {
			return "the set is text"
		}
		return ""
	}
	b, ok := v.(bool)
	if !ok {
		return name + " is true or false"
	}
	*map[string]*bool{
		"managed": managed, "purged": &r.Purged, "purge_on_delete": &r.PurgeOnDelete,
		"prevent_destroy": &r.PreventDestroy, "report_only": &r.ReportOnly, "send_event": &r.SendEvent,
		"receive_events": &r.ReceiveEvents,
	}[name] = b
	return ""
}
