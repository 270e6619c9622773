package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
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
		wake := func(row *state.Row) bool {
			if !row.Runnable() {
				return false
			}
			if row.Ticket != 0 || waves && p.waveChecks(row) {
				if !busy[row.ID] || !slices.ContainsFunc(w.entries, func(o state.Outbox) bool {
					return row.Ticket < o.Ticket && concerns(&o, row, rows)
				}) {
					return false // it is going to run, and sees what has become of what it requires
				}
			} else if !wakesRow(row, w.entries, rows) {
				return false
			}
			if row.Blocked == state.BlockedTemp {
				row.Blocked = state.NotBlocked
			}
			p.schedule(row, max(w.priority, state.PriorityUserDeploy))
			return true
		}
		p.set(row, func(row *state.Row) bool {
			owes := false
			for i := range w.entries {
				if o := &w.entries[i]; o.To != "" && !row.Orphaned && !row.Removing &&
					concerns(o, row, rows) {
					row.LeaveBehind(o.Of)
					owes = true
				}
			}
			return wake(row) || owes
		})
	}
	return nil
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

// concerns reports whether an entry tells a row anything: an event is only for those that receive
// it and have not run since. A run since a purge has not known of that.
func concerns(o *state.Outbox, row *state.Row, rows map[resource.ID]*state.Row) bool {
	return o.Kind != state.OutboxEvent ||
		(o.To != "" || !ranSince(row, o)) && happened(o, rows[o.Of]) && row.ReceivesEventsOf(rows[o.Of])
}

// ranSince reports whether a run of a row that has ended was claimed after the change that an event
// tells of.
func ranSince(row *state.Row, o *state.Outbox) bool {
	return row.SucceededAt.After(o.At) || row.TriedAt.After(o.At)
}

// happened reports whether an event tells of a change that its row records; of is nil if that is
// gone. A commit stores what follows from all its results, also from one that its row was left out
// of: if that counts after all, the commit that resolves it stores the event once more, and
// otherwise what was changed is told of when the next run ends.
func happened(o *state.Outbox, of *state.Row) bool {
	return of == nil || !of.ChangedAt.Before(o.At)
}

// wakesRow reports whether entries of the outbox ask for a row that is not scheduled: it was
// skipped, and something that it requires has recovered, or it has not run since something changed
// of whose changes it is told.
func wakesRow(row *state.Row, entries []state.Outbox, rows map[resource.ID]*state.Row) bool {
	return slices.ContainsFunc(entries, func(o state.Outbox) bool {
		if o.Kind == state.OutboxRecovered {
			return row.Blocked == state.BlockedTemp
		}
		return row.Blocked != state.BlockedTemp && concerns(&o, row, rows)
	})
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
		p.set(row, func(row *state.Row) bool {
			if row.Orphaned {
				return false
			}
			row.PossiblyChanged = row.PossiblyChanged || row.SendsEvents()
			row.WantFacts = row.WantFacts || facts
			if row.Runnable() {
				p.schedule(row, priority[id])
			}
			return true
		})
	}
	return nil
}
