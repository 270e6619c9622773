package catalog

import (
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/types"
	"southbound/shared/service/definition"
)

// entity is an entity that a service or a part of a service is derived from.
type entity struct {
	*collector
	of     *types.Entity
	strict bool
	within []*types.Entity // the entities that embed it, the outermost first

	docs     map[string]string
	about    string
	defaults map[string]types.Value
}

const (
	modifierSuffix    = "__modifier"
	annotationsSuffix = "__annotations"
)

// part derives the part and the description of the entity. back is the relation from the entity to
// its parent; nil for none.
func (e *entity) part(back *types.Attribute) (definition.Part, *string) {
	e.read()
	p := definition.Part{
		Entity: e.of.FullName(), Attributes: []definition.Attribute{},
		Embedded: []definition.Embedded{}, Relations: []definition.Relation{},
		Annotations: e.ofEntity(),
	}
	for _, a := range e.of.All() {
		switch {
		case own(a):
		case strings.HasSuffix(a.Name, modifierSuffix):
			e.decorates(a, modifierSuffix)
		case strings.HasSuffix(a.Name, annotationsSuffix):
			e.decorates(a, annotationsSuffix)
		case a.Relation != nil:
			if a != back {
				e.relation(&p, a)
			}
		default:
			p.Attributes = append(p.Attributes, e.attribute(a))
		}
	}
	return p, optional(e.about)
}

// own reports whether an attribute is hidden from customers: it belongs to the modules lsm or std,
// or its name begins with _.
func own(a *types.Attribute) bool {
	module, _, _ := strings.Cut(a.Entity.Namespace, "::")
	return module == lsm.Namespace || module == "std" || strings.HasPrefix(a.Name, "_")
}

// read collects docstrings and defaults, including those of parents.
func (e *entity) read() {
	e.docs, e.defaults = map[string]string{}, map[string]types.Value{}
	for _, of := range append(append([]*types.Entity{}, e.of.Ancestors()...), e.of) {
		said, about := names.Documented(of.Doc)
		for name, text := range said {
			e.docs[name] = strings.Join(strings.Fields(text), " ")
		}
		if of == e.of {
			e.about = about
		}
	}
	for _, d := range e.of.AllDefaults() {
		e.defaults[d.Name] = d.Value
	}
}

// decorates rejects modifiers and annotations of missing attributes and of relations.
func (e *entity) decorates(a *types.Attribute, suffix string) {
	name := strings.TrimSuffix(a.Name, suffix)
	of := e.of.Attribute(name)
	switch {
	case of == nil:
		var all []string
		for _, other := range e.of.All() {
			if !own(other) && !strings.HasSuffix(other.Name, suffix) {
				all = append(all, other.Name)
			}
		}
		e.bad(
			*a.At,
			a.Name,
			eval.DidYouMean(name, all),
			"%s has no attribute %s, which %s is about",
			e.of.FullName(),
			name,
			a.Name,
		)
	case of.Relation != nil && suffix == modifierSuffix:
		e.bad(*a.At, a.Name, "write lsm::__r__, lsm::__rw__ or lsm::__rwplus__ in the place of --",
			"%s is a relation, which has its modifier where it is defined", name)
	case of.Relation != nil:
		e.bad(*a.At, a.Name, "write an instance of lsm::RelationAnnotations in the place of --",
			"%s is a relation, which has its annotations where it is defined", name)
	}
}

// attribute derives the definition of an attribute.
func (e *entity) attribute(a *types.Attribute) definition.Attribute {
	out := definition.Attribute{
		Name: a.Name, Description: optional(e.docs[a.Name]), Modifier: e.modifier(a),
		Annotations: e.ofAttribute(a),
	}
	base, suffix := a.Type, ""
	if n, ok := base.(*types.Nullable); ok {
		base, suffix = n.Of, "?"
	}
	if l, ok := base.(*types.ListOf); ok {
		base, suffix = l.Of, "[]"+suffix
	}
	v := e.validation(base)
	out.Type = v.base + suffix
	if v.kind != "" {
		kind := v.kind + suffix
		out.ValidationType, out.ValidationParam = &kind, v.parameters
	}
	if d, ok := e.defaults[a.Name]; ok {
		plain, err := lsm.Plain(d)
		if err != nil {
			e.bad(*a.At, a.Name, "use a constant", "the default of %s: %v", a.Name, err)
		}
		out.Default, out.DefaultSet = definition.Written(plain), true
	}
	e.presented(a, &out)
	return out
}

// modifier returns the modifier of an attribute.
func (e *entity) modifier(a *types.Attribute) definition.Modifier {
	m := e.of.Attribute(a.Name + modifierSuffix)
	if m == nil {
		return definition.Once
	}
	const want = lsm.Namespace + "::attribute_modifier"
	if t, ok := m.Type.(*types.Typedef); !ok || t.Name != want {
		e.bad(
			*m.At,
			m.Name,
			"write "+want+" "+m.Name+` = "rw"`,
			"it has the type %s, and not %s",
			m.Type,
			want,
		)
		return definition.Once
	}
	v, ok := e.defaults[m.Name].(string)
	if !ok {
		e.bad(*m.At, m.Name, "write "+want+" "+m.Name+` = "rw"`, "it has no value")
		return definition.Once
	}
	return definition.Modifier(v)
}
