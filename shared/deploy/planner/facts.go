package planner

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// askFacts plans to read the facts that planned rows lack, the facts of other given resources, and
// those of resources to which a planned row is the first to refer: it schedules these resources.
func askFacts(ctx context.Context, p *planning, of map[resource.ID]bool) error {
	want, first := map[resource.ID]bool{}, map[resource.ID]bool{}
	maps.Copy(want, of)
	for _, row := range p.rows {
		if err := row.AddMissingFacts(want); err != nil {
			return err
		}
		if err := row.AddFollowed(first); err != nil {
			return err
		}
	}
	if err := awaitedFacts(ctx, p, want); err != nil {
		return err
	}
	var ids []resource.ID
	for id := range want {
		first[id] = true
	}
	for id := range first {
		if p.rows[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	stored, err := p.load(ctx, ids)
	if err != nil {
		return err
	}
	rowOf := func(id resource.ID) *state.Row { return cmp.Or(p.rows[id], stored[id]) }
	for id := range first {
		if row := rowOf(id); row != nil && !row.AskedForFacts() && p.pl.Runs.ReportsFacts(row) {
			want[id] = true
		}
	}
	running, err := askedBefore(ctx, p, stored)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(want)) { // a fixed order of writes
		row := rowOf(id)
		if row == nil {
			continue // it does not exist yet; later, awaitedFacts finds the rows that wait
		}
		p.set(row, func(row *state.Row) bool {
			return p.change(row, step.Requested{Priority: state.PriorityFacts, Facts: true,
				Running: running[row.ID] == row.Lane})
		})
	}
	return nil
}

// askedBefore returns the lanes of running rows, if one of some rows without a ticket has requested
// facts. The request is older than the claim of such a row, so its run reads the facts.
func askedBefore(
	ctx context.Context,
	p *planning,
	rows map[resource.ID]*state.Row,
) (map[resource.ID]string, error) {
	for _, row := range rows {
		if row.WantFacts() && row.Ticket() == 0 && row.Runnable() {
			return p.claims(ctx)
		}
	}
	return nil, nil
}

// awaitedFacts adds planned resources to want that are new, or exist again, if an older row waits
// for their facts. The earlier facts of a purged resource were removed with it.
func awaitedFacts(ctx context.Context, p *planning, want map[resource.ID]bool) error {
	fresh := map[resource.ID]bool{}
	for id, row := range p.rows {
		was := p.before[id]
		if p.env.Released != 0 && p.pl.Runs.ReportsFacts(row) &&
			(row.Rev == 0 || was.WasPurged()) {
			fresh[id] = true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return eachUndefined(ctx, p, func(row *state.Row) error {
		if p.rows[row.ID] != nil {
			return nil
		}
		awaited := map[resource.ID]bool{}
		if err := row.AddMissingFacts(awaited); err != nil {
			return err
		}
		for id := range awaited {
			if fresh[id] {
				want[id] = true
			}
		}
		return nil
	})
}

// eachUndefined calls f for every stored row that is undefined, and reads no others.
func eachUndefined(ctx context.Context, p *planning, f func(*state.Row) error) error {
	if n, err := countRows(ctx, p, state.StatusUndefined); err != nil || n == 0 {
		return err
	}
	return p.pl.Client.EachFound(ctx, p.env.Name,
		state.Filter{Statuses: []state.Status{state.StatusUndefined}}, f)
}

// resolveAgain resolves the references of undefined rows again, and those of the dependants of
// resources whose facts have changed: of rows that refer to one of some parameters and facts (nil:
// of all). It schedules rows that no longer lack a value, and rows that get another value.
func resolveAgain(
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
	if err := eachUndefined(ctx, p, func(row *state.Row) error {
		return open.add(p.planned(row))
	}); err != nil {
		return err
	}
	if err := followers(ctx, p, graph, changed, open); err != nil {
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
	if err := p.reblock(ctx, graph, nil); err != nil {
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
		(o.about == nil || slices.ContainsFunc(refs, o.concerns)) {
		o.rows, o.of[row.ID] = append(o.rows, row), res
		o.refs = append(o.refs, refs...)
	}
	return nil
}

// concerns reports whether a reference is one to a parameter or a fact of about.
func (o *openRows) concerns(ref any) bool {
	switch r := ref.(type) {
	case resource.Parameter:
		return o.about[state.ParameterKey{Name: r.Name}]
	case resource.Fact:
		return o.about[state.ParameterKey{Name: r.Key(), Of: r.Of}]
	}
	return false
}

// followers adds the dependants of resources whose facts have changed.
func followers(
	ctx context.Context, p *planning, g *version.Graph, changed []resource.ID, to *openRows,
) error {
	var ids []resource.ID
	for _, n := range g.Nodes(changed) {
		for _, d := range g.Dependants(n) {
			ids = append(ids, g.IDs[d])
		}
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
	now, misfit := p.pl.valued(ctx, res, known)
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

// dropFacts plans to remove the facts of resources that are gone, unless the purging run has
// removed them.
func dropFacts(ctx context.Context, p *planning) error {
	facts, err := p.pl.State.Parameters(ctx, p.env.Name, state.ParameterQuery{Facts: true})
	if err != nil {
		return fault.Wrap(fault.Unknown, "read facts", err)
	}
	var ids []resource.ID // sorted, as facts are
	for i := range facts {
		ids = append(ids, facts[i].Of)
	}
	rows, err := p.load(ctx, slices.Compact(ids))
	if err != nil {
		return err
	}
	for i := range facts {
		if row := rows[facts[i].Of]; row == nil || row.WasPurged() {
			p.store.unset = append(
				p.store.unset,
				state.ParameterKey{Name: facts[i].Name, Of: facts[i].Of},
			)
		}
	}
	return nil
}
