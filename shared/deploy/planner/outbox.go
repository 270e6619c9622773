package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// FollowUp does the work of outbox entries and removes the entries in one commit: after a crash,
// the work is either done or the entries are still stored. Only rows with damaged bodies are
// restored before that, by a release with commits of its own. If the entries are still stored after
// that release, it is repeated.
//
// FollowUp returns the number of the schedule afterwards (state.Env.PlanSeq). A worker that has read
// this schedule does not have to read it again.
func (pl *Planner) FollowUp(
	ctx context.Context, env string, entries []state.Outbox,
) (schedule int64, err error) {
	err = pl.plan(ctx, env, func(p *planning) error {
		err := (&followUp{p}).plan(ctx, entries)
		schedule = p.env.PlanSeq
		return err
	})
	return schedule, err
}

// followUpStored does the work of the oldest outbox entries, if there are any. It reads them again
// under the lease of the planner: another process may have processed the first entries since, and
// the resources that it has woken may be running already.
func (pl *Planner) followUpStored(ctx context.Context, env string) error {
	entries, err := pl.State.Outbox(ctx, env, pl.SweepSize)
	if err != nil || len(entries) == 0 {
		return fault.Wrap(fault.Unknown, "read outbox", err)
	}
	return pl.plan(ctx, env, func(p *planning) error {
		entries, err := pl.State.Outbox(ctx, env, pl.SweepSize)
		if err != nil || len(entries) == 0 {
			return fault.Wrap(fault.Unknown, "read outbox", err)
		}
		return (&followUp{p}).plan(ctx, entries)
	})
}

// followUp plans the work that follows from commits of workers.
type followUp struct{ *planning }

// plan does the work of all entries, and commits it.
func (p *followUp) plan(ctx context.Context, entries []state.Outbox) error {
	damaged := func(entry state.Outbox) bool { return entry.Kind == state.OutboxDamaged }
	if slices.ContainsFunc(entries, damaged) {
		if err := restoreRows(ctx, p.planning); err != nil {
			return err
		}
	}
	graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return err
	}
	resolve, changed := false, []resource.ID(nil)
	for i := range entries {
		p.drop = append(p.drop, entries[i].ID)
		resolve = resolve || damaged(entries[i])
		if entries[i].Kind == state.OutboxFact {
			resolve, changed = true, append(changed, entries[i].Of)
		}
	}
	if err := p.wake(ctx, graph, entries); err != nil {
		return err
	}
	if resolve {
		if err := applyKnownValues(ctx, p.planning, changed, nil); err != nil {
			return err
		}
	}
	p.orderBy(graph)
	if facts := len(changed) == len(entries); facts && !hasWrites(p.planning) {
		return p.commit(ctx, scheduleStays) // nothing refers to them, or has another value now
	}
	return p.commit(ctx, scheduleChanges)
}

// wake schedules direct dependants. It schedules skipped ones if their requirement has recovered,
// and receivers of events if their requirement has sent one. It also schedules resources of which a
// later run has overtaken an earlier one.
func (p *followUp) wake(
	ctx context.Context,
	g *version.Graph,
	entries []state.Outbox,
) error {
	wakes := map[resource.ID][]state.Outbox{}
	var read []resource.ID
	for _, entry := range entries {
		for _, id := range receivers(g, &entry) {
			wakes[id], read = append(wakes[id], entry), append(read, id, entry.Of)
		}
	}
	ids := slices.Sorted(maps.Keys(wakes))
	// before the rows: a row that is claimed later sees all results stored by now
	busy, err := p.running(ctx, entries)
	if err != nil {
		return err
	}
	// A resource that is running, and had no ticket before the state of the wave was read, runs for
	// the wave. Any other run may have ended since.
	idle := func(id resource.ID) bool { return !busy[id] }
	loose, err := p.finished(ctx, slices.DeleteFunc(slices.Clone(ids), idle), 0)
	if err != nil {
		return err
	}
	checked, err := p.finished(ctx, ids, p.env.Wave.Epoch)
	if err != nil {
		return err
	}
	rows, err := p.load(ctx, slices.Compact(slices.Sorted(slices.Values(read))))
	if err != nil {
		return err
	}
	for _, id := range ids {
		row := rows[id]
		if row == nil {
			continue
		}
		waves := !checked[id] && row.Ticket() == 0 && (loose[id] || !busy[id])
		of := step.Dependency{Priority: state.PriorityRepairTimer, Running: busy[id]}
		for i := range wakes[id] {
			of.Priority = min(of.Priority, max(wakes[id][i].Priority, state.PriorityUserDeploy))
		}
		p.set(row, func(row *state.Row) (changed bool) {
			of := of
			of.Checking = waves && p.env.Wave.Asks(row)
			for i := range wakes[id] {
				changed = p.change(row, p.eventOf(&wakes[id][i], of, rows)) || changed
			}
			return changed
		})
	}
	return nil
}

