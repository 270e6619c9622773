package version

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Base holds the resources of the version that an edit changes, by id; nil: the edit replaces the
// whole version.
type Base map[resource.ID]*resource.Resource

// Edit is the change that a request makes to a base version: see docs/design/engine.md. A resource
// of the base that is neither put nor dropped stays.
type Edit struct {
	// Put holds the resources that are added or replaced, with their places. They are valid, and
	// have the relations of their types among each other.
	Put *model.Model
	// Drop holds the resources that leave.
	Drop map[resource.ID]bool
	// Moved maps dropped resources to the resources that manage their things in the next version.
	Moved map[resource.ID]resource.ID
	// Agents are the agents of the next version.
	Agents []resource.Agent
	// Frozen means that the resources that stay get no requirements and no subscriptions.
	Frozen bool
}

// Next is the version that results from an edit.
type Next struct {
	// Model has the resources: first those that the edit puts, then those that stay, in order of
	// id.
	Model *model.Model
	// Put is the number of resources that the edit puts.
	Put int
	// Affected holds the resources that the edit puts or drops, and those that stay with other
	// requirements or subscriptions; nil: all.
	Affected map[resource.ID]bool
}

// Apply returns the version that results from an edit of base. The resources of base and of the edit
// are not changed. Without a base, the result is the model that the edit puts.
func Apply(c *model.Checker, base Base, e *Edit) *Next {
	n := len(e.Put.Resources)
	if base == nil {
		return &Next{Model: e.Put, Put: n}
	}
	put := make(map[resource.ID]int, len(e.Put.Resources))
	for i := range e.Put.Resources {
		put[e.Put.Resources[i].ID] = i
	}
	var stays []resource.ID
	for id := range base {
		if _, again := put[id]; !again && !e.Drop[id] {
			stays = append(stays, id)
		}
	}
	slices.Sort(stays)
	m := *e.Put
	m.Agents, m.Resources = e.Agents, slices.Grow(slices.Clone(e.Put.Resources), len(stays))
	m.Where = func(i int, attribute string) diag.Pos {
		if i < n {
			return e.Put.At(i, attribute)
		}
		return diag.Pos{}
	}
	for i := range m.Resources {
		m.Resources[i].Requires = slices.Clone(m.Resources[i].Requires)
	}
	for _, id := range stays {
		r := *base[id]
		r.Requires, r.Subscriptions = e.Requires(c, base, base[id]), e.moved(r.Subscriptions)
		put[id] = len(m.Resources)
		m.Resources = append(m.Resources, r)
	}
	e.relate(c, m.Resources, put)
	out := &Next{Model: &m, Put: n, Affected: maps.Clone(e.Drop)}
	if out.Affected == nil {
		out.Affected = map[resource.ID]bool{}
	}
	for i := range m.Resources {
		if r := &m.Resources[i]; i < n || !sameRelations(r, base[r.ID]) {
			out.Affected[r.ID] = true
		}
	}
	return out
}

// Requires returns the requirements of a resource of the base in the next version. A moved
// requirement has its new id. A requirement that follows from a type or a fact ends with the resource
// that it names. So does any requirement of a resource in the shared set, unless the edit is frozen. Any
// other requirement of a dropped resource stays: Check refuses it.
func (e *Edit) Requires(c *model.Checker, base Base, r *resource.Resource) []resource.ID {
	return slices.DeleteFunc(e.moved(r.Requires), func(id resource.ID) bool {
		return e.Drop[id] && base[id] != nil &&
			(r.Set == "" && !e.Frozen || c.RequiresByType(r, base[id]))
	})
}

// moved returns ids with the new ids of moved resources, without repetitions if there are any.
func (e *Edit) moved(ids []resource.ID) []resource.ID {
	out, changed := slices.Clone(ids), false
	for i, id := range out {
		if to, moved := e.Moved[id]; moved {
			out[i], changed = to, true
		}
	}
	if changed {
		slices.Sort(out)
		out = slices.Compact(out)
	}
	return out
}

// relate adds the relations between the resources of the next version. With a frozen edit, the
// resources that stay only become subscribed, and require the resources of the facts to which they
// refer: that is no part of their intents.
func (e *Edit) relate(c *model.Checker, all []resource.Resource, byID map[resource.ID]int) {
	n := len(e.Put.Resources)
	stays := slices.Clone(all[n:])
	for i := range stays {
		stays[i].Requires = slices.Clone(stays[i].Requires)
	}
	c.Relate(all, byID)
	if !e.Frozen {
		return
	}
	for i := range stays { // a fact is followed from the moment in which its resource exists
		for _, f := range stays[i].Facts() {
			if _, there := byID[f.Of]; there && !slices.Contains(stays[i].Requires, f.Of) {
				stays[i].Requires = append(stays[i].Requires, f.Of)
			}
		}
		slices.Sort(stays[i].Requires)
	}
	copy(all[n:], stays)
	for i := range all {
		for _, id := range all[i].Subscriptions {
			if j, there := byID[id]; there {
				all[j].Subscribed = true
			}
		}
	}
}

// sameRelations reports whether two descriptions of a resource have the same requirements and
// subscriptions.
func sameRelations(a, b *resource.Resource) bool {
	return slices.Equal(a.Requires, b.Requires) && a.Subscribed == b.Subscribed &&
		slices.Equal(a.Subscriptions, b.Subscriptions)
}

// Check returns the problems of the version that results from an edit: resources that manage the
// same thing, are not reached over the transport of their agent, require a resource that does not
// exist, or form a cycle. Two resources that stay are not compared again. Without a base, the
// validation of the model has found all problems.
func Check(c *model.Checker, next *Next, e *Edit) diag.Problems {
	m := next.Model
	if next.Affected == nil {
		return nil
	}
	problems := c.CheckThings(m.Resources, next.Put, model.TargetsOf(m.Agents, true), m.At)
	reach := *m
	if e.Frozen { // the resources that stay are reached as before
		reach.Resources = m.Resources[:next.Put]
	}
	problems = append(problems, c.CheckReach(&reach, true)...)
	left := e.left(m.Resources[next.Put:])
	if problems = append(problems, left...); len(left) == 0 {
		problems = append(problems, c.CheckThere(m.Resources, m.At)...)
	}
	return append(problems, c.CheckCycles(m.Resources, m.At)...)
}

// left returns a problem for each resource that stays in a frozen edit and requires a resource that
// leaves.
func (e *Edit) left(stays []resource.Resource) diag.Problems {
	var problems diag.Problems
	if !e.Frozen {
		return nil
	}
	for i := range stays {
		for _, id := range stays[i].Requires {
			if e.Drop[id] {
				problems.Add(diag.Problem{Resource: string(stays[i].ID),
					Hint: "target both, or apply everything",
					Message: fmt.Sprintf(
						"requires %s, which leaves; resources that require it are not targeted", id)})
			}
		}
	}
	return problems
}
