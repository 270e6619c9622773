package resources

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// CheckMapped returns the mismatches between the mappings and a model: a mapped entity that does
// not exist although the model has its namespace. sources are the files of the model.
func CheckMapped(m *entity.Mapper, entities []*types.Entity, sources []eval.Source) error {
	names := m.Entities()
	if len(names) == 0 {
		return nil
	}
	has := map[string][]string{}
	for _, e := range entities {
		has[e.Namespace] = append(has[e.Namespace], e.Name)
	}
	var problems diag.Problems
	for _, full := range names {
		i := strings.LastIndex(full, "::")
		namespace, name := full[:i], full[i+2:]
		at := slices.IndexFunc(sources,
			func(s eval.Source) bool { return s.Namespace == namespace })
		if at < 0 || slices.Contains(has[namespace], name) {
			continue
		}
		hint := "use a version of the module that has it, or a program that maps the attributes of this version"
		if n := schema.Nearest(name, has[namespace]); n != "" {
			hint = fmt.Sprintf("it has %s::%s", namespace, n)
		}
		problems.Add(diag.Problem{
			Pos: diag.Pos{File: sources[at].Path, Line: 1}, Code: CodeResource, Hint: hint,
			Message: fmt.Sprintf("this program maps the entity %s to a resource, and %s has none",
				full, namespace),
		})
	}
	return problems.Err()
}

// mapping holds the results of the mappings of the program.
type mapping struct {
	*entity.Mapper // may be nil
	doc            *document
	kinds          map[*types.Entity][]string
	out            entity.Mapped
}

// maps reports whether instances of an entity are mapped. Southbound's own types take precedence.
func (m *mapping) maps(e *types.Entity) bool {
	return m.Mapper != nil && m.doc.typeOf(e) == nil && m.Maps(m.kindsOf(e))
}

// kindsOf returns the names of an entity and of all entities that it extends, nearest first.
func (m *mapping) kindsOf(e *types.Entity) []string {
	kinds, known := m.kinds[e]
	if !known {
		for a := range lineage(e) {
			kinds = append(kinds, a.FullName())
		}
		m.kinds[e] = kinds
	}
	return kinds
}

// all maps all instances that have a mapping. It runs before requirements are resolved, so that
// other resources can require the mapped ones.
func (m *mapping) all(instances []*eval.Instance) {
	var entities []entity.Entity
	for _, o := range instances {
		if m.maps(o.Type()) {
			m.doc.mapped[o] = true
			entities = append(entities, node{m, o})
		}
	}
	var err error
	var problems diag.Problems
	m.out, err = m.Map(entities)
	if errors.As(err, &problems) {
		for _, p := range problems {
			p.Code = CodeResource
			m.doc.problems.Add(p)
		}
	}
	for i := range m.out.Resources {
		r := &m.out.Resources[i]
		m.doc.ids[instanceOf(r.Entity)] = r.ID
	}
	for _, left := range m.out.Ignored {
		m.doc.ids[instanceOf(left.Entity)] = ""
	}
}

// instanceOf returns the instance that was passed to a mapping as an entity.
func instanceOf(e entity.Entity) *eval.Instance {
	n, _ := e.(node)
	return n.o
}

// addMapped adds the mapped resources to the result.
func (c *collector) addMapped() {
	made := &c.mapping.out
	for i := range made.Resources {
		c.out.Resources = append(c.out.Resources, c.fromMapping(&made.Resources[i]))
	}
	c.out.Files = map[string][]byte{}
	for hash, data := range made.Files {
		c.out.Files[uploaded(hash)] = data
	}
}

// uploaded returns the path of an uploaded file in resources. It cannot collide with the files of a
// model, which are in folders called files.
func uploaded(hash string) string { return "uploaded/" + hash }

// fromMapping returns the entry of a resource that a mapping has made.
func (c *collector) fromMapping(r *entity.Resource) Entry {
	o := instanceOf(r.Entity)
	attributes := map[string]any{}
	e := Entry{
		At: o.Pos(), Places: r.Places, Members: map[string]any{
			"type": r.Type, "agent": r.Agent, "attributes": attributes,
		},
	}
	for _, f := range flags() {
		if is, said := r.Flags[f.name]; said && is != f.initial {
			e.Members[f.name] = is
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		v, err := c.mapping.form(r.Attributes[name])
		if err != nil {
			at := r.Places[name]
			c.bad(at, name, "", "%s of %s: %v", name, written(o.Type()), err)
			continue
		}
		attributes[name] = v
	}
	if set := c.sets[o]; set != nil {
		e.Members["set"], e.Places["set"] = c.text(set, "name", "a set"), set.Pos()
	}
	c.purge(&e)
	if ids := c.requires(o); len(ids) > 0 {
		e.Members["requires"], e.Places["requires"] = ids, o.Place("requires")
	}
	return e
}

// form converts a value of a mapping to its form in documents.
func (m *mapping) form(v any) (any, error) {
	switch v := v.(type) {
	case entity.Unknown:
		if fact, is := v.Later.(reference); is && m.doc.known(fact) {
			return m.doc.reference(fact), nil
		}
		return unknown(&types.Unknown{Why: v.Why}), nil
	case reference:
		return m.doc.reference(v), nil
	case textParts:
		parts, err := m.forms(v)
		return map[string]any{string(textKind): parts}, err
	case resource.File:
		return map[string]any{string(fileKind): uploaded(v.Hash)}, nil
	case resource.Parameter:
		return map[string]any{string(parameterKind): v.Name}, nil
	case resource.Fact:
		return map[string]any{string(factKind): v.Name, "of": string(v.Of)}, nil
	case resource.Secret:
		if m.doc.ordered {
			return nil, errors.New("the mapping names a secret, and in a model for orders only " +
				"the model may: give the attribute southbound::secret(...) in the model, and " +
				"return it from the mapping")
		}
		r := reference{kind: secretKind, name: v.Source, version: v.Version}
		return m.doc.reference(r), nil
	case resource.Text:
		parts, err := m.forms(v.Parts)
		return map[string]any{string(textKind): parts}, err
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a number that a resource can have", v)
		}
		return v, nil
	case []any:
		return m.forms(v)
	case map[string]any:
		return m.formOfMap(v)
	case nil, bool, string, int64, *big.Int:
		return v, nil
	}
	return nil, fmt.Errorf("%T is not a value that a resource can have", v)
}

