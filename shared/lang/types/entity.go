package types

import (
	"slices"

	"southbound/shared/diag"
)

// Entity is a kind of instances. It is built in steps by whoever reads its definition.
//
// Large: it is the record of a definition, and each field is something that one can say.
type Entity struct {
	Name      string // without its namespace
	Namespace string
	Doc       string
	At        *diag.Pos
	Parents   []*Entity
	Children  []*Entity
	// Own are the attributes and relations that are defined here, in order.
	Own []*Attribute
	// Defaults are the defaults that are said here, in order.
	Defaults []Default
	// Indexes are the sorted names of the attributes of each index, also of those of parents.
	Indexes [][]string
	// ID tells entities apart, and counts from 0.
	ID int

	full      string
	all       []*Attribute
	names     []string       // of all
	place     map[string]int // in all, by the name
	defaults  []Default
	ancestors []*Entity
}

// Default is the default of an attribute. A nil value removes what the parents have.
type Default struct {
	Name  string
	Value Value
	At    *diag.Pos // where the attribute is declared that has it
}

// Attribute is an attribute of an entity or, with Relation, one end of a relation.
type Attribute struct {
	Name   string
	Entity *Entity // that it is defined at
	// Type is what is declared: for a relation the entity at the other end.
	Type Type
	// Accepts is what may be assigned: Type, or a reference to it.
	Accepts  Type
	Multi    bool
	Nullable bool
	Relation *Relation // nil for an attribute
	Doc      string
	At       *diag.Pos
}

// Relation is what an attribute that is a relation has more.
type Relation struct {
	Low, High int // how many there are; High is -1 where there is no limit
	Target    *Entity
	Inverse   *Attribute // the other end; nil where it goes one way
	// First says that a policy wants this relation to be complete before another one.
	First bool
}

// FullName returns the name with its namespace.
func (e *Entity) FullName() string {
	if e.full == "" {
		e.full = e.Namespace + "::" + e.Name
	}
	return e.full
}

// String implements Type.
func (e *Entity) String() string { return e.FullName() }

// Check implements Type: instances of the entity and of those that extend it.
func (e *Entity) Check(v Value) error {
	if o, ok := v.(Object); ok && o.Type().Is(e) || IsUnknown(v) {
		return nil
	}
	return mismatch(v, e)
}

// Is reports whether an entity is another one, or extends it.
func (e *Entity) Is(other *Entity) bool {
	return e == other || slices.Contains(e.Ancestors(), other)
}

// Ancestors returns all entities that this one extends, parents before children and right before
// left, so that what comes later wins.
func (e *Entity) Ancestors() []*Entity {
	if e.ancestors == nil {
		out := []*Entity{}
		for _, p := range slices.Backward(e.Parents) {
			for _, a := range append(slices.Clone(p.Ancestors()), p) {
				if !slices.Contains(out, a) {
					out = append(out, a)
				}
			}
		}
		e.ancestors = out
	}
	return e.ancestors
}

// Forget drops what was derived from the definition, which goes on.
func (e *Entity) Forget() {
	e.ancestors, e.all, e.names, e.place, e.defaults = nil, nil, nil, nil, nil
}

// All returns all attributes, also those of the entities that this one extends.
func (e *Entity) All() []*Attribute {
	if e.place == nil {
		e.layOut()
	}
	return e.all
}

func (e *Entity) layOut() {
	e.place = map[string]int{}
	for _, of := range append(slices.Clone(e.Ancestors()), e) {
		for _, a := range of.Own {
			if at, ok := e.place[a.Name]; ok {
				e.all[at] = a
				continue
			}
			e.place[a.Name] = len(e.all)
			e.all, e.names = append(e.all, a), append(e.names, a.Name)
		}
	}
}

// Attribute returns the attribute of a name, also of an entity that this one extends; nil if there
// is none.
func (e *Entity) Attribute(name string) *Attribute {
	if i := e.Place(name); i >= 0 {
		return e.all[i]
	}
	return nil
}

// fewNames is how many names are looked through sooner than in a map.
const fewNames = 12

// Place returns the number of an attribute in All; -1 if there is none of this name.
func (e *Entity) Place(name string) int {
	if e.place == nil {
		e.layOut()
	}
	if len(e.names) <= fewNames {
		return slices.Index(e.names, name)
	}
	if i, ok := e.place[name]; ok {
		return i
	}
	return -1
}

// AllDefaults returns the defaults that hold for this entity, those of its parents first.
func (e *Entity) AllDefaults() []Default {
	if e.defaults == nil {
		at := map[string]int{}
		all := []Default{}
		for _, of := range append(slices.Clone(e.Ancestors()), e) {
			for _, d := range of.Defaults {
				if i, ok := at[d.Name]; ok {
					all[i] = d
					continue
				}
				at[d.Name] = len(all)
				all = append(all, d)
			}
		}
		e.defaults = slices.DeleteFunc(all, func(d Default) bool { return d.Value == nil })
	}
	return e.defaults
}

// Own returns the attribute of a name that an entity itself defines; nil if there is none.
func Own(e *Entity, name string) *Attribute {
	for _, a := range e.Own {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// AddIndex adds an index to an entity and to all that extend it. Names are sorted here.
func (e *Entity) AddIndex(names []string) {
	if slices.ContainsFunc(e.Indexes, func(i []string) bool { return slices.Equal(i, names) }) {
		return
	}
	sorted := slices.Sorted(slices.Values(names))
	e.Indexes = append(e.Indexes, sorted)
	for _, c := range e.Children {
		c.AddIndex(names)
	}
}
