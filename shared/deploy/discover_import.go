package deploy

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// takeImported converts a thing that an importer has described into a resource. References stand for
// its hidden values. A person completes a resource that is not valid, so it is not left out.
func (d *discoverer) takeImported(f provider.Found) {
	attrs, hidden := map[string]any{}, map[string]any{}
	for i := range d.typ.Attributes {
		a, _ := d.typ.Attribute(d.typ.Attributes[i].Name)
		raw := f.Attributes[a.Name]
		if raw == nil || a.Behaviour == schema.ReadOnly {
			continue
		}
		shown, has := withoutHidden(raw, nil, func([]string) any { return "" })
		v, err := resource.FromGo(shown)
		if err != nil || a.Behaviour != schema.Namevar && resource.Equal(v, a.Default) {
			continue
		}
		if len(resource.References(v)) > 0 {
			d.leave(f, a.Name+": the value contains a reference, which could name a secret of another machine")
			return
		}
		if attrs[a.Name] = v; has {
			hidden[a.Name] = raw
		}
	}
	id, ok := model.FoundID(d.typ, d.agent.Name, attrs)
	if !ok {
		d.leave(f, "it has no name that a resource can have")
		return
	}
	notes := slices.Clone(f.Notes)
	var names, sources []string
	for _, name := range slices.Sorted(maps.Keys(hidden)) {
		v, _ := withoutHidden(hidden[name], []string{name}, func(path []string) any {
			source := "env:" + variable(string(id)+"_"+strings.Join(path, "_"))
			names, sources = append(names, strings.Join(path, "/")), append(sources, source)
			return resource.Secret{Source: source}
		})
		attrs[name], _ = resource.FromGo(v)
	}
	if len(names) > 0 {
		notes = append(notes, "the value of "+strings.Join(names, ", ")+" is secret: set "+
			strings.Join(sources, ", ")+" to it, or write its source in the document")
	}
	if note := d.standIns(id, attrs); note != "" {
		notes = append(notes, note)
	}
	_, problems := d.typ.Check(attrs)
	for _, p := range problems {
		notes = append(notes, "complete it: "+p.Attribute+": "+p.Message)
	}
	d.out.Resources = append(d.out.Resources, resource.Resource{ID: id, Type: d.typ.Name,
		Agent: d.agent.Name, Attributes: attrs, Flags: resource.Flags{ReceiveEvents: true}})
	if len(notes) > 0 {
		d.out.Notes[id] = strings.Join(notes, "; ")
	}
}

// leave records that no resource describes a thing.
func (d *discoverer) leave(f provider.Found, why string) {
	id, ok := model.FoundID(d.typ, d.agent.Name, f.Attributes)
	if !ok {
		id = resource.NewID(d.typ.Name, d.agent.Name)
	}
	d.out.LeftOut = append(d.out.LeftOut, LeftOut{ID: id, Why: why})
}

// withoutHidden returns a value with others in the places of its hidden values, and whether it has any.
// at is the path of v.
func withoutHidden(v any, at []string, by func(path []string) any) (out any, has bool) {
	at = slices.Clip(at)
	switch v := v.(type) {
	case provider.Hidden:
		return by(at), true
	case map[string]any:
		all := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			e, hidden := withoutHidden(v[name], append(at, name), by)
			all[name], has = e, has || hidden
		}
		return all, has
	case []any:
		all := make([]any, len(v))
		for i, e := range v {
			e, hidden := withoutHidden(e, append(at, strconv.Itoa(i)), by)
			all[i], has = e, has || hidden
		}
		return all, has
	}
	return v, false
}
