package deploy

import (
	"cmp"
	"context"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// compareAll compares rows with reality, and appends a result for each of them, as compare does. What a
// deploy learns is known after it, and what only requires such a resource is read.
func compareAll(ctx context.Context, d *dryRunner, g *version.Graph,
	rows map[resource.ID]*state.Row, blocked map[resource.ID]bool) error {
	waits, err := newWaiting(ctx, d, g, rows, blocked)
	if err != nil {
		return err
	}
	d.results = resultsSoFar(d.from, len(rows))
	for more := true; more; {
		if err := d.readRows(ctx, g, rows, blocked); err != nil || len(d.out.Unread) > 0 {
			return err
		}
		if more, err = waits.next(); err != nil {
			return err
		}
	}
	return d.report(g, rows, blocked, func(id resource.ID) planner.PlannedChange {
		return planner.PlannedChange{ID: id, Action: "undefined",
			Reason: cmp.Or(rows[id].Why(), "something it needs is not known")}
	})
}

// compare compares rows that are not blocked with reality, lane by lane. It appends a result for
// every row to d.out.Planned, in the order of g. The function unread supplies the result of a row
// that was not read.
func (d *dryRunner) compare(ctx context.Context, g *version.Graph, rows map[resource.ID]*state.Row,
	blocked map[resource.ID]bool, unread func(resource.ID) planner.PlannedChange) error {
	d.results = resultsSoFar(d.from, len(rows))
	if err := d.readRows(ctx, g, rows, blocked); err != nil || len(d.out.Unread) > 0 {
		return err
	}
	return d.report(g, rows, blocked, unread)
}

// resultsSoFar returns the results of an earlier call, with room for most.
func resultsSoFar(from Reading, most int) map[resource.ID]planner.PlannedChange {
	out := make(map[resource.ID]planner.PlannedChange, most)
	for _, w := range from.Known {
		out[w.ID] = w
	}
	return out
}

// readRows compares the rows with reality that are not blocked and have no result.
func (d *dryRunner) readRows(ctx context.Context, g *version.Graph, rows map[resource.ID]*state.Row,
	blocked map[resource.ID]bool) error {
	byLane := map[string][]*state.Row{}
	for _, n := range g.Order() {
		row := rows[g.IDs[n]]
		if row == nil || blocked[row.ID] {
			continue
		}
		if _, known := d.results[row.ID]; !known {
			byLane[row.Agent] = append(byLane[row.Agent], row)
		}
	}
	return d.lanes(ctx, byLane)
}

// report appends the result of each row, in the order of g.
func (d *dryRunner) report(g *version.Graph, rows map[resource.ID]*state.Row,
	blocked map[resource.ID]bool, unread func(resource.ID) planner.PlannedChange) error {
	checker := d.e.checker()
	for _, n := range g.Order() {
		id := g.IDs[n]
		w, read := d.results[id]
		switch {
		case rows[id] == nil:
			continue
		case !read || blocked[id]:
			w = unread(id)
		case !w.Failed && len(w.KnownAfter) == 0:
			d.out.Covered++
		}
		w, err := likeRead(checker, w, rows[id])
		if err != nil {
			return err
		}
		d.out.Planned = append(d.out.Planned, w)
	}
	return nil
}
