package planner

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The facts of resources: which runs have to read them, and which have no resource any longer.

// requestFacts plans to read the facts that planned rows lack, the facts of other given resources, and
// those of resources to which a planned row is the first to refer: it schedules these resources.
func requestFacts(ctx context.Context, p *planning, of map[resource.ID]bool) error {
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
	if err := addAwaitedFacts(ctx, p, want); err != nil {
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
	running, err := claimsIfRequested(ctx, p, stored)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(want)) { // a fixed order of writes
		row := rowOf(id)
		if row == nil {
			continue // it does not exist yet; later, addAwaitedFacts finds the rows that wait
		}
		p.set(row, func(row *state.Row) bool {
			return p.change(row, step.Requested{Priority: state.PriorityFacts, Facts: true,
				Running: running[row.ID] == row.Agent})
		})
	}
	return nil
}

// claimsIfRequested returns the agents of running rows, if one of some rows without a ticket has
// requested facts. The request is older than the claim of such a row, so its run reads the facts.
func claimsIfRequested(
	ctx context.Context,
	p *planning,
	rows map[resource.ID]*state.Row,
) (map[resource.ID]string, error) {
	for _, row := range rows {
		if row.WantFacts() && row.Ticket() == 0 && row.Runnable() {
			return p.runningNow(ctx)
		}
	}
	return nil, nil
}

// addAwaitedFacts adds planned resources to want that are new, or exist again, if an older row waits
// for their facts. The earlier facts of a purged resource were removed with it.
func addAwaitedFacts(ctx context.Context, p *planning, want map[resource.ID]bool) error {
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
	return eachOf(ctx, p, state.StatusUndefined, func(row *state.Row) error {
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
		of := facts[i].Of
		if row := rows[of]; row == nil || row.WasPurged() {
			p.store.unset = append(p.store.unset, state.ParameterKey{Name: facts[i].Name, Of: of})
		}
	}
	return nil
}
