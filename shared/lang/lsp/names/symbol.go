package names

import (
	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
)

// Kind is the kind of a symbol.
type Kind uint8

// The kinds.
const (
	Namespace Kind = iota + 1
	Entity
	Attribute
	Relation // an end of a relation: an attribute of its entity
	Typedef
	Implementation
	Plugin
	Variable
	Primitive // a type of the language
)

// File is a text of a project.
type File struct {
	Path      string
	Namespace string
	BuiltIn   bool // the file is part of the program
	Tree      *syntax.File
}

// Symbol is a named element of a model. Its kind determines which fields are set.
//
// Large: one record serves all kinds of names, so that a search for a name needs no table for each
// kind.
type Symbol struct {
	Kind     Kind
	Name     string // without its namespace
	Space    string // its namespace; "" for a variable of a block
	File     *File  // nil if no text defines it
	Span     syntax.Span
	From, To int // the byte range of its name
	// NameToken is the index of the first token of its name.
	NameToken int32
	Doc       string

	Owner   *Symbol // the entity of an attribute
	Type    Type    // of an attribute; the base of a typedef
	Inverse *Symbol // of a bidirectional relation
	Of      *Symbol // the entity of an implementation

	Plugin  *eval.Plugin
	Indexes [][]string // of an entity, without those of its parents
	Parents []*Symbol  // of an entity

	// detail is the default of an attribute, the bounds of a relation, or the condition of a
	// typedef.
	detail syntax.Node

	own      []*Symbol // attributes of an entity, in order
	byName   map[string]*Symbol
	children []*Symbol

	value    syntax.Expression // of a variable: the first assigned value
	scope    *scope            // the scope of value
	item     bool              // the variable is an item of value
	key      bool              // the variable is a key of value
	inferred bool
}

// Type is the known type of a value. The zero value stands for an unknown type.
type Type struct {
	Of       *Symbol // an entity, a typedef or a type of the language; nil if unknown
	List     bool
	Nullable bool
}

// Detail returns the source text of the default of an attribute, of the bounds of a relation
// ([0:1]) or of the condition of a typedef; "" if there is none.
func (s *Symbol) Detail() string {
	switch {
	case s.detail != nil:
		return s.File.source(s.detail)
	case s.Kind == Relation: // of std::Entity
		return "[0:]"
	}
	return ""
}

// About returns the documentation of a symbol.
func (s *Symbol) About() string {
	if s.Kind == Attribute && s.Owner != nil {
		said, _ := Documented(s.Owner.Doc)
		return said[s.Name]
	}
	return tidy(s.Doc)
}

// String returns the type in the syntax of models; "" if it is not known.
func (t Type) String() string {
	if t.Of == nil {
		return ""
	}
	out := t.Of.FullName()
	if t.List {
		out += "[]"
	}
	if t.Nullable {
		out += "?"
	}
	return out
}

// entity returns the entity of a value; nil if it is not an instance, or not known.
func (t Type) entity() *Symbol {
	if t.Of == nil || t.Of.Kind != Entity || t.List {
		return nil
	}
	return t.Of
}

// FullName returns the name with the namespace.
func (s *Symbol) FullName() string {
	if s.Space == "" || s.Kind == Namespace {
		return s.Name
	}
	return s.Space + "::" + s.Name
}

// IsAttribute reports whether this is an attribute or an end of a relation.
func (s *Symbol) IsAttribute() bool { return s.Kind == Attribute || s.Kind == Relation }

// Attribute returns the attribute of an entity, its own or an inherited one; nil if there is none.
func (s *Symbol) Attribute(name string) *Symbol { return s.attribute(name, map[*Symbol]bool{}) }

func (s *Symbol) attribute(name string, seen map[*Symbol]bool) *Symbol {
	if a := s.byName[name]; a != nil {
		return a
	}
	seen[s] = true
	for _, p := range s.Parents {
		if !seen[p] {
			if a := p.attribute(name, seen); a != nil {
				return a
			}
		}
	}
	return nil
}

// Attributes returns all attributes of an entity, its own first, without overridden attributes.
func (s *Symbol) Attributes() []*Symbol {
	var out []*Symbol
	named, seen := map[string]bool{}, map[*Symbol]bool{}
	var visit func(*Symbol)
	visit = func(e *Symbol) {
		if seen[e] {
			return
		}
		seen[e] = true
		for _, a := range e.own {
			if !named[a.Name] {
				named[a.Name] = true
				out = append(out, a)
			}
		}
		for _, p := range e.Parents {
			visit(p)
		}
	}
	visit(s)
	return out
}

// Is reports whether an entity is another one, or a descendant of it.
func (s *Symbol) Is(other *Symbol) bool { return s.is(other, map[*Symbol]bool{}) }

func (s *Symbol) is(other *Symbol, seen map[*Symbol]bool) bool {
	if s == other {
		return true
	}
	seen[s] = true
	for _, p := range s.Parents {
		if !seen[p] && p.is(other, seen) {
			return true
		}
	}
	return false
}

// family calls visit with an entity and all its descendants.
func (s *Symbol) family(visit func(*Symbol)) {
	seen := map[*Symbol]bool{}
	var walk func(*Symbol)
	walk = func(e *Symbol) {
		if seen[e] {
			return
		}
		seen[e] = true
		visit(e)
		for _, c := range e.children {
			walk(c)
		}
	}
	walk(s)
}

// Same returns all attributes that have to be renamed with this one. An entity may redefine an
// attribute of a parent, and an entity with two parents may merge attributes of both.
func (s *Symbol) Same() map[*Symbol]bool {
	out := map[*Symbol]bool{s: true}
	if !s.IsAttribute() {
		return out
	}
	for open := []*Symbol{s}; len(open) > 0; open = open[1:] {
		open[0].Owner.family(func(e *Symbol) {
			for _, a := range e.every(s.Name) {
				if !out[a] {
					out[a] = true
					open = append(open, a)
				}
			}
		})
	}
	return out
}

// every returns all attributes of a name in an entity and its ancestors.
func (s *Symbol) every(name string) []*Symbol {
	var out []*Symbol
	seen := map[*Symbol]bool{}
	var visit func(*Symbol)
	visit = func(e *Symbol) {
		if seen[e] {
			return
		}
		seen[e] = true
		if a := e.byName[name]; a != nil {
			out = append(out, a)
		}
		for _, p := range e.Parents {
			visit(p)
		}
	}
	visit(s)
	return out
}
