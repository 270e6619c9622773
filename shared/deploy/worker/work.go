package worker

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/diff"
)

// batch is a set of rows that were claimed together, while their handlers run.
type batch struct {
	*worker
	claims []*claim
	done   []*claim // the claims that have run and have a result
	acted  bool     // some of them may have changed a thing
	kept   outputs
}

// work runs as much of a batch as it can before the next commit is due, and commits the results.
func (b *batch) work(ctx context.Context) error {
	began := b.Clock.Now()
	rest, cut, failed := b.runAll(ctx, began)
	if !cut {
		b.adapt(b.Clock.Now().Sub(began), len(rest) == 0)
	}
	b.claims = slices.DeleteFunc(b.claims, func(c *claim) bool { return c.result != nil })
	crew{b.worker}.release(b.claims)
	b.out.Ran += len(b.done)
	err := b.record(ctx)
	if b.Ran != nil {
		b.Ran(len(b.done))
	}
	if failed != nil {
		return failed
	}
	return err
}

// runAll runs the batch group by group. It returns the claims that it did not reach. cut means that
// it stopped early to commit: a failure, or a change ahead of a run that may take long, has to be
// recorded first.
func (b *batch) runAll(ctx context.Context, began time.Time) (rest []*claim, cut bool, err error) {
	rest = b.claims
	for len(rest) > 0 {
		group := b.group(rest)
		if b.acted && b.mayTakeLong(group[0]) {
			return rest, true, nil
		}
		rest = rest[len(group):]
		if b.laneLimit() > 1 && len(rest) > 0 && b.mayTakeLong(group[0]) {
			crew{b.worker}.release(rest) // for other lanes
			b.claims = b.claims[:len(b.claims)-len(rest)]
			crew{b.worker}.startLanes(ctx)
			rest = nil
		}
		// Requirements of these may be in progress, or may not have run at all: then they wait as
		// well.
		group = slices.DeleteFunc(slices.Clone(group), func(c *claim) bool {
			return !b.startable(c)
		})
		if len(group) == 0 {
			continue
		}
		err = b.timed(ctx, group)
		b.learn(ctx, group)
		for _, c := range group {
			if c.result == nil {
				continue // not run: the caller gave up, or the lane could not be held
			}
			b.done = append(b.done, c)
			b.acted = b.acted || c.result.Acted
			if c.result.Action.Action == state.ActionRepair && c.result.Change != diff.NoChange &&
				c.row.LastRun == state.RunSuccess {
				b.out.Fixed++
			}
			b.finish(c)
		}
		if err != nil {
			return rest, false, err // earlier runs are recorded nevertheless
		}
		if decides(group, rest) {
			return rest, true, nil
		}
		if ctx.Err() != nil || b.Clock.Now().Sub(began) >= commitAfter {
			break
		}
	}
	return rest, false, nil
}

// timed runs a group, and records whether its type is quick.
func (b *batch) timed(ctx context.Context, group []*claim) error {
	began := b.Clock.Now()
	err := b.runGroup(ctx, group)
	each := b.Clock.Now().Sub(began) / time.Duration(len(group))
	b.quick[group[0].row.ID.Type()] = each < commitAfter
	return err
}

// mayTakeLong reports whether the run of a claim may take longer than the time between two commits:
// the run has its own time limit, the last run of its type took long, or no run of its type has
// finished. Earlier changes are recorded before such a run begins, so that an interrupted run does
// not lose them.
func (b *batch) mayTakeLong(c *claim) bool {
	return !b.quick[c.row.ID.Type()] || b.Runs.LimitsItself(c.row, c.res)
}

// adapt fits the size of batches to the number of rows that can run between two commits.
func (b *batch) adapt(took time.Duration, all bool) {
	switch {
	case all && took < commitAfter:
		b.claimSize = min(2*b.claimSize, b.Claim)
	case !all:
		b.claimSize = max(b.claimSize/2, 1)
	}
}

// decides reports whether a run of a group has failed, or has learned a fact, and the rest of the
// batch has a dependant. Such a result is recorded first, since the dependant would be skipped for
// the failure, or would run with the former value of the fact. If the intent of a failed run has
// been replaced since the claim, the failure does not count, and the dependants wait for the new
// intent.
func decides(group, rest []*claim) bool {
	for _, c := range group {
		if c.result == nil || len(c.result.Causes) > 0 ||
			c.wrote.AsWanted() && len(c.result.Facts) == 0 {
			continue
		}
		for _, d := range rest {
			if slices.Contains(d.waits, c) {
				return true
			}
		}
	}
	return false
}

// group returns the first rows of rest that can run as one group. If the handler runs several
// resources per call, the group has the rows of one generation, one type and one declaration of it.
// Otherwise it has a single row, so that each result is committed soon.
func (b *batch) group(rest []*claim) []*claim {
	typ := rest[0].row.ID.Type()
	if !b.Runs.Batches(rest[0].row, rest[0].res) {
		return rest[:1]
	}
	n, declaration := 1, run.DeclarationOf(rest[0].res)
	for n < min(len(rest), run.MaxGroup) && rest[n].depth == rest[0].depth &&
		rest[n].row.ID.Type() == typ && !rest[n].coded &&
		run.DeclarationOf(rest[n].res) == declaration {
		n++
	}
	return rest[:n]
}

// finish decides the row that the result of a claim leaves.
func (b *batch) finish(c *claim) {
	c.ended = step.Finished{Result: c.result, Claimed: c.row, Settings: b.stored.Settings}
	if c.ended.Retries() {
		c.ended.Jitter = b.Jitter()
	}
	row, effects := step.Next(*c.row, c.ended)
	c.wrote, c.effects = &row, effects
	if c.result.Outcome == state.StatusDeploying {
		*c.row = row // record raises its revision once it is written
	}
}

// startable reports whether a claim of the batch may start: all that it requires has finished, in
// part within the batch.
func (b *batch) startable(c *claim) bool {
	if slices.ContainsFunc(c.waits, func(o *claim) bool {
		return o.result == nil || o.result.Outcome == state.StatusDeploying
	}) {
		return false
	}
	return c.node < 0 || b.frontier.needs[c.node] && int(b.frontier.waiting[c.node]) <= len(c.waits)
}
