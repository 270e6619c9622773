package eval

import (
	"slices"

	"southbound/shared/lang/types"
)

// Dataclass is a Python class that represents an entity.
type Dataclass struct {
	Entity string // the full name
	// Fields are the names of its fields; nil if they are not known.
	Fields []string
}

// dataclass is the entity whose children require a Python class.
const dataclass = "std::Dataclass"

// isDataclass reports whether an entity requires a Python class.
func isDataclass(e *types.Entity) bool {
	return slices.ContainsFunc(e.Ancestors(), func(o *types.Entity) bool {
		return o.FullName() == dataclass
	})
}

// checkDataclass checks that an entity matches its Python class: its attributes are the fields of
// the class. It has no relation, no index and no implementation except std::none.
func (p entityPass) checkDataclass(e *types.Entity) {
	at := slices.IndexFunc(p.input.Dataclasses, func(c Dataclass) bool {
		return c.Entity == e.FullName()
	})
	if at < 0 {
		f := failed(CodeDataclass, e.At, "%s extends %s and has no class in Python",
			e.FullName(), dataclass).heavy(9)
		p.problem(
			f.advise("write a frozen dataclass of the same name in the plugins of its module"),
		)
		return
	}
	p.checkFields(e, p.input.Dataclasses[at].Fields)
	for _, sub := range p.collect(e) {
		for _, i := range sub.implementations {
			if i.name != "std::none" {
				f := failed(CodeDataclass, sub.at, "%s has a class in Python, so std::none is its "+
					"only implementation: this is %s", e.FullName(), i.name).heavy(9)
				p.problem(f.with(e.At, "it extends "+dataclass))
			}
		}
	}
	if len(e.Indexes) > 0 {
		p.problem(failed(CodeDataclass, e.At,
			"%s has a class in Python, so it cannot have an index",
			e.FullName()).heavy(9))
	}
}

// checkFields checks the attributes of an entity against the fields of its class; fields is nil if
// they are not known.
func (p entityPass) checkFields(e *types.Entity, fields []string) {
	for _, a := range e.All() {
		var f *fail
		switch {
		case a.Relation != nil:
			if a.Entity.FullName() == "std::Entity" {
				continue
			}
			f = failed(CodeDataclass, a.At,
				"%s has a class in Python, so it cannot have a relation: this is %s", e.FullName(),
				a.Name)
		case fields != nil && !slices.Contains(fields, a.Name):
			f = failed(CodeDataclass, a.At, "the class of %s in Python has no field %s",
				e.FullName(), a.Name).
				advise("a dataclass has a field for each attribute of its entity")
		default:
			continue
		}
		p.problem(f.heavy(9).with(e.At, "it extends "+dataclass))
	}
	for _, name := range fields {
		if a := e.Attribute(name); a == nil {
			f := failed(CodeDataclass, e.At, "the class of %s in Python has the field %s, and the "+
				"entity has no such attribute", e.FullName(), name).heavy(9)
			p.problem(f.advise("add the attribute to the entity, or remove the field"))
		}
	}
}
