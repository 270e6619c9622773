package adopt

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// resource adds the resource of an object to the plan.
func (p *planner) resource(a *adopted) {
	needed := p.dependencies(a)
	linked := map[resource.ID]bool{}
	var variables []Variable
	x := a.extractor(func(at, text string) any {
		if out, found := outputOf(needed, text); found {
			linked[out.Of] = true
			return resource.Secret{Source: out.Source()}
		}
		parts := []string{a.object.Address.Type, a.label, at}
		if a.agent != a.provider.Name { // so that the names of two state files with two agents differ
			parts = append([]string{a.agent}, parts...)
		}
		name := unique(variable(parts...), p.variables)
		variables = append(variables, Variable{Name: name, ID: a.id, Attribute: a.place(at)})
		return resource.Secret{Source: "env:" + name}
	})
	config, optional := x.configuration(&a.schema.Block, a.state, a.configurable)
	r := Resource{Address: a.object.Name(), ID: a.id, Type: a.ty.Name, Agent: a.agent, Label: a.label,
		Attributes: map[string]any{}, Object: a.object, Outputs: map[string]any{}}
	for name, v := range config {
		r.Attributes[a.ty.Attributes[name]] = v
	}
	for _, name := range optional {
		r.Optional = append(r.Optional, a.ty.Attributes[name])
	}
	for name, v := range a.outputs {
		if here := a.ty.Outputs[name]; here != "" {
			r.Outputs[here] = v
		}
	}
	if a.object.CreateBeforeDestroy && a.ty.Ordered {
		r.Attributes["create_before_destroy"] = true
	}
	r.Requires, r.Notes = p.requires(a, needed, linked)
	r.Notes = append(r.Notes, a.notes()...)
	p.plan.Resources = append(p.plan.Resources, r)
	p.plan.Variables = append(p.plan.Variables, variables...)
}

// extractor returns the extractor of the configuration of an object. secret is that of the extractor.
func (a *adopted) extractor(secret func(at, text string) any) *extractor {
	x := &extractor{marked: map[string]bool{}, secret: secret}
	for _, path := range a.object.Sensitive {
		x.marked[path] = true
	}
	return x
}

// configurable reports whether documents may set an attribute or block of the schema.
func (a *adopted) configurable(name string) bool { return a.ty.Attributes[name] != "" }

// place returns a path within the attributes with the name of the attribute in documents.
func (a *adopted) place(at string) string {
	first, rest, deeper := strings.Cut(at, "/")
	if here := a.ty.Attributes[first]; here != "" {
		first = here
	}
	if deeper {
		return first + "/" + rest
	}
	return first
}

// notes returns what a person has to know about an object.
func (a *adopted) notes() []string {
	var out []string
	if a.object.Tainted {
		out = append(out, "it is tainted: the first apply replaces it")
	}
	if a.object.SkipDestroy {
		out = append(out, "set prevent_destroy to true: its lifecycle has destroy = false, and a purge or a "+
			"replacement deletes the object here")
	}
	var missing []string
	for i := range a.schema.Block.Attributes {
		at := &a.schema.Block.Attributes[i]
		version := at.Name + "_version"
		if !at.WriteOnly || a.ty.Attributes[at.Name] == "" {
			continue
		}
		if ty := a.state.Type(); at.Required || ty.HasAttribute(version) && !a.state.GetAttr(version).IsNull() {
			missing = append(missing, a.ty.Attributes[at.Name])
		}
	}
	if len(missing) > 0 {
		out = append(out, "set "+strings.Join(missing, " and ")+": no state has a write-only attribute")
	}
	return out
}

// minOutput is the length of the shortest text that is recognized as an output of another resource.
const minOutput = 8

// outputOf returns the only secret output among resources that has a text.
func outputOf(among []*adopted, text string) (resource.Output, bool) {
	var out resource.Output
	found := 0
	if len(text) < minOutput {
		return out, false
	}
	for _, a := range among {
		for _, name := range slices.Sorted(maps.Keys(a.outputs)) {
			if a.outputs[name] == text && a.ty.Outputs[name] != "" {
				out = resource.Output{Of: a.id, Path: resource.Path{a.ty.Outputs[name]}.String()}
				found++
			}
		}
	}
	return out, found == 1
}

// dependencies returns the adopted objects that an object may depend on. A state names resources
// without keys: all instances of a resource that are in the same instances of the modules that both are
// in. Of a resource with very many instances, these are the ones with the same key.
func (p *planner) dependencies(a *adopted) []*adopted {
	var out []*adopted
	own := a.object.Address.resource()
	for _, d := range a.object.Dependencies {
		if d.resource() == own {
			continue
		}
		group := p.at[d.resource()]
		if len(group) > maxGroup {
			group = p.keyed[d.resource()+a.object.Address.Key.String()]
		}
		for _, b := range group {
			if together(a.object.Address, b.object.Address) {
				out = append(out, b)
			}
		}
	}
	return out
}

// maxGroup bounds the instances of one resource that are compared with each dependent.
const maxGroup = 1000

// together reports whether two instances are in the same instance of each module that both are in.
func together(a, b Address) bool {
	for i := range min(len(a.Module), len(b.Module)) {
		if a.Module[i].Name != b.Module[i].Name {
			return true
		}
		if a.Module[i].Key != b.Module[i].Key {
			return false
		}
	}
	return true
}

// maxRequires bounds the instances of one resource that another one requires.
const maxRequires = 64

// requires returns the requirements of a resource: the nearest of the resources that its object depends
// on. Of a resource with several instances, these are the instances whose identifiers are in its
// attributes, unless they are many; else the instance with the same key, else all. linked are required by a reference.
func (p *planner) requires(
	a *adopted, needed []*adopted, linked map[resource.ID]bool,
) (out []resource.ID, notes []string) {
	var order []string
	groups := map[string][]*adopted{}
	for _, b := range needed {
		key := b.object.Address.resource()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], b)
	}
	own := a.object.Address.resource()
	for _, key := range order {
		if farther(key, own, groups) {
			continue
		}
		group := selected(a, groups[key])
		if len(group) > maxRequires {
			notes = append(notes, "it may depend on each instance of "+key+
				": add those that it requires to requires")
			continue
		}
		for _, b := range group {
			if !linked[b.id] {
				out = append(out, b.id)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out), notes
}

// farther reports whether another dependency depends on a resource, which then needs no requirement. A
// resource that depends on the dependent itself is left out: a state has no circles.
func farther(key, own string, groups map[string][]*adopted) bool {
	if groups[key][0].reaches[own] {
		return true
	}
	for other, group := range groups {
		if other != key && group[0].reaches[key] && !groups[key][0].reaches[other] {
			return true
		}
	}
	return false
}

// selected returns the instances among those of one resource that an object refers to.
func selected(a *adopted, group []*adopted) []*adopted {
	if len(group) == 1 {
		return group
	}
	has := map[string]bool{}
	for _, v := range a.compiled.Attributes(a.state) {
		texts(v, func(s string) { has[s] = true })
	}
	named := slices.DeleteFunc(slices.Clone(group), func(b *adopted) bool { return !has[b.key] || len(b.key) < 4 })
	if len(named) > 0 && len(named) <= maxRequires {
		return named
	}
	for _, b := range group {
		if b.object.Address.Key == a.object.Address.Key && a.object.Address.Key.Kind != NoKey {
			return []*adopted{b}
		}
	}
	return group
}
