package catalog

import (
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
	"southbound/shared/service/definition"
)

// relation is a relation that customers see.
type relation struct {
	decoration
	name   string
	at     *diag.Pos
	target *types.Entity
}

func join(names []string) string { return strings.Join(names, ", ") }

// relation adds a relation to a part. A relation that leads neither to an embedded entity nor, with
// lsm::__service__, to a service is visible to the model only.
func (e *entity) relation(p *definition.Part, a *types.Attribute) {
	r := &relation{
		decoration: e.decoration(a), name: a.Name, at: a.At, target: a.Relation.Target,
	}
	m := definition.Modifier(r.modifier)
	if m == "" {
		m = definition.Once
	}
	limits := definition.Limits{Lower: a.Relation.Low}
	if high := a.Relation.High; high >= 0 {
		limits.Upper = &high
	}
	about := optional(strings.TrimSpace(a.Doc))
	if said := e.docs[a.Name]; said != "" {
		about = &said
	}
	switch {
	case is(r.target, "EmbeddedEntity"):
		if inner, ok := e.embedded(a, r); ok {
			out := definition.Embedded{
				Name: a.Name, Description: about, Modifier: m, Limits: limits,
				RelationAnnotations: r.annotations,
			}
			var what *string
			out.Part, what = inner.part(a.Relation.Inverse)
			if about == nil {
				out.Description = what
			}
			inner.keys(a, &out)
			p.Embedded = append(p.Embedded, out)
		}
	case r.service && is(r.target, "ServiceBase"):
		if name, ok := e.offered(r); ok {
			p.Relations = append(p.Relations, definition.Relation{
				Name: a.Name, Description: about, Modifier: m, Limits: limits, Service: name,
				Annotations: r.annotations,
			})
		}
	case r.service:
		e.bad(*a.At, a.Name, "let "+r.target.FullName()+" extend lsm::ServiceEntity",
			"it has lsm::__service__, and leads to %s, which is not a service",
			r.target.FullName())
	}
}

// embedded returns the entity that a relation embeds; false if it cannot be embedded.
func (e *entity) embedded(a *types.Attribute, r *relation) (*entity, bool) {
	within := append(slices.Clone(e.within), e.of)
	if slices.Contains(within, r.target) {
		e.bad(*a.At, a.Name, "begin its name with _ if it is for the model alone",
			"it embeds %s in itself", r.target.FullName())
		return nil, false
	}
	if back := a.Relation.Inverse; back != nil {
		hint := "write " + r.target.Name + "._" + strings.ToLower(e.of.Name) + " [1]"
		if !strings.HasPrefix(back.Name, "_") {
			e.bad(
				*back.At,
				back.Name,
				hint,
				"it leads from an embedded entity back to its owner, "+
					"so its name must begin with _",
			)
		}
		if back.Relation.High != 1 {
			e.bad(
				*back.At,
				back.Name,
				hint,
				"it leads from an embedded entity to several that have it",
			)
		}
	}
	return &entity{collector: e.collector, of: r.target, strict: e.strict, within: within}, true
}

// keysAttribute is the attribute that names the keys of members.
const keysAttribute = "__lsm_key_attributes"

// keys finds the keys of the members of a relation.
func (e *entity) keys(a *types.Attribute, out *definition.Embedded) {
	said, _ := e.defaults[keysAttribute].(*types.List)
	at := a.At
	if said != nil {
		if own := e.of.Attribute(keysAttribute); own != nil {
			at = own.At
		}
		for _, item := range said.Items {
			name, _ := item.(string)
			out.KeyAttributes = append(out.KeyAttributes, name)
		}
		if !e.indexed(a, out.KeyAttributes) {
			names := join(out.KeyAttributes)
			e.bad(*at, keysAttribute, "write index "+e.of.Name+"("+names+")",
				"%s has no index over its key attributes %s", e.of.FullName(), names)
		}
	} else {
		out.KeyAttributes = e.onlyIndex(a)
	}
	for _, name := range out.KeyAttributes {
		e.key(*at, name, out)
	}
	if e.strict && out.Many() && len(out.KeyAttributes) == 0 {
		e.bad(
			*a.At,
			a.Name,
			"write an index over the attributes that identify members, and name "+
				"them in "+keysAttribute+" if there are several indexes",
			"it can have several members, and no attribute identifies them",
		)
	}
	e.obey(a, out)
}

// key checks an attribute that is a key of members.
func (e *entity) key(at diag.Pos, name string, out *definition.Embedded) {
	a := out.Attribute(name)
	switch {
	case a == nil:
		e.bad(at, keysAttribute, "name attributes that customers see", "%s has no attribute %s",
			e.of.FullName(), name)
	case a.Modifier == definition.ReadWrite:
		e.bad(at, keysAttribute, "give "+name+" the modifier rw",
			"%s identifies members of %s, and its modifier is rw+", name, out.Name)
	}
}

// plain returns the attributes of an index without the relation to the parent. It returns false if
// the index has another relation, or an attribute that customers do not see.
func (e *entity) plain(a *types.Attribute, index []string) ([]string, bool) {
	var out []string
	for _, name := range index {
		of := e.of.Attribute(name)
		switch {
		case a.Relation.Inverse != nil && of == a.Relation.Inverse:
		case of == nil || of.Relation != nil || own(of):
			return nil, false
		default:
			out = append(out, name)
		}
	}
	return out, len(out) > 0
}

// indexed reports whether an index consists of the given attributes, with or without the parent.
func (e *entity) indexed(a *types.Attribute, keys []string) bool {
	sorted := slices.Sorted(slices.Values(keys))
	return slices.ContainsFunc(e.of.Indexes, func(index []string) bool {
		names, ok := e.plain(a, index)
		return ok && slices.Equal(names, sorted)
	})
}

// onlyIndex returns the attributes of the only index that can identify members; nil if there is no
// such index, or more than one.
func (e *entity) onlyIndex(a *types.Attribute) []string {
	var out []string
	n := 0
	for _, index := range e.of.Indexes {
		if names, ok := e.plain(a, index); ok {
			out, n = names, n+1
		}
	}
	if n != 1 {
		return nil
	}
	return out
}
