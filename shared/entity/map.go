package entity

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Mapped is the result of a mapping.
type Mapped struct {
	Resources []Resource        // in the order of the entities
	Files     map[string][]byte // uploaded contents by hash
	// Ignored are the mapped entities that do not become resources, with the reason: that of a
	// Func, or "not managed".
	Ignored []Left
}

// Resource is the resource of an entity.
type Resource struct {
	Entity Entity
	// ID is "" if an identifying attribute is missing or invalid.
	ID         resource.ID
	Type       string
	Agent      string
	Attributes map[string]any  // values, which may contain Unknown and Later
	Flags      map[string]bool // the flags that the mapping defines
	// Places are the places of attributes, of flags and of the agent, by their names.
	Places map[string]diag.Pos
}

// Left is an entity that does not become a resource.
type Left struct {
	Entity Entity
	Reason string
}

// Map maps all entities that have a mapping to resources. It returns all errors together as
// diag.Problems with places. It does not check values against attribute types, which the reader of
// the resources does.
func (m *Mapper) Map(entities []Entity) (Mapped, error) {
	r := &run{out: Mapped{Files: map[string][]byte{}}}
	for _, e := range entities {
		if mapping := m.of(e.Kinds()); mapping != nil {
			r.entity(e, mapping)
		}
	}
	return r.out, r.problems.Err()
}

// run is one call of Map.
type run struct {
	out      Mapped
	problems diag.Problems
}

// entity maps an entity. An ignored entity has no problems.
func (r *run) entity(e Entity, m *mapping) {
	o := &one{
		mapping: m, files: map[string][]byte{},
		out: Resource{
			Entity: e, Type: m.Type, Attributes: map[string]any{}, Flags: map[string]bool{},
			Places: map[string]diag.Pos{},
		},
	}
	var left *ignored
	if err := o.fill(); errors.As(err, &left) {
		r.out.Ignored = append(r.out.Ignored, Left{e, left.reason})
		return
	}
	for i := range o.problems {
		r.problems.Add(o.problems[i])
	}
	r.out.Resources = append(r.out.Resources, o.out)
	maps.Copy(r.out.Files, o.files)
}

// one maps one entity.
type one struct {
	*mapping
	out      Resource
	files    map[string][]byte
	problems diag.Problems
}

func (o *one) bad(at diag.Pos, attribute, hint, format string, args ...any) {
	o.problems.Add(diag.Problem{
		Pos: at, Resource: kindOf(o.out.Entity), Attribute: attribute, Hint: hint,
		Message: fmt.Sprintf(format, args...),
	})
}

// fill sets the fields of the resource. Its only errors are from Ignored.
func (o *one) fill() error {
	for _, name := range slices.Sorted(maps.Keys(o.flags)) {
		if is := o.flag(name); name == managed && !is {
			return Ignored("not managed")
		}
	}
	for i := range o.fields {
		if err := o.attribute(&o.fields[i]); err != nil {
			return err
		}
	}
	if o.out.Agent = o.agent(); o.out.Agent == "" {
		return nil
	}
	if keys, unnamed := o.typ.Keys(o.out.Attributes); unnamed == "" {
		o.out.ID = resource.NewID(o.Type, o.out.Agent, keys...)
	}
	return nil
}

// flag sets a flag, and returns its value. A flag without a value is not set, and flag returns
// true.
func (o *one) flag(name string) bool {
	got, err := lookup(o.out.Entity, o.flags[name])
	o.out.Places[name] = got.at
	is, isBool := got.value.(bool)
	var unknown Unknown
	switch {
	case errors.As(err, &unknown):
		o.bad(got.at, name, "compute it from known values",
			"it has to be known when the model is compiled: %s", unknown.Why)
	case err != nil:
		o.bad(got.at, name, "", "%v", err)
	case !got.ok || got.value == nil:
	case !isBool:
		o.bad(got.at, name, "", "it has to be true or false when the model is compiled")
	default:
		o.out.Flags[name] = is
		return is
	}
	return true
}

// attribute sets one attribute. It omits null, and paths without a value. Its only errors are from
// Ignored.
func (o *one) attribute(f *field) error {
	got, err := o.value(f)
	o.out.Places[f.name] = got.at
	var unknown Unknown
	switch {
	case IsIgnored(err):
		return err
	case errors.As(err, &unknown):
		if f.f != nil {
			unknown.Later = nil // a function computes another value from it
		}
		got.value = unknown
	case err != nil:
		o.bad(got.at, f.name, "", "%v", err)
		return nil
	case got.value == nil:
		return nil
	}
	v, err := normal(got.value, 0)
	_, isUnknown := v.(Unknown)
	_, isLater := v.(Later)
	switch {
	case err != nil:
		o.bad(got.at, f.name, "", "%v", err)
	case (isUnknown || isLater) && slices.Contains(o.typ.Namevars(), f.name):
		o.bad(got.at, f.name, "compute it from known values",
			"identifying attributes must be known when the model is compiled")
	default:
		o.out.Attributes[f.name] = v
	}
	return nil
}

// value returns the value of a field.
func (o *one) value(f *field) (found, error) {
	if f.f == nil {
		return lookup(o.out.Entity, f.path)
	}
	e := o.out.Entity
	v, err := call(f.f, &Context{e: e, files: o.files}, e)
	return found{value: v, at: e.At(f.name), ok: err == nil}, err
}

// call calls a function of a mapping. It converts a panic to an error, which is then reported at
// the place of the entity.
func call(f Func, ctx *Context, e Entity) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, fmt.Errorf("the function of the mapping has panicked: %v", p)
		}
	}()
	return f(ctx, e)
}

// agent follows the path to the name of the agent; "" if that is invalid.
func (o *one) agent() string {
	got, err := lookup(o.out.Entity, o.Agent)
	o.out.Places["agent"] = got.at
	name, isText := got.value.(string)
	var unknown Unknown
	switch {
	case errors.As(err, &unknown):
		o.bad(got.at, "agent", "compute it from known values",
			"the agent has to be known when the model is compiled: %s", unknown.Why)
	case err != nil:
		o.bad(got.at, "agent", "", "%v", err)
	case !got.ok:
		o.bad(got.at, "agent", "", "%s leads to nothing, so there is no agent", o.Agent)
	case !isText || !resource.ValidAgent(name):
		o.bad(got.at, "agent", "", "%s is not a name of an agent", o.Agent)
	default:
		return name
	}
	return ""
}

// normal converts a Go value to a resource value, which may contain Unknown and Later.
func normal(v any, depth int) (any, error) {
	if depth > resource.MaxDepth {
		return nil, fmt.Errorf("the value is nested deeper than %d", resource.MaxDepth)
	}
	var err error
	switch v := v.(type) {
	case Unknown, Later:
		return v, nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if out[i], err = normal(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			if out[key], err = normal(item, depth+1); err != nil {
				return nil, err
			}
		}
		return out, nil
	case error:
		return nil, v
	}
	return resource.FromGo(v)
}
