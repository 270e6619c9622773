package worker

import (
	"context"
	"sync"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// keep stores the state that a handler keeps, during its call, under the lease of the agent. A state
// without bytes is removed.
func (b *batch) keep(ctx context.Context, k state.Kept) error {
	var c state.Commit
	b.keepRunning(&c)
	if len(k.Sealed) == 0 {
		c.DropKept = []resource.ID{k.ID}
	} else {
		c.Keep = []state.Kept{k}
		c.AddOutbox = k.FollowUp(b.Clock.Now())
	}
	_, err := b.commit(ctx, c)
	if err == nil || state.Transient(err) {
		b.kept.add(c.AddOutbox)
	}
	return err
}

// outputs are the outbox entries of the secret outputs that the calls of a batch have kept. They are
// stored with the outputs: after a crash, the next run may keep equal outputs, which are not written.
type outputs struct {
	mu      sync.Mutex
	entries []state.Outbox
}

func (o *outputs) add(entries []state.Outbox) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.entries = append(o.entries, entries...)
}

// take returns the entries once.
func (o *outputs) take() []state.Outbox {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := o.entries
	o.entries = nil
	return out
}

// kept adds to the commit of results what becomes of kept states: the states of purged things are
// removed, and those of moved things get the id that the thing has now. If that fails, the results
// are not recorded, since the row would forget its earlier ids.
func (r *recording) kept(ctx context.Context, c *state.Commit) error {
	for _, cl := range r.done {
		earlier := cl.row.EarlierIDs()
		if !run.KeepsState(r.Runs, cl.row) {
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
		for _, k := range keep {
			c.AddOutbox = append(c.AddOutbox, k.FollowUp(r.Clock.Now())...)
		}
	}
	return nil
}
