package resources

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// document converts instances and values of a model to their form in a document. It decides which
// instances become resources, and with which ids.
type document struct {
	registry *schema.Registry
	path     func(abs string) string            // returns the path in documents for an absolute path
	ordered  bool                               // Options.Ordered
	types    map[*types.Entity]*schema.Compiled // nil: instances are not resources
	agents   map[*types.Entity]bool
	mapped   map[*eval.Instance]bool      // mapped by the program, possibly to no resource
	ids      map[types.Object]resource.ID // "" if the instance has no id
	problems diag.Problems
}

func newDocument(opts Options) *document {
	return &document{
		registry: opts.Types, path: opts.Path, ordered: opts.Ordered, types: map[*types.Entity]*schema.Compiled{},
		agents: map[*types.Entity]bool{}, mapped: map[*eval.Instance]bool{},
		ids: map[types.Object]resource.ID{},
	}
}

// typeOf returns the type of the resources that instances of an entity become; nil if they become
// none.
func (d *document) typeOf(e *types.Entity) *schema.Compiled {
	t, known := d.types[e]
	if known {
		return t
	}
	for a := range lineage(e) {
		name, ours := strings.CutPrefix(a.FullName(), Namespace+"::")
		if !ours {
			continue
		}
		d.agents[e] = d.agents[e] || a.FullName() == agentEntity
		if found, ok := d.registry.Type(name); ok && t == nil {
			t = found
		}
	}
	d.types[e] = t
	return t
}

// ours reports whether an instance has one of Southbound's own types, or is mapped by the program.
// Both take precedence over a class of a module.
func (d *document) ours(o *eval.Instance) bool {
	return d.typeOf(o.Type()) != nil || d.mapped[o]
}

// agentOf returns the name of the agent of a resource.
func (d *document) agentOf(o *eval.Instance) string {
	v, _ := o.Value("agent")
	agent, ok := v.(*eval.Instance)
	if !ok {
		return ""
	}
	v, _ = agent.Value("name")
	name, _ := v.(string) // if the name is not a string, the agent's own entry reports it
	return name
}

// id returns the id of the resource that an instance becomes. It returns "" if the instance becomes
// none, or if invalid attributes leave the resource without an id.
func (d *document) id(o *eval.Instance) resource.ID {
	if id, ok := d.ids[o]; ok {
		return id
	}
	t := d.typeOf(o.Type())
	if t == nil {
		return ""
	}
	given := map[string]any{}
	for _, name := range t.Namevars() {
		switch v, _ := o.Value(member(name)); v.(type) {
		case nil, *types.Unknown, types.Reference:
		default:
			given[name] = d.value(o, member(name), v)
		}
	}
	id := resource.ID("")
	agent := d.agentOf(o)
	if keys, unnamed := t.Keys(given); unnamed == "" && agent != "" {
		id = resource.NewID(t.Name, agent, keys...)
	}
	d.ids[o] = id
	return id
}

// name records the ids of resources that classes of modules have made, so that other resources can
// require their instances.
func (d *document) name(more []python.Resource) {
	for i := range more {
		if r := &more[i]; !d.ours(r.Instance) {
			d.ids[r.Instance] = d.idOf(r)
		}
	}
}

// idOf returns the id of a resource that a class of a module has made. An instance has several
// resources if an entity that it extends also has a class. A resource that requires the instance
// then requires the last of them.
func (d *document) idOf(r *python.Resource) resource.ID {
	if d.ours(r.Instance) {
		return d.id(r.Instance)
	}
	return resource.NewID(r.Type, r.Agent, resource.Key{Name: r.Key, Value: r.Value})
}

// text returns a string attribute, and reports a problem if it is not known at compile time.
func (d *document) text(o *eval.Instance, name, what string) string {
	v, _ := o.Value(name)
	s, ok := v.(string)
	if !ok {
		d.bad(o.Place(name), name, "write it, or compute it from known values",
			"%s of %s is %s, and has to be known when the model is compiled", name, what,
			types.Kind(v))
	}
	return s
}

func (d *document) bad(at diag.Pos, attribute, hint, format string, args ...any) {
	d.problems.Add(diag.Problem{
		Pos: at, Code: CodeResource, Attribute: attribute, Hint: hint,
		Message: fmt.Sprintf(format, args...),
	})
}
