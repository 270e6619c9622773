package planner

import (
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

// askFacts plans to read the facts that planned rows lack, and the facts of other given resources:
// it schedules these resources.
func (p *resolver) askFacts(ctx context.Context, of map[resource.ID]bool) error {
	want := map[resource.ID]bool{}
	maps.Copy(want, of)
	for _, row := range p.rows {
		if err := row.AddMissingFacts(want); err != nil {
			return err
		}
	}
	if err := p.awaitedFacts(ctx, want); err != nil {
		return err
	}
	var ids []resource.ID
	for id := range want {
		if p.rows[id] == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	stored, err := p.load(ctx, ids)
	if err != nil {
		return err
	}
	running, err := p.askedBefore(ctx, stored)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(want)) { // a fixed order of writes
		row := p.rows[id]
		if row == nil {
			row = stored[id]
		}
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
func (p *resolver) askedBefore(
	ctx context.Context,
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
func (p *resolver) awaitedFacts(ctx context.Context, want map[resource.ID]bool) error {
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
	if n, err := lacking(ctx, p.planning); err != nil || n == 0 {
		return err
	}
	return p.pl.Client.EachRow(ctx, p.env.Name, func(row *state.Row) error {
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

// resolveAgain resolves the references of all undefined rows again and schedules rows that no
// longer lack a value.
func (p *resolver) resolveAgain(ctx context.Context) error {
	graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return err
	}
	agents, err := p.pl.State.Agents(ctx, p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	err = p.pl.Client.EachRow(ctx, p.env.Name, func(row *state.Row) error {
		if !row.Undefined() || row.Orphaned {
			return nil
		}
		if planned := p.rows[row.ID]; planned != nil {
			row = planned
		}
		return p.resolveRow(ctx, row, agents[row.ID.Agent()].Agent)
	})
	if err != nil {
		return err
	}
	if err := p.reblock(ctx, graph, nil); err != nil {
		return err
	}
	p.orderBy(graph)
	return nil
}

// resolveRow gives an undefined row the values that are known by now.
func (p *resolver) resolveRow(ctx context.Context, row *state.Row, agent resource.Agent) error {
	res, err := resource.Decode(row.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource "+string(row.ID), err)
	}
	known, err := p.lookup(ctx, resource.References(res.Attributes))
	if err != nil {
		return err
	}
	attrs, problems := p.pl.resolveAttributes(ctx, res, known)
	if len(problems) > 0 {
		p.apply(row, step.ValueKnown{Problem: problems[0].Message})
		return nil
	}
	missing := model.Missing(attrs)
	if slices.Equal(missing, row.Missing) {
		return nil
	}
	res.Attributes = attrs
	en, err := version.NewEntry(res, agent)
	if err != nil {
		return fault.Wrap(fault.Internal, "encode resource "+string(row.ID), err)
	}
	p.apply(row, step.ValueKnown{Hash: en.Hash, Body: en.Body, Missing: missing})
	return nil
}

// dropFacts plans to remove the facts of resources that are gone, unless the purging run has
// removed them.
func (p *resolver) dropFacts(ctx context.Context) error {
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