// eventOf returns the event of an outbox entry for one of its receivers.
func (p *followUp) eventOf(
	o *state.Outbox, d step.Dependency, rows map[resource.ID]*state.Row,
) step.Event {
	d.Ticket = o.Ticket
	switch o.Kind {
	case state.OutboxAgain:
		return step.Overtaken{Priority: d.Priority, Facts: p.pl.Runs.ReportsFacts(rows[o.Of])}
	case state.OutboxRecovered:
		return step.DependencyRecovered{Dependency: d}
	}
	e := step.DependencyChanged{Dependency: d, Of: rows[o.Of], At: o.At}
	if o.To != "" {
		e.Purged = o.Of
	}
	return e
}

// receivers returns the resources that an outbox entry may concern.
func receivers(g *version.Graph, entry *state.Outbox) []resource.ID {
	switch {
	case entry.Kind == state.OutboxAgain:
		return []resource.ID{entry.Of}
	case entry.Kind != state.OutboxRecovered && entry.Kind != state.OutboxEvent:
		return nil
	case entry.To != "":
		return []resource.ID{entry.To}
	}
	return version.DependantsOf(g, entry.Of)
}

// running returns the running resources. It returns nil if they do not matter, since all dependants
// of the entries' resources are known to have waited for them.
func (p *followUp) running(
	ctx context.Context,
	entries []state.Outbox,
) (map[resource.ID]bool, error) {
	if !slices.ContainsFunc(entries, func(o state.Outbox) bool { return o.Ticket != 0 }) {
		return nil, nil
	}
	leases, err := p.pl.State.Leases(ctx, p.env.Name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	out := map[resource.ID]bool{}
	for i := range leases {
		for _, id := range leases[i].Running {
			out[id] = true
		}
	}
	return out, nil
}

// finished returns the ids among ids that have no ticket and are done in the wave of an epoch (0:
// in none). Rows that are read later show the state of all other ids.
func (p *followUp) finished(
	ctx context.Context, ids []resource.ID, epoch int64,
) (map[resource.ID]bool, error) {
	out := map[resource.ID]bool{}
	if p.env.Wave.Epoch == 0 || len(ids) == 0 {
		return out, nil
	}
	done, err := p.pl.State.Finished(ctx, p.env.Name, ids, epoch)
	for _, id := range done {
		out[id] = true
	}
	return out, fault.Wrap(fault.Unknown, "read schedule", err)
}

// restoreRows compares all rows with the version in force, since some have lost the intent of their
// resource. If that version cannot be read either, the next export stores both again.
func restoreRows(ctx context.Context, p *planning) error {
	v, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
	if err != nil {
		return err
	}
	byID, err := version.ReadChunks(ctx, p.pl.Files, v.Chunks)
	if state.Unreadable(err) {
		return nil
	}
	if err != nil {
		return err
	}
	p.repair = true
	if _, err := planWhole(ctx, p, v, version.SortedEntries(byID)); err != nil {
		return err
	}
	return p.commitAll(ctx)
}
