package lane

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/plan"
)

// work runs as much of a batch as it can before it is time to commit, and commits what was done.
func (w *worker) work(ctx context.Context, batch []*claim) error {
	began := w.Clock.Now()
	var done []*claim
	var failed error
	cut := false
	rest := batch
	for len(rest) > 0 {
		group := w.group(rest)
		rest = rest[len(group):]
		// What these follow may be in progress, or may not have run at all: then they wait as well.
		group = slices.DeleteFunc(slices.Clone(group), func(c *claim) bool { return c.node >= 0 && !w.frontier.ready(c.node) })
		if len(group) == 0 {
			continue
		}
		failed = w.runGroup(ctx, group)
		for _, c := range group {
			if c.result == nil {
				continue // not run: the caller gave up, or the lane could not be held
			}
			done = append(done, c)
			if c.result.Action.Action == state.ActionRepair && c.result.Change != plan.NoChange &&
				c.row.LastRun == state.RunSuccess {
				w.out.Fixed++
			}
			w.finish(c)
		}
		if failed != nil {
			break // what ran before is recorded all the same
		}
		if cut = w.decides(group, rest); cut {
			break
		}
		if ctx.Err() != nil || w.Clock.Now().Sub(began) >= commitAfter {
			break
		}
	}
	if !cut {
		w.adapt(w.Clock.Now().Sub(began), len(rest) == 0)
	}
	for _, c := range rest {
		if c.node < 0 {
			w.loose = append(w.loose, c.row)
		} else if w.frontier.ready(c.node) {
			w.push(c.node)
		}
	}
	w.out.Ran += len(done)
	err := w.record(ctx, done)
	w.letGo(done)
	if w.Ran != nil {
		w.Ran(len(done))
	}
	if failed != nil {
		return failed
	}
	return err
}

// decides reports whether a run of a group has failed for which something in the rest of the batch would be skipped. It is
// recorded first: if its intent was replaced meanwhile, the failure does not count, and the others wait for the new one.
func (w *worker) decides(group, rest []*claim) bool {
	for _, c := range group {
		if c.node < 0 || c.result == nil || len(c.result.Causes) > 0 || c.wrote.AsWanted() {
			continue
		}
		for _, d := range rest {
			if d.node >= 0 && slices.Contains(w.graph.Requires(d.node), c.node) {
				return true
			}
		}
	}
	return false
}

// adapt fits the size of batches to what can be done between two commits.
func (w *worker) adapt(took time.Duration, all bool) {
	switch {
	case all && took < commitAfter:
		w.claimSize = min(2*w.claimSize, w.Claim)
	case !all:
		w.claimSize = max(w.claimSize/2, 1)
	}
}

// group returns the first rows of rest that can run as one group: those of one generation and one type, for a handler that takes
// several at once, otherwise a single one, so that each result is committed soon.
func (w *worker) group(rest []*claim) []*claim {
	typ := rest[0].row.ID.Type()
	if !w.Runs.Batches(rest[0].row) {
		return rest[:1]
	}
	n := 1
	for n < min(len(rest), run.MaxGroup) && rest[n].generation == rest[0].generation && rest[n].row.ID.Type() == typ &&
		!run.Coded(rest[n].row) {
		n++
	}
	return rest[:n]
}

// finish applies the result of a claim to the worker's own copy of the row and to the frontier.
func (w *worker) finish(c *claim) {
	row := *c.row
	c.result.Apply(&row, w.state.Settings, w.Jitter)
	c.wrote = row
	if c.node < 0 {
		return
	}
	if c.result.Outcome == state.StatusDeploying {
		*c.row = row // record raises its revision once it is written
		w.later = append(w.later, c.node)
		return
	}
	w.rows[c.node] = &c.wrote
	w.clear(c.node)
}

// letGo puts rows as they were written where they were read: what else is known of their runs would be
// held as long as the lane runs, and is several times as large.
func (w *worker) letGo(done []*claim) {
	for _, c := range done {
		if c.node >= 0 && w.rows[c.node] == &c.wrote {
			*c.row = c.wrote
			w.rows[c.node] = c.row
		}
	}
}
