package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Stored rows: if a value becomes known or changes, the rows that refer to it get it.

// applyKnownValues resolves the references of undefined rows again, and those of the dependants of
// resources whose facts have changed: of rows that refer to one of some parameters and facts (nil:
// of all). The changed id "" stands for parameters. It schedules rows that no longer lack a value,
// and rows that get another value.
func applyKnownValues(
	ctx context.Context, p *planning, changed []resource.ID, about map[state.ParameterKey]bool,
) error {
	graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return err
	}
	agents, err := p.pl.State.Agents(ctx, p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	open := &openRows{of: map[resource.ID]*resource.Resource{}, about: about}
	if err := eachOf(ctx, p, state.StatusUndefined, func(row *state.Row) error {
		return open.add(p.planned(row))
	}); err != nil {
		return err
	}
	if err := addDependants(ctx, p, graph, changed, open); err != nil {
		return err
	}
	known, err := p.resolver().lookup(ctx, open.refs)
	if err != nil {
		return err
	}
	known.pinned = true
	for _, row := range open.rows {
		if err := resolveRow(ctx, p, row, open.of[row.ID], agents[row.ID.Agent()].Agent,
			known); err != nil {
			return err
		}
	}
	var blocked []resource.ID
	if about == nil && slices.Contains(changed, "") {
		// an interrupted request may have written a row, and not the rows that it blocks
		err = eachOf(ctx, p, state.StatusBlocked, func(row *state.Row) error {
			blocked = append(blocked, row.ID)
			return nil
		})
	}
	if err == nil {
		err = p.spreadBlocks(ctx, graph, blocked)
	}
	if err != nil {
		return err
	}
	p.orderBy(graph)
	return nil
}

// openRows are rows whose references are to be resolved again.
type openRows struct {
	rows []*state.Row
	of   map[resource.ID]*resource.Resource // their resources, as a version has them
	refs []any
	// about are the parameters and facts of which a row has to refer to one; nil: to any value that
	// may be unknown
	about map[state.ParameterKey]bool
}

// add adds a row unless it is there already, refers to no value that may be unknown, or to none of
// about.
func (o *openRows) add(row *state.Row) error {
	if row.Orphaned || row.Removing || row.Damaged() || o.of[row.ID] != nil {
		return nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	res = res.Written()
	if refs := resource.References(res.Attributes); len(model.Missing(res.Attributes)) > 0 &&
		(o.about == nil || slices.ContainsFunc(refs, o.isAbout)) {
		o.rows, o.of[row.ID] = append(o.rows, row), res
		o.refs = append(o.refs, refs...)
	}
	return nil
}

// isAbout reports whether a reference is one to a parameter or a fact of about.
func (o *openRows) isAbout(ref any) bool {
	switch r := ref.(type) {
	case resource.Parameter:
		return o.about[state.ParameterKey{Name: r.Name}]
	case resource.Fact:
		return o.about[state.ParameterKey{Name: r.Key(), Of: r.Of}]
	}
	return false
}

// addDependants adds the dependants of resources whose facts have changed.
func addDependants(
	ctx context.Context, p *planning, g *version.Graph, changed []resource.ID, to *openRows,
) error {
	var ids []resource.ID
	for _, id := range changed {
		ids = append(ids, version.DependantsOf(g, id)...)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	rows, err := p.load(ctx, ids)
	for _, id := range ids {
		if row := rows[id]; row != nil && err == nil {
			err = to.add(p.planned(row))
		}
	}
	return err
}

// resolveRow gives a row the values that are known by now; res is its resource as a version has it.
// A row that has all values keeps those that are no longer known.
func resolveRow(
	ctx context.Context, p *planning, row *state.Row, res *resource.Resource, agent resource.Agent, known *values,
) error {
	now, misfit := p.pl.resolveResource(ctx, res, known)
	missing := model.Missing(now.Attributes)
	switch {
	case misfit != "":
		p.apply(row, step.ValueKnown{Problem: misfit, Missing: model.Missing(res.Attributes)})
		return nil
	case lacksValues(now) && !row.Undefined():
		return nil
	}
	en, err := version.NewEntry(now, agent)
	if err != nil {
		return fault.Wrap(fault.Internal, "encode resource "+string(row.ID), err)
	}
	p.apply(row, step.ValueKnown{Hash: en.Hash, Body: en.Body, Missing: missing})
	return nil
}

// eachOf calls f for every stored row with a status, and reads no others.
func eachOf(ctx context.Context, p *planning, s state.Status, f func(*state.Row) error) error {
	if n, err := countRows(ctx, p, s); err != nil || n == 0 {
		return err
	}
	return p.pl.Client.EachFound(ctx, p.env.Name, state.Filter{Statuses: []state.Status{s}}, f)
}
