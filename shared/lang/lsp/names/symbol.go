package names

import (
	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
)

// Kind is the kind of what has a name.
type Kind uint8

// The kinds.
const (
	Namespace Kind = iota + 1
	Entity
	Attribute
	Relation // an end of one: an attribute of its entity
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
	BuiltIn   bool // it is part of the program
	Tree      *syntax.File
}

// Symbol is what has a name. Which fields are set depends on its kind.
//
// Large: one record serves all kinds of names, so that whoever looks for a name needs no table for
// each.
type Symbol struct {
	Kind     Kind
	Name     string // without its namespace
	Space    string // its namespace; "" for a variable of a block
	File     *File  // nil for what no text defines
	Span     syntax.Span
	From, To int // where its name stands: bytes
	// NameToken is the number of the token that its name begins with.
	NameToken int32
	Doc       string

	Owner   *Symbol // the entity of an attribute
	Type    Type    // of an attribute; the base of a typedef
	Inverse *Symbol // of a relation that goes both ways
	Of      *Symbol // the entity that an implementation is for

	Plugin  *eval.Plugin
	Indexes [][]string // of an entity, those that it has itself
	Parents []*Symbol  // of an entity

	// detail is the default of an attribute, the bounds of a relation, the condition of a typedef.
	detail syntax.Node

	own      []*Symbol // attributes of an entity, in order
	byName   map[string]*Symbol
	children []*Symbol

	value    syntax.Expression // of a variable: what is assigned first
	scope    *scope            // in which value stands
	item     bool              // it is an item of value
	inferred bool
}

// Type is what is known of the type of a value. The zero value is that of an unknown one.
type Type struct {
	Of       *Symbol // an entity, a typedef or a type of the language; nil if that is not known
	List     bool
	Nullable bool
}

// Detail returns the default of an attribute, the bounds of a relation ([0:1]) or the condition of
// a typedef as they are written; "" if there are none.
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

// String returns the type as models write it; "" if it is not known.
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

// entity returns the entity that a value is an instance of; nil if it is none, or not known.
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

// Own returns the attributes that an entity defines itself, relations among them.
func (s *Symbol) Own() []*Symbol { return s.own }

// Attribute returns the attribute of an entity, its own or one of what it extends; nil if there is
// none.
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

// Attributes returns all attributes of an entity, its own first, without those that it replaces.
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

// Is reports whether an entity is another one, or extends it.
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

// family calls visit with an entity and all that extend it.
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

// Same returns all attributes that are one with this one: an entity that extends another may define
// an attribute of it again, and an entity that extends two may give both their attributes one
// place.
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

// every returns all attributes of a name of an entity and of what it extends.
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
