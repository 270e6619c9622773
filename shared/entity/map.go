package entity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Mapped is what entities are as a model.
type Mapped struct {
	Model *model.Model
	// Ignored are the entities that are mapped and no resource, with the reason: what a Func has
	// said, or "not managed".
	Ignored []Left
}

// Left is an entity that is not a resource.
type Left struct {
	Entity Entity
	Reason string
}

// Map makes a model of entities, in their order. What is wrong with them is returned all at once,
// each with its place. A resource requires the resources that its entity's relation `requires`
// leads to; those that are no resource are passed through. What the model then lacks, and cycles,
// deploy finds, with the places of the entities.
func (m *Mapper) Map(entities []Entity) (Mapped, error) {
	r := &run{m: m, files: map[string]state.Blob{}, ids: map[Entity]resource.ID{}, agentOf: map[string]int{}}
	var out Mapped
	for _, e := range entities {
		if a, ok := m.agentOf(e); ok {
			r.agent(e, a)
		}
		if mapping := m.mappingOf(e); mapping != nil {
			r.resource(e, mapping)
		}
	}
	for i := range r.resources {
		r.resources[i].Requires = r.requires(r.from[i])
	}
	out.Ignored = r.ignored
	if err := r.problems.Err(); err != nil {
		return out, err
	}
	slices.SortFunc(r.agents, func(a, b resource.Agent) int { return cmp.Compare(a.Name, b.Name) })
	out.Model = &model.Model{Resources: r.resources, Agents: r.agents, Files: r.files, Where: r.where}
	return out, nil
}

// run is one call of Map.
type run struct {
	m         *Mapper
	files     map[string]state.Blob
	resources []resource.Resource
	from      []Entity // of resources
	ids       map[Entity]resource.ID
	agents    []resource.Agent
	agentAt   []diag.Pos
	agentOf   map[string]int
	ignored   []Left
	problems  diag.Problems
}

func blobOf(hash string, data []byte) state.Blob {
	return state.Blob{Hash: hash, Size: int64(len(data)), Data: slices.Clone(data)}
}

func (r *run) where(i int, attribute string) diag.Pos { return placeOf(r.from[i], attribute) }

// placeOf returns the place of an attribute of an entity, or of the entity.
func placeOf(e Entity, attribute string) diag.Pos {
	if p, ok := e.(Placer); ok && attribute != "" {
		return cmp.Or(p.At(attribute), e.Pos())
	}
	return e.Pos()
}

func (r *run) bad(e Entity, m *mapping, attribute, format string, args ...any) {
	from := attribute
	if m != nil {
		for _, f := range m.fields {
			if f.name == attribute && f.path != "" {
				from = f.path
			}
		}
	}
	r.problems.Add(diag.Problem{Pos: placeOf(e, from), Resource: kindOf(e), Attribute: attribute, Message: fmt.Sprintf(format, args...)})
}

// resource maps an entity.
func (r *run) resource(e Entity, m *mapping) {
	before := len(r.problems)
	out := resource.Resource{Type: m.Type, Attributes: map[string]any{}, Flags: resource.Flags{ReceiveEvents: true}}
	managed := true
	for _, name := range slices.Sorted(maps.Keys(m.flags)) {
		v, ok, err := lookup(e, m.flags[name])
		if err != nil {
			r.bad(e, m, "", "%s: %v", name, err)
		} else if ok && v != nil {
			if problem := flag(&out, &managed, name, v); problem != "" {
				r.bad(e, m, "", "%s", problem)
			}
		}
	}
	if !managed {
		r.ignored = append(r.ignored, Left{e, "not managed"})
		return
	}
	for i := range m.fields {
		var left *ignored
		if err := r.field(&out, e, &m.fields[i]); errors.As(err, &left) {
			r.ignored = append(r.ignored, Left{e, left.reason})
			r.problems = r.problems[:before]
			return
		} else if err != nil {
			r.bad(e, m, m.fields[i].name, "%v", err)
		}
	}
	out.Agent = r.agentName(e, m)
	if len(r.problems) > before {
		return
	}
	keys, unnamed := m.typ.Keys(out.Attributes)
	if keys == nil {
		r.bad(e, m, unnamed, "the attribute names the resource, and is %v", out.Attributes[unnamed])
		return
	}
	out.ID = resource.NewID(m.Type, out.Agent, keys...)
	r.ids[e] = out.ID
	r.resources, r.from = append(r.resources, out), append(r.from, e)
}

