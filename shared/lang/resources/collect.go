package resources

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Codes of problems with agents and resources.
const (
	CodeResource = "resource" // the instance cannot become a resource
	CodeRequires = "requires" // the required instance does not become a resource
)

// Set is the result of Collect.
type Set struct {
	Agents    []Entry
	Resources []Entry
	Warnings  diag.Problems
	Foreign   []Foreign // the entries of Resources that come from classes of modules
	// Files are the files that mappings have uploaded, by the paths in resources.
	Files map[string][]byte
	// Followed are the sorted ids of resources that instances of services follow in addition to
	// their own, by the ids of the instances.
	Followed map[string][]resource.ID
	// FollowedPurged are the resources of Followed that the model purges.
	FollowedPurged map[string][]resource.ID
}

// Options controls Collect.
type Options struct {
	Types  *schema.Registry
	Mapper *entity.Mapper          // may be nil
	Made   []python.Resource       // resources from classes of modules
	Path   func(abs string) string // returns the path in documents for the file at an absolute path
	// Purges reports whether all resources of a set are purged, regardless of the model. This is
	// the case if the set belongs to a service instance in a state that removes its resources. It
	// may be nil.
	Purges func(set string) bool
	// Ordered reports that values of the model come from orders. Mappings must then name no
	// secrets.
	Ordered bool
}

// Foreign is a resource that brings the code of its handler.
type Foreign struct {
	ID         resource.ID
	Key        string // the attribute with its name
	Type       string
	Attributes map[string]any // same as in its Entry
	Code       int            // index of the code of its handler in python.Export
}

// Entry is an agent or a resource, with its members in a document of format 1.
type Entry struct {
	Name    string // of an agent; empty for a resource
	Members map[string]any
	At      diag.Pos
	Places  map[string]diag.Pos // positions of members and attributes
}

// Collect returns the agents and resources of a model, each group in the order of the instances.
// The groups of resources are Southbound's own types, mappings, and classes of modules. If several
// of them apply to an instance, the first one wins. Problems are returned as diag.Problems.
func Collect(r *eval.Result, opts Options) (*Set, error) {
	doc := newDocument(opts)
	c := &collector{
		document: doc,
		mapping:  mapping{Mapper: opts.Mapper, doc: doc, kinds: map[*types.Entity][]string{}},
		sets:     map[*eval.Instance]*eval.Instance{},
		purges:   opts.Purges,
		out:      &Set{Followed: map[string][]resource.ID{}, FollowedPurged: map[string][]resource.ID{}},
	}
	for _, o := range r.Instances {
		c.set(o)
	}
	c.mapping.all(r.Instances)
	c.name(opts.Made)
	for _, o := range r.Instances {
		switch t := c.typeOf(o.Type()); {
		case t != nil:
			c.resource(o, t)
		case c.agents[o.Type()]:
			c.agent(o)
		}
	}
	c.addMapped()
	c.foreign(opts.Made)
	for _, o := range r.Instances {
		c.follow(o)
	}
	return c.out, c.problems.Err()
}

// collector collects the entries of a document.
type collector struct {
	*document
	mapping mapping
	sets    map[*eval.Instance]*eval.Instance // the set of each resource
	purges  func(set string) bool             // Options.Purges
	out     *Set
}

// lineage iterates over an entity and all entities that it extends, nearest first.
func lineage(e *types.Entity) iter.Seq[*types.Entity] {
	return func(yield func(*types.Entity) bool) {
		if !yield(e) {
			return
		}
		for _, a := range slices.Backward(e.Ancestors()) {
			if !yield(a) {
				return
			}
		}
	}
}

// set records the members of a resource set.
func (c *collector) set(o *eval.Instance) {
	in := func(e *types.Entity) bool { return e.FullName() == setEntity }
	if !in(o.Type()) && !slices.ContainsFunc(o.Type().Ancestors(), in) {
		return
	}
	for _, member := range instances(o, "resources") {
		if first := c.sets[member]; first != nil && first != o {
			c.problems.Add(diag.Problem{
				Pos: member.Pos(), Code: CodeResource,
				Message: "the resource belongs to two sets, " + said(first, "name") + " and " +
					said(o, "name"),
				Hint: "keep one of the two",
				Related: []diag.Related{
					{Pos: first.Pos(), Message: "a set"}, {Pos: o.Pos(), Message: "the other set"},
				},
			})
			continue
		}
		c.sets[member] = o
	}
}

// instances returns the instances in a relation to many.
func instances(o *eval.Instance, relation string) []*eval.Instance {
	v, _ := o.Value(relation)
	list, ok := v.(*types.List)
	if !ok {
		return nil
	}
	out := make([]*eval.Instance, 0, len(list.Items))
	for _, item := range list.Items {
		if i, ok := item.(*eval.Instance); ok {
			out = append(out, i)
		}
	}
	return out
}

// said formats the value of an attribute for messages.
func said(o *eval.Instance, name string) string {
	v, _ := o.Value(name)
	return types.Repr(v)
}

