package planner

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// edit is an export as an edit of a base version.
type edit struct {
	version.Edit
	targets  *targets                      // the resources that the export selects; nil: all
	base     state.Version                 // Number 0: the export replaces everything
	was      version.Base                  // the resources of base
	entries  map[resource.ID]version.Entry // their entries
	kept     kept
	problems diag.Problems // in addition to those that version.Check returns
}

// newEdit returns an edit of a base version, which has entries, that puts and drops nothing.
func newEdit(
	ctx context.Context, p *planning, base state.Version, entries map[resource.ID]version.Entry,
) (*edit, error) {
	e := &edit{base: base, entries: entries, was: make(version.Base, len(entries)),
		kept: kept{resources: map[resource.ID]bool{}, agents: map[string]bool{}}}
	e.Drop = map[resource.ID]bool{}
	resources, err := version.DecodeAll(slices.Collect(maps.Values(entries)))
	for _, r := range resources {
		e.was[r.ID] = r
	}
	if err != nil {
		return nil, err
	}
	return e, e.addFacts(ctx, p)
}

// readBase returns an edit of a stored version that puts and drops nothing.
func readBase(ctx context.Context, p *planning, base state.Version) (*edit, error) {
	entries, err := version.ReadChunks(ctx, p.pl.Files, base.Chunks)
	if err != nil {
		return nil, err
	}
	return newEdit(ctx, p, base, entries)
}

// addFacts gives the resources of the base the values of facts that their rows have, so that they are
// compared with other resources by the things that they manage.
func (e *edit) addFacts(ctx context.Context, p *planning) error {
	var ids []resource.ID
	for id, r := range e.was {
		if len(r.Facts()) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	rows, err := p.load(ctx, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		row, was := rows[id], e.was[id]
		if row == nil || row.Orphaned || row.Removing || row.Damaged() {
			continue
		}
		now, err := resource.Decode(row.Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read resource "+string(id), err)
		}
		was.Attributes = maps.Clone(was.Attributes)
		for name, v := range now.Followed {
			if resource.Equal(was.Attributes[name], v) {
				was.Attributes[name] = now.Attributes[name]
				if was.Followed == nil {
					was.Followed = map[string]any{}
				}
				was.Followed[name] = v
			}
		}
	}
	return nil
}

// indexOf returns the indexes of the resources of a model.
func indexOf(m *model.Model) map[resource.ID]int {
	out := make(map[resource.ID]int, len(m.Resources))
	for i := range m.Resources {
		out[m.Resources[i].ID] = i
	}
	return out
}

// apply returns the intents of the version that results from the edit, or its problems.
func (e *edit) apply(ctx context.Context, p *planning) (intents, error) {
	next := version.Apply(p.pl.Checker, e.was, &e.Edit)
	problems := append(e.problems, version.Check(p.pl.Checker, next, &e.Edit)...)
	if len(problems) > 0 {
		return intents{}, problems.Err()
	}
	e.kept.entry = e.entryOf(p.pl.Checker, next)
	set, err := p.resolver().resolveModel(ctx, next.Model, e.kept)
	set.resources = next.Model.Resources
	return set, err
}

// entryOf returns a function that returns the entry of a resource of the next version, if its intent
// is that of the base. Its requirements may differ.
func (e *edit) entryOf(
	c *model.Checker, next *version.Next,
) func(*resource.Resource, resource.Agent) (version.Entry, bool) {
	agents := make(map[string]resource.Agent, len(e.base.Agents))
	for _, a := range e.base.Agents {
		agents[a.Name] = a
	}
	return func(r *resource.Resource, now resource.Agent) (version.Entry, bool) {
		was, agent := e.was[r.ID], agents[r.Agent]
		if was == nil || !e.kept.resources[r.ID] ||
			!e.Frozen && !state.SameAgents([]resource.Agent{agent}, []resource.Agent{now}) ||
			c.Gathers(r) && !resource.Equal(was.Attributes, r.Attributes) {
			return version.Entry{}, false
		}
		en, err := e.entries[r.ID], error(nil)
		if next.Affected[r.ID] {
			en.Body, err = r.Written().Encode()
		}
		return en, err == nil
	}
}

// baseOf returns the version that a partial export is merged into; last is the last one. An export by
// an owner of sets is merged into the version in force: versions that are only stored do not
// concern it.
func baseOf(
	ctx context.Context, p *planning, x Export, last state.Version,
) (state.Version, error) {
	of := cmp.Or(p.env.Base, last.Number)
	if x.Owner {
		of = p.env.Released
	}
	if of == last.Number {
		return last, nil
	}
	return p.pl.Client.Version(ctx, p.was, of)
}

// withResources gives a model the resources of another one at some indexes, and returns it.
func withResources(m, from *model.Model, at []int) *model.Model {
	m.Resources = nil
	for _, i := range at {
		m.Resources = append(m.Resources, from.Resources[i])
	}
	m.Where = func(i int, attribute string) diag.Pos { return from.At(at[i], attribute) }
	return m
}