// field sets one attribute; what leads to nothing, and null, is left out.
func (r *run) field(out *resource.Resource, e Entity, f *field) error {
	var v any
	var err error
	if f.f != nil {
		v, err = f.f(&Context{files: r.files, e: e}, e)
	} else {
		v, _, err = lookup(e, f.path)
	}
	if err != nil || v == nil {
		return err
	}
	if v, err = resource.FromGo(v); err == nil {
		out.Attributes[f.name] = v
	}
	return err
}

// agentName follows the path to the agent.
func (r *run) agentName(e Entity, m *mapping) string {
	v, ok, err := lookup(e, m.Agent)
	name, isText := v.(string)
	switch {
	case err != nil:
		r.bad(e, m, "", "the agent: %v", err)
	case !ok:
		r.bad(e, m, "", "the agent: %s leads to nothing", m.Agent)
	case !isText || !resource.ValidAgent(name):
		r.bad(e, m, "", "the agent: %s is not a name of an agent", m.Agent)
	}
	return name
}

// requires returns the resources that come before an entity.
func (r *run) requires(e Entity) []resource.ID {
	var out []resource.ID
	seen := map[Entity]bool{e: true}
	next := []Entity{e}
	for len(next) > 0 {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		to, _ := at.Relation(Requires)
		for _, other := range to {
			if seen[other] && other != e {
				continue
			}
			seen[other] = true
			if id, ok := r.ids[other]; ok {
				out = append(out, id) // also the entity itself: that is a cycle, and deploy says so
				continue
			}
			next = append(next, other)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// agent maps an entity that is an agent.
func (r *run) agent(e Entity, a AgentMapping) {
	out := resource.Agent{Transport: "local", Lanes: 1, Options: map[string]any{}}
	before := len(r.problems)
	get := func(what, path string) any {
		if path == "" {
			return nil
		}
		v, _, err := lookup(e, path)
		if err == nil {
			v, err = resource.FromGo(v)
		}
		if err != nil {
			r.bad(e, nil, "", "%s: %v", what, err)
		}
		return v
	}
	out.Name, _ = get("the name of the agent", a.Name).(string)
	if v := get("the transport", a.Transport); v != nil {
		out.Transport, _ = v.(string)
	}
	lanes := int64(1)
	if v := get("the lanes", a.Lanes); v != nil {
		lanes, _ = v.(int64)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if v := get(name, a.Options[name]); v != nil {
			out.Options[name] = v
		}
	}
	out.Lanes = int(min(max(lanes, 0), 1<<20))
	switch {
	case len(r.problems) > before:
		return
	case !resource.ValidAgent(out.Name), out.Transport == "", out.Lanes < 1:
		r.bad(e, nil, "", "an agent has a name, a transport and one lane or more")
		return
	}
	if i, twice := r.agentOf[out.Name]; twice {
		known := r.agents[i]
		if known.Transport != out.Transport || known.Lanes != out.Lanes || !resource.Equal(known.Options, out.Options) {
			r.problems.Add(diag.Problem{Pos: e.Pos(), Resource: kindOf(e), Message: fmt.Sprintf("the agent %q is described differently elsewhere", out.Name),
				Related: diag.At(r.agentAt[i])})
		}
		return
	}
	r.agentOf[out.Name] = len(r.agents)
	r.agents, r.agentAt = append(r.agents, out), append(r.agentAt, e.Pos())
}
