package orders

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// named is an instance that an order creates.
type named struct{ id, service string }

// names are the instances that an order creates, by their names in the order and by their ids.
type names map[string]named

// resolver replaces names of instances by their ids.
type resolver struct {
	s        *core
	ctx      context.Context // of the request that the resolver serves
	env      string
	names    names
	root     string // the JSON pointer to the attributes; "": there is none
	problems diag.Problems
	failed   error // a fault of a store
}

// resolved returns attributes with ids instead of names of instances. Its error is diag.Problems
// with the unknown names, which stay in the attributes. root is the JSON pointer to the attributes in
// the body of a request, or "".
func (s *core) resolved(
	ctx context.Context, env string, d *definition.Service, given map[string]any, names names,
	root string,
) (map[string]any, error) {
	r := &resolver{s: s, ctx: ctx, env: env, names: names, root: root}
	out := r.part(&d.Part, nil, given)
	if r.failed != nil {
		return nil, r.failed
	}
	return out, r.problems.Err()
}

// edited returns the value of an edit with ids instead of names of instances.
func (s *core) edited(
	ctx context.Context, env string, d *definition.Service, e inventory.Edit, names names,
) (any, diag.Problems, error) {
	path, err := inventory.ParsePath(e.Target)
	if err != nil || e.Value == nil {
		return e.Value, nil, nil // inventory checks the edit
	}
	r := &resolver{s: s, ctx: ctx, env: env, names: names}
	part, out := &d.Part, e.Value
	for i, step := range path {
		if rel := relation(part, step.Name); rel != nil && i == len(path)-1 {
			out = r.value(rel, path, e.Value)
		}
		sub := embedded(part, step.Name)
		if sub == nil {
			break
		}
		if i == len(path)-1 {
			out = r.members(sub, path, e.Value)
		}
		part = &sub.Part
	}
	return out, r.problems, r.failed
}

func relation(p *definition.Part, name string) *definition.Relation {
	for i := range p.Relations {
		if p.Relations[i].Name == name {
			return &p.Relations[i]
		}
	}
	return nil
}

func embedded(p *definition.Part, name string) *definition.Embedded {
	for i := range p.Embedded {
		if p.Embedded[i].Name == name {
			return &p.Embedded[i]
		}
	}
	return nil
}

// part resolves the relations of a part.
func (r *resolver) part(
	p *definition.Part, at inventory.Path, given map[string]any,
) map[string]any {
	out := maps.Clone(given)
	for i := range p.Relations {
		rel := &p.Relations[i]
		if v, has := given[rel.Name]; has {
			out[rel.Name] = r.value(rel, in(at, rel.Name, nil), v)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if v, has := given[e.Name]; has {
			out[e.Name] = r.members(e, in(at, e.Name, nil), v)
		}
	}
	return out
}

// in returns a path extended by a step.
func in(at inventory.Path, name string, keys []inventory.Key) inventory.Path {
	return append(slices.Clip(at), inventory.Step{Name: name, Keys: keys})
}

// members resolves the relations of members.
func (r *resolver) members(e *definition.Embedded, at inventory.Path, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return r.part(&e.Part, at, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			m, ok := v[i].(map[string]any)
			if !ok {
				out[i] = v[i]
				continue
			}
			var keys []inventory.Key
			for _, k := range e.KeyAttributes {
				keys = append(keys, inventory.Key{Name: k, Value: inventory.Text(m[k])})
			}
			out[i] = r.part(&e.Part, at[:len(at)-1].To(
				inventory.Step{Name: e.Name, Keys: keys, Item: i + 1}), m)
		}
		return out
	}
	return v
}

// value resolves the value of a relation. inventory rejects values that are not strings.
func (r *resolver) value(rel *definition.Relation, at inventory.Path, v any) any {
	switch v := v.(type) {
	case string:
		return r.one(rel, at, v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = v[i]
			if s, ok := v[i].(string); ok {
				out[i] = r.one(rel, at.Item(i), s)
			}
		}
		return out
	}
	return v
}

// one returns the id for a name of an instance: a name in the order, an identity, or an id.
func (r *resolver) one(rel *definition.Relation, at inventory.Path, name string) string {
	n, ours := r.names[name]
	if !ours {
		ref := Ref{ID: name}
		if strings.Contains(name, "=") {
			ref.Service = rel.Service
		}
		record, err := r.s.record(r.ctx, r.env, ref)
		if err != nil {
			r.lost(rel, at, name, err)
			return name
		}
		n = named{record.ID, record.Service}
	}
	if n.service != rel.Service {
		r.wrong(at, "give one of "+rel.Service, "%s is an instance of %s", name, n.service)
	}
	return n.id
}

func (r *resolver) wrong(at inventory.Path, hint, format string, args ...any) {
	p := diag.Problem{
		Attribute: at.String(), Code: inventory.CodeValue, Hint: hint,
		Message: fmt.Sprintf(format, args...),
	}
	if r.root != "" {
		p.Pointer = at.Pointer(r.root)
	}
	r.problems.Add(p)
}

// lost records a problem with an unknown name, or a fault of the store.
func (r *resolver) lost(rel *definition.Relation, at inventory.Path, name string, err error) {
	switch fault.KindOf(err) {
	case fault.NotFound:
		r.wrong(at, "give the id of one, or identity=VALUE", "there is no instance %q of %s",
			name, rel.Service)
	case fault.Invalid:
		r.wrong(at, fault.HintOf(err), "%v", err)
	default:
		if r.failed == nil {
			r.failed = err
		}
	}
}