func (c *collector) agent(o *eval.Instance) {
	e := Entry{
		Name: c.text(o, "name", "an agent"), At: o.Pos(), Members: map[string]any{},
		Places: map[string]diag.Pos{},
	}
	e.Members["transport"] = c.text(o, "transport", "an agent")
	lanes, _ := o.Value("lanes")
	e.Members["lanes"] = c.value(o, "lanes", lanes)
	e.Places["transport"], e.Places["lanes"] = o.Place("transport"), o.Place("lanes")
	options, _ := o.Value("options")
	d, ok := options.(*types.Dict)
	if !ok {
		c.bad(o.Place("options"), "options", "write a dict of options",
			"the options of an agent are %s, and have to be known when the model is compiled",
			types.Kind(options))
		return
	}
	for _, k := range d.Keys() {
		if _, twice := e.Members[k]; twice {
			c.bad(o.Place("options"), "options", "set it as the attribute "+k+" of the agent",
				"%q is not an option of a transport", k)
			continue
		}
		v, _ := d.Get(k)
		e.Members[k] = c.value(o, "options", v)
		e.Places[k] = o.Place("options")
	}
	c.out.Agents = append(c.out.Agents, e)
}

// flag is a bool member of resources, with its default.
type flag struct {
	name    string
	initial bool
}

func flags() []flag {
	return []flag{
		{"purged", false},
		{"purge_on_delete", false},
		{"prevent_destroy", false},
		{"report_only", false},
		{"send_event", false},
		{"receive_events", true},
		{"managed", true},
	}
}

func (c *collector) resource(o *eval.Instance, t *schema.Compiled) {
	e := Entry{
		At: o.Pos(), Places: map[string]diag.Pos{},
		Members: map[string]any{
			"type": t.Name, "agent": c.agentOf(o), "attributes": c.attributes(o, t),
		},
	}
	e.Places["agent"] = o.Place("agent")
	for _, f := range flags() {
		v, _ := o.Value(f.name)
		b, ok := v.(bool)
		if !ok {
			c.bad(o.Place(f.name), f.name, "", "%s of a resource is %s, and has to be known when "+
				"the model is compiled", f.name, types.Kind(v))
			continue
		}
		if f.name == "managed" && !b {
			return
		}
		if e.Places[f.name] = o.Place(f.name); b != f.initial {
			e.Members[f.name] = b
		}
	}
	if set := c.sets[o]; set != nil {
		e.Members["set"], e.Places["set"] = c.text(set, "name", "a set"), set.Pos()
	}
	c.purge(&e)
	for _, a := range settable(t) {
		e.Places[a.Name] = o.Place(member(a.Name))
	}
	if ids := c.requires(o); len(ids) > 0 {
		e.Members["requires"], e.Places["requires"] = ids, o.Place("requires")
	}
	c.out.Resources = append(c.out.Resources, e)
}

// purge purges a resource whose set is purged. It skips report-only resources, because they are
// never changed.
func (c *collector) purge(e *Entry) {
	set, _ := e.Members["set"].(string)
	reported, _ := e.Members["report_only"].(bool)
	if set != "" && !reported && c.purges != nil && c.purges(set) {
		e.Members["purged"] = true
	}
}

// attributes returns the attributes of a resource that have a value.
func (c *collector) attributes(o *eval.Instance, t *schema.Compiled) map[string]any {
	out := map[string]any{}
	for _, a := range settable(t) {
		name := member(a.Name)
		v, ok := o.Value(name)
		if _, null := v.(types.Null); !ok || null && !a.Required() {
			continue
		}
		if a.Behaviour == schema.Namevar {
			switch v.(type) {
			case *types.Unknown, types.Reference:
				c.bad(o.Place(name), a.Name, "compute it from known values",
					"identifying attributes must be known when the model is compiled, and "+
						"this is %s", types.Kind(v))
				continue
			}
		}
		out[a.Name] = c.value(o, name, v)
	}
	return out
}

// requires returns the sorted ids of the resources that a resource requires.
func (c *collector) requires(o *eval.Instance) []any {
	var ids []string
	for _, r := range instances(o, "requires") {
		switch id := c.id(r); {
		case id != "":
			ids = append(ids, string(id))
		case !c.ours(r):
			c.out.Warnings.Add(diag.Problem{
				Pos: o.Pos(), Code: CodeRequires,
				Message: fmt.Sprintf("the resource requires an instance of %s, which does not "+
					"become a resource, so that this has no effect", written(r.Type())),
				Hint:    "require the resources that its implementations make",
				Related: []diag.Related{{Pos: r.Pos(), Message: "it is made here"}},
			})
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	out := make([]any, len(ids))
	for i, id := range ids {
		out[i] = id
	}
	return out
}

// written returns the name of an entity as models write it.
func written(e *types.Entity) string {
	return strings.TrimPrefix(e.FullName(), eval.Main+"::")
}
