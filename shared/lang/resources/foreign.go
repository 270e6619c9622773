package resources

import (
	"slices"
	"strconv"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// foreign adds the resources that classes of modules have made. The document does not describe
// their agents, because their handlers run on this machine.
func (c *collector) foreign(more []python.Resource) {
	ids := map[string]resource.ID{}
	for i := range more {
		ids[more[i].ID] = c.idOf(&more[i])
	}
	ours := map[any]bool{} // types of the resources that were added before
	for _, e := range c.out.Resources {
		ours[e.Members["type"]] = true
	}
	for i := range more {
		r := &more[i]
		if c.ours(r.Instance) {
			continue
		}
		if ours[r.Type] { // the name would be ambiguous
			c.bad(r.Instance.Pos(), "", "use one of the two in a model",
				"%s of a module and southbound::%s have the same name", r.Type, r.Type)
		}
		e := c.made(r, ids)
		c.out.Resources = append(c.out.Resources, e)
		attributes, _ := e.Members["attributes"].(map[string]any)
		c.out.Foreign = append(c.out.Foreign, Foreign{
			ID: ids[r.ID], Key: r.Key, Type: r.Type, Attributes: attributes, Code: r.Code,
		})
	}
}

// made returns the entry of a resource that a class of a module has made.
func (c *collector) made(r *python.Resource, ids map[string]resource.ID) Entry {
	o := r.Instance
	attributes := map[string]any{}
	e := Entry{
		At: o.Pos(), Places: map[string]diag.Pos{},
		Members: map[string]any{"type": r.Type, "agent": r.Agent, "attributes": attributes},
	}
	for _, name := range r.Fields.Keys() {
		v, _ := r.Fields.Get(name)
		if o.Type().Attribute(name) != nil {
			e.Places[name] = o.Place(name)
		}
		if normal, is := initial(name); is {
			c.flag(&e, name, v, normal)
			continue
		}
		if list, ok := v.(*types.List); ok && len(list.Items) == 0 &&
			(name == "references" || name == "mutators") {
			continue
		}
		if _, null := v.(types.Null); !null {
			attributes[name] = c.value(o, name, v)
		}
	}
	if facts := factsOf(r, ids); len(facts) > 0 {
		attributes[model.FactsAttribute] = facts
	}
	if n, whole := attributes[r.Key].(int64); !whole || strconv.FormatInt(n, 10) != r.Value {
		attributes[r.Key] = r.Value
	}
	if r.Set != "" {
		e.Members["set"] = r.Set
	}
	if _, has := r.Fields.Get("purged"); has { // handlers of other classes cannot purge
		c.purge(&e)
	}
	if requires := c.required(r, ids); len(requires) > 0 {
		e.Members["requires"] = requires
	}
	return e
}

// initial returns the default of a bool member of resources; is is false for other names.
func initial(name string) (value, is bool) {
	for _, f := range flags() {
		if f.name == name {
			return f.initial, true
		}
	}
	return false, false
}

// factsOf returns the facts of other resources that the references of a resource use. The code of a
// reference reads them from here, because there is no server that it could query.
func factsOf(r *python.Resource, ids map[string]resource.ID) []any {
	var out []any
	references, _ := r.Fields.Get("references")
	list, _ := references.(*types.List)
	if list == nil {
		return nil
	}
	for _, item := range list.Items {
		ref, _ := item.(*types.Dict)
		if ref == nil || textOf(ref, "type") != factReference {
			continue
		}
		args, _ := ref.Get("args")
		given := map[string]string{}
		if args, is := args.(*types.List); is {
			for _, a := range args.Items {
				if a, is := a.(*types.Dict); is {
					given[textOf(a, "name")] = textOf(a, "value")
				}
			}
		}
		of, name := given["resource_id"], given["fact_name"]
		if id := ids[of]; id != "" && of != r.ID {
			out = append(out, map[string]any{"resource": of, "name": name,
				"value": map[string]any{string(factKind): resource.Path{name}.String(), "of": string(id)}})
		}
	}
	return out
}

// factReference is the class of std for references to facts.
const factReference = "std::FactReference"

func textOf(d *types.Dict, key string) string {
	v, _ := d.Get(key)
	text, _ := v.(string)
	return text
}

// flag sets a bool member of a resource.
func (c *collector) flag(e *Entry, name string, v types.Value, fallback bool) {
	b, ok := v.(bool)
	switch {
	case !ok:
		c.bad(e.At, name, "compute it from known values",
			"%s of a resource is %s, and has to be true or false", name, types.Kind(v))
	case b != fallback && name != "managed": // classes export only managed resources
		e.Members[name] = b
	}
}

// required returns the sorted ids of the resources that a resource requires. They come from its
// class, from dependency managers, and from required instances of Southbound's own types.
func (c *collector) required(r *python.Resource, ids map[string]resource.ID) []any {
	var names []string
	for _, id := range r.Requires {
		names = append(names, string(ids[id]))
	}
	for _, o := range instances(r.Instance, "requires") {
		if c.ours(o) {
			names = append(names, string(c.id(o)))
		}
	}
	slices.Sort(names)
	names = slices.Compact(slices.DeleteFunc(names, func(n string) bool { return n == "" }))
	out := make([]any, len(names))
	for i, n := range names {
		out[i] = n
	}
	return out
}
