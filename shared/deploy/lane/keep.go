package lane

import (
	"context"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// keep stores the state that a handler keeps, during its call, under the lease of the lane. A state
// without bytes is removed.
func (b *batch) keep(ctx context.Context, k state.Kept) error {
	// As in TakeOver, Next is refused, so that Running stays.
	c := state.Commit{Next: b.claimed, SeenPlan: -1}
	if len(k.Sealed) == 0 {
		c.DropKept = []resource.ID{k.ID}
	} else {
		c.Keep = []state.Kept{k}
	}
	_, err := b.commit(ctx, c)
	return err
}

// kept adds to the commit of results what becomes of kept states: the states of purged things are
// removed, and those of moved things get the id that the thing has now. If that fails, the results
// are not recorded, since the row would forget its earlier ids.
func (r *recording) kept(ctx context.Context, c *state.Commit) error {
	for _, cl := range r.done {
		earlier := cl.row.EarlierIDs()
		if !run.KeepsState(r.Runs, cl.row.ID.Type()) {
			continue
		}
		if cl.result.Purged && cl.wrote.WasPurged() {
			c.DropKept = append(append(c.DropKept, cl.row.ID), earlier...)
			continue
		}
		if len(earlier) == 0 || cl.result.Outcome == state.StatusDeploying {
			continue
		}
		var keep []state.Kept
		var drop []resource.ID
		err := r.Retry(context.WithoutCancel(ctx), func() (err error) {
			keep, drop, err = r.Runs.Follow(context.WithoutCancel(ctx), r.env, cl.row.ID, earlier)
			return err
		})
		if err != nil {
			return err
		}
		c.Keep, c.DropKept = append(c.Keep, keep...), append(c.DropKept, drop...)
	}
	return nil
}
