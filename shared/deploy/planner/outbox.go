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

// FollowUp does what outbox entries ask for and removes them, by one commit: after a crash they are
// either done or still there. Only rows with damaged bodies are mended before, by a release that
// has commits of its own; that is done once more if the entries are still there after it.
func (pl *Planner) FollowUp(ctx context.Context, env string, entries []state.Outbox) error {
	return pl.plan(ctx, env, func(p *planning) error {
		return (&followUp{p}).plan(ctx, entries)
	})
}

// followUpStored does what the oldest entries of the outbox ask for, if there are any. They are
// read again under the lease of the planner: others may have done what the first ones asked for
// since, and what that has woken may be running already.
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

// followUp plans what follows from commits of workers.
type followUp struct{ *planning }

// plan does all that entries ask for, and commits it.
func (p *followUp) plan(ctx context.Context, entries []state.Outbox) error {
	damaged := func(entry state.Outbox) bool { return entry.Kind == state.OutboxDamaged }
	if slices.ContainsFunc(entries, damaged) {
		if err := (&releasing{p.planning}).mendRows(ctx); err != nil {
			return err
		}
	}
	graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return err
	}
	resolve := false
	for i := range entries {
		p.drop = append(p.drop, entries[i].ID)
		if entries[i].Kind == state.OutboxFact || damaged(entries[i]) {
			resolve = true
		}
	}
	if err := p.wakeDependants(ctx, graph, entries); err != nil {
		return err
	}
	if err := p.scheduleAgain(ctx, entries); err != nil {
		return err
	}
	if resolve {
		if err := (&resolver{p.planning}).resolveAgain(ctx); err != nil {
			return err
		}
	}
	p.orderBy(graph)
	return p.commit(ctx, scheduleChanges)
}

// wakeDependants schedules direct dependants: skipped ones if what they require has recovered, and
// those that receive its changes if it has sent an event.
func (p *followUp) wakeDependants(
	ctx context.Context,
	g *version.Graph,
	entries []state.Outbox,
) error {
	type wake struct {
		entries  []state.Outbox
		priority state.Priority
	}
	wakes, senders := map[resource.ID]wake{}, map[resource.ID]bool{}
	var ids []resource.ID
	for _, entry := range entries {
		for _, id := range receivers(g, &entry) {
			w, seen := wakes[id]
			if !seen {
				ids = append(ids, id)
				w.priority = entry.Priority
			}
			w.entries, senders[entry.Of] = append(w.entries, entry), true
			w.priority = min(w.priority, entry.Priority)
			wakes[id] = w
		}
	}
	for _, id := range ids {
		delete(senders, id) // read as one of these
	}
	// before the rows: what is claimed later sees all that is stored now
	busy, err := p.running(ctx, entries)
	if err != nil {
		return err
	}
	loose, err := p.ticketless(ctx, ids, busy)
	if err != nil {
		return err
	}
	asked, err := p.waveAsksFor(ctx, ids)
	if err != nil {
		return err
	}
	rows, err := p.load(ctx, slices.Concat(ids, slices.Sorted(maps.Keys(senders))))
	if err != nil {
		return err
	}
	for _, id := range ids {
		row := rows[id]
		if row == nil {
			continue
		}
		w, waves := wakes[id], asked[id] && row.Ticket == 0 && (loose[id] || !busy[id])
		p.set(row, func(row *state.Row) (changed bool) {
			of := step.Dependency{Priority: max(w.priority, state.PriorityUserDeploy),
				Running: busy[row.ID], Checking: waves && p.waveChecks(row)}
			for i := range w.entries {
				changed = p.change(row, dependency(of, &w.entries[i], rows)) || changed
			}
			return changed
		})
	}
	return nil
}

// dependency returns the event of an entry of the outbox.
func dependency(
	d step.Dependency, o *state.Outbox, rows map[resource.ID]*state.Row,
) step.Event {
	d.Ticket = o.Ticket
	if o.Kind == state.OutboxRecovered {
		return step.DependencyRecovered{Dependency: d}
	}
	e := step.DependencyChanged{Dependency: d, Of: rows[o.Of], At: o.At}
	if o.To != "" {
		e.Purged = o.Of
	}
	return e
}

// receivers returns the resources that an entry of the outbox may concern.
func receivers(g *version.Graph, entry *state.Outbox) []resource.ID {
	switch {
	case entry.Kind != state.OutboxRecovered && entry.Kind != state.OutboxEvent:
		return nil
	case entry.To != "":
		return []resource.ID{entry.To}
	}
	n := g.Node(entry.Of)
	if n < 0 {
		return nil
	}
	var out []resource.ID
	for _, d := range g.Dependants(n) {
		out = append(out, g.IDs[d])
	}
	return out
}

// waveChecks reports whether the wave, if it is not over in the lane of a row, has still to check
// that: what is being removed, and what failed for good where a timer asks, it leaves out.
func (p *followUp) waveChecks(row *state.Row) bool {
	wave := p.env.Wave
	return row.Checked < wave.Epoch && !row.Removing &&
		!(wave.KeepTerminal && !state.Retried(row.Class))
}

// running returns what is being run, unless that does not matter, as all that waits for what
// entries are about is known to have waited.
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

// ticketless returns which of ids are being run and had no ticket even before it was asked what the
// wave still has to check: what that asks for, it is the wave that does. The others may have ended
// since.
func (p *followUp) ticketless(
	ctx context.Context,
	ids []resource.ID,
	busy map[resource.ID]bool,
) (map[resource.ID]bool, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id resource.ID) bool { return !busy[id] })
	if p.env.Wave.Epoch == 0 || len(ids) == 0 {
		return nil, nil
	}
	done, err := p.pl.State.Finished(ctx, p.env.Name, ids, 0)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	out := map[resource.ID]bool{}
	for _, id := range done {
		out[id] = true
	}
	return out, nil
}

// waveAsksFor returns which of ids the wave may still have to check. The rows are to be read after
// it: then they show what became of the others.
func (p *followUp) waveAsksFor(
	ctx context.Context,
	ids []resource.ID,
) (map[resource.ID]bool, error) {
	out := map[resource.ID]bool{}
	if p.env.Wave.Epoch == 0 || len(ids) == 0 {
		return out, nil
	}
	done, err := p.pl.State.Finished(ctx, p.env.Name, ids, p.env.Wave.Epoch)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	for _, id := range ids {
		out[id] = true
	}
	for _, id := range done {
		delete(out, id)
	}
	return out, nil
}

// scheduleAgain schedules resources that had a run overtaken by another. Their listeners are told,
// and their facts are read again.
func (p *followUp) scheduleAgain(ctx context.Context, entries []state.Outbox) error {
	priority := map[resource.ID]state.Priority{}
	for i := range entries {
		if entries[i].Kind == state.OutboxAgain {
			priority[entries[i].Of] = max(entries[i].Priority, state.PriorityUserDeploy)
		}
	}
	rows, err := p.load(ctx, slices.Sorted(maps.Keys(priority)))
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		row := rows[id]
		if planned := p.rows[id]; planned != nil {
			row = planned
		}
		facts := p.pl.Runs.ReportsFacts(row)
		p.apply(row, step.Overtaken{Priority: priority[id], Facts: facts})
	}
	return nil
}