func (m *mapping) forms(list []any) (any, error) {
	out := make([]any, len(list))
	for i, item := range list {
		var err error
		if out[i], err = m.form(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// formOfMap converts a map. A map that could be mistaken for a form is marked as a literal.
func (m *mapping) formOfMap(v map[string]any) (any, error) {
	out := make(map[string]any, len(v))
	for key, item := range v {
		var err error
		if out[key], err = m.form(item); err != nil {
			return nil, err
		}
	}
	switch {
	case !looksLikeForm(v):
		return out, nil
	case known(v):
		return map[string]any{"value": v}, nil
	}
	return nil,
		errors.New("a map with the keys of a form of documents cannot hold values that are known " +
			"later: add another key to it, or rename one")
}

// known reports whether a value contains no value that becomes known later. Only such a value can
// be marked as a literal.
func known(v any) bool {
	switch v := v.(type) {
	case entity.Unknown, entity.Later, textParts, resource.File, resource.Parameter, resource.Fact,
		resource.Secret, resource.Text:
		return false
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !known(item) })
	case map[string]any:
		for _, item := range v {
			if !known(item) {
				return false
			}
		}
	}
	return true
}

// textParts is a text of parts in the form that mappings see.
type textParts []any

// ReferenceName implements entity.Later.
func (textParts) ReferenceName() string { return (*types.LaterText)(nil).ReferenceName() }

// node is an instance in the form that mappings see.
type node struct {
	m *mapping
	o *eval.Instance
}

// Kinds implements entity.Entity.
func (n node) Kinds() []string { return n.m.kindsOf(n.o.Type()) }

// Pos implements entity.Entity.
func (n node) Pos() diag.Pos { return n.o.Pos() }

// At implements entity.Entity.
func (n node) At(name string) diag.Pos {
	if n.o.Type().Attribute(name) == nil {
		return n.o.Pos()
	}
	return n.o.Place(name)
}

// Attribute implements entity.Entity.
func (n node) Attribute(name string) (any, error) {
	a := n.o.Type().Attribute(name)
	switch {
	case a == nil:
		return nil, n.lacks("attribute", name)
	case a.Relation != nil:
		return nil, fmt.Errorf("%s of %s is a relation: go on to one of its attributes", name,
			written(n.o.Type()))
	}
	v, ok := n.o.Value(name)
	if !ok {
		return nil, fmt.Errorf("%s of %s has no value", name, written(n.o.Type()))
	}
	out, err := n.plain(v)
	if u, is := out.(entity.Unknown); is && err == nil {
		return nil, u
	}
	return out, err
}

// Relation implements entity.Entity.
func (n node) Relation(name string) ([]entity.Entity, error) {
	if a := n.o.Type().Attribute(name); a == nil || a.Relation == nil {
		return nil, n.lacks("relation", name)
	}
	v, _ := n.o.Value(name)
	items := []types.Value{v}
	if list, ok := v.(*types.List); ok {
		items = list.Items
	}
	var out []entity.Entity
	for _, item := range items {
		switch item := item.(type) {
		case *eval.Instance:
			out = append(out, node{n.m, item})
		case *types.Unknown:
			return nil, entity.Unknown{Why: item.Why}
		}
	}
	return out, nil
}

// lacks returns the error for an attribute or a relation that does not exist.
func (n node) lacks(what, name string) error {
	var names []string
	for _, a := range n.o.Type().All() {
		if (a.Relation != nil) == (what == "relation") {
			names = append(names, a.Name)
		}
	}
	near := ""
	if nearest := schema.Nearest(name, names); nearest != "" {
		near = fmt.Sprintf("; it has %q", nearest)
	}
	return fmt.Errorf("%s has no %s %q%s", written(n.o.Type()), what, name, near)
}

// plain converts a value of the instance to the form that mappings see.
func (n node) plain(v types.Value) (any, error) {
	switch v := v.(type) {
	case types.Null, nil:
		return nil, nil // null is a valid value
	case bool, string, int64, *big.Int, float64, reference:
		return v, nil
	case *types.Unknown:
		u := entity.Unknown{Why: v.Why}
		if v.Of != nil && v.Of != types.Object(n.o) {
			u.Later = factNamed(v.Fact, v.Of)
		}
		return u, nil
	case *types.List:
		return n.plainAll(v.Items)
	case *types.LaterText:
		parts, err := n.plainAll(v.Parts)
		return textParts(parts), err
	case *types.Dict:
		out := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			var err error
			if out[k], err = n.plain(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if ref, ok := v.(std.Reference); ok {
		if r, ok := deployed(ref); ok {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s is not a value that a resource can have", types.Kind(v))
}

func (n node) plainAll(items []types.Value) ([]any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = n.plain(item); err != nil {
			return nil, err
		}
	}
	return out, nil
}
