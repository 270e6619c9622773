package types

import (
	"slices"

	"southbound/shared/diag"
)

// Entity is an entity type. Package eval builds it in steps from its definition.
//
// Large: it is the record of a definition, and each field is a part that a definition can have.
type Entity struct {
	Name      string // without its namespace
	Namespace string
	Doc       string
	At        *diag.Pos
	Parents   []*Entity
	Children  []*Entity
	// Own are the attributes and relations that the entity itself defines, in order.
	Own []*Attribute
	// Defaults are the defaults that the entity itself defines, in order.
	Defaults []Default
	// Indexes are the sorted attribute names of each index, including the indexes of parents.
	Indexes [][]string
	// ID is the number of the entity, counted from 0.
	ID int

	full      string
	all       []*Attribute
	names     []string       // names of all
	place     map[string]int // positions in all, by name
	defaults  []Default
	ancestors []*Entity
}

// Default is the default of an attribute. A nil value removes the defaults of the parents.
type Default struct {
	Name  string
	Value Value
	At    *diag.Pos // declaration of the attribute with this default
}

// Attribute is an attribute of an entity or, with Relation, one end of a relation.
type Attribute struct {
	Name   string
	Entity *Entity // the entity that defines the attribute
	// Type is the declared type; for a relation, the entity at the other end.
	Type Type
	// Accepts is the type of assignable values: Type, or a reference to a value of Type.
	Accepts  Type
	Multi    bool
	Nullable bool
	Relation *Relation // nil for an attribute
	Doc      string
	At       *diag.Pos
}

// Relation holds the properties of an attribute that is a relation.
type Relation struct {
	Low, High int // bounds of the number of instances; High is -1 if there is no limit
	Target    *Entity
	Inverse   *Attribute // the other end; nil if the relation has one direction only
	// First marks a relation that a policy requires to be complete before another one.
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

// Check implements Type: it accepts instances of the entity and of entities that extend it.
func (e *Entity) Check(v Value) error {
	if o, ok := v.(Object); ok && o.Type().Is(e) || IsUnknown(v) {
		return nil
	}
	return mismatch(v, e)
}

// Is reports whether an entity is the other entity or extends it.
func (e *Entity) Is(other *Entity) bool {
	return e == other || slices.Contains(e.Ancestors(), other)
}

// Ancestors returns all entities that this one extends, parents before children and right before
// left. Later entities take precedence.
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

// Forget drops the cached derivations of the definition, because the definition has changed.
func (e *Entity) Forget() {
	e.ancestors, e.all, e.names, e.place, e.defaults = nil, nil, nil, nil, nil
}

// All returns all attributes, including those of the entities that this one extends.
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

// Attribute returns the attribute with this name, which may be inherited; nil if it does not exist.
func (e *Entity) Attribute(name string) *Attribute {
	if i := e.Place(name); i >= 0 {
		return e.all[i]
	}
	return nil
}

// fewNames is the largest number of names for which a linear search is faster than a map.
const fewNames = 12

// Place returns the index of an attribute in All; -1 if the attribute does not exist.
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

// AllDefaults returns the effective defaults of the entity, inherited ones first.
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

// Own returns the attribute with this name that the entity itself defines; nil if there is none.
func Own(e *Entity, name string) *Attribute {
	for _, a := range e.Own {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// AddIndex adds an index to an entity and to all entities that extend it. It sorts the names.
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
