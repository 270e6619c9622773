package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// holding is the exclusive right to serve an agent, and makes all writes of its worker.
type holding struct {
	Config
	env     string
	key     string // of the lease: the agent
	lease   state.Lease
	claimed []resource.ID // the rows that are being run, or were last
	lost    bool          // a write or a renewal found that another worker may have the lease
	// unrecorded is the number of batches whose runs may have changed things without a record. Unless
	// it is 0, the lease must not be released: it expires, and its next holder finds the running rows.
	unrecorded int
	fenced     bool // another holder has the agent
	// writes guards claimed, lost, lease.Until and paused: lanes, renewals and handlers that keep
	// states write at a time.
	writes sync.Mutex
	paused bool // the agent is paused or the environment halted, as of the last commit
}

// take takes the agent; Busy: another holder serves it. The request is finished even if ctx ends
// while the request is under way: a canceled request may already have taken the agent, and no
// process would release it.
func (l *holding) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return fault.Wrap(fault.Canceled, "", fault.Ended(ctx))
	}
	now := l.Clock.Now()
	l.lost = false
	taken, err := l.State.Acquire(context.WithoutCancel(ctx), l.env, l.key, l.NewHolder(), now,
		now.Add(state.LeaseMargin))
	l.lease = taken
	return err
}

// giveUp releases the agent.
func (l *holding) giveUp(ctx context.Context) {
	if l.unrecorded == 0 {
		l.Release(ctx, l.env, l.lease)
	}
}

// commit writes under the lease of the agent. If the answer to a write is lost, the write is
// repeated. Its rows then conflict with themselves and are recognised by their action; all other
// parts may be written twice.
func (l *holding) commit(ctx context.Context, c state.Commit) (state.Committed, error) {
	c.Guard = state.Guard{Key: l.lease.Key, Fence: l.lease.Fence}
	if c.Until.IsZero() {
		c.Until = l.Clock.Now().Add(state.LeaseMargin)
	}
	var done state.Committed
	// A commit is finished even if the caller has given up, so that finished runs are recorded.
	err := l.Retry(context.WithoutCancel(ctx), func() error {
		var err error
		done, err = l.State.Commit(context.WithoutCancel(ctx), l.env, c)
		return err
	})
	l.writes.Lock()
	defer l.writes.Unlock()
	l.paused, l.lost = done.Paused, l.lost || fault.Is(err, fault.Fenced)
	if err == nil && c.Until.After(l.lease.Until) {
		l.lease.Until = c.Until
	}
	return done, fault.Wrap(fault.Unknown, "write results of agent "+l.key, err)
}

// setPaused records whether the agent is paused or the environment halted.
func (l *holding) setPaused(paused bool) {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.paused = paused
}

// isPaused reports whether the agent is paused or the environment halted, as of the last commit.
func (l *holding) isPaused() bool {
	l.writes.Lock()
	defer l.writes.Unlock()
	return l.paused
}

// until returns the end of the lease.
func (l *holding) until() time.Time {
	l.writes.Lock()
	defer l.writes.Unlock()
	return l.lease.Until
}

// setRunning records rows that the lease names as running.
func (l *holding) setRunning(ids []resource.ID) {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.claimed = ids
}

// keepRunning makes a commit leave the running rows of the lease as they are: no schedule has the
// number -1, so the store refuses Next.
func (l *holding) keepRunning(c *state.Commit) {
	l.writes.Lock()
	defer l.writes.Unlock()
	c.Next, c.SeenPlan = l.claimed, -1
}

// MarkInterrupted marks the rows that the previous holder of an agent was running as possibly
// changed. Those runs may have changed things without a record, so the receivers of their events
// have to be notified at the next success. Rows without receivers are marked, too: the next release
// may add receivers, when Running is already cleared. MarkInterrupted has to be the first step
// after an agent is taken, because the first commit clears Running. If it fails, the lease must not
// be released, since a release clears Running as well.
func MarkInterrupted(ctx context.Context, from *state.Client, env string, l state.Lease) error {
	rows, err := from.Rows(ctx, env, l.Running)
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		// No schedule has the number -1, so the store refuses Next and keeps Running until every
		// row is marked.
		c := state.Commit{
			Guard:    state.Guard{Key: l.Key, Fence: l.Fence},
			Next:     l.Running,
			SeenPlan: -1,
		}
		for _, id := range l.Running {
			r := rows[id]
			if r == nil || r.Rev == 0 || r.PossiblyChanged {
				continue // an orphaned row is marked too, since it may return
			}
			lost, _ := step.Next(*r, step.HolderLost{})
			c.Rows = append(c.Rows, lost)
		}
		if len(c.Rows) == 0 {
			break
		}
		var done state.Committed
		if err := from.Retry(ctx, func() (err error) {
			done, err = from.State.Commit(ctx, env, c)
			return err
		}); err != nil {
			return fault.Wrap(fault.Unknown, "take agent over", err)
		}
		clear(rows)
		for i := range done.Conflicts {
			rows[done.Conflicts[i].ID] = &done.Conflicts[i]
		}
	}
	return nil
}

// cover prolongs the lease if it would end before a call can finish and its result be written.
// Otherwise another process could take over the agent during the call. A lease that may have ended
// is not revived: another worker may have seen its end, and may run rows that were moved from here.
func (l *holding) cover(ctx context.Context, limit time.Duration) error {
	for range coverTries {
		if l.isLost() {
			return l.lose("another lane found that it was lost")
		}
		now, ends := l.Clock.Now(), l.until()
		if !ends.Before(now.Add(limit + commitTime)) {
			return nil
		}
		c := state.Commit{Until: now.Add(limit + state.LeaseMargin)}
		l.keepRunning(&c)
		if _, err := l.commit(ctx, c); err != nil {
			return err
		}
		if !l.Clock.Now().Before(ends) {
			return l.lose("its lease ended before it was prolonged")
		}
	}
	return fault.New(
		fault.Unavailable,
		"hold agent "+l.key,
		"the store takes longer to prolong a lease than it is prolonged by",
	)
}

// lose records that another worker may have the lease, and returns an error for the reason.
func (l *holding) lose(why string) error {
	l.writes.Lock()
	defer l.writes.Unlock()
	l.lost = true
	return fault.New(fault.Fenced, "hold agent "+l.key, "%s", why)
}

// isLost reports whether another worker may have the lease.
func (l *holding) isLost() bool {
	l.writes.Lock()
	defer l.writes.Unlock()
	return l.lost
}

// renew prolongs the lease while a call runs. It fails if another worker may have taken the agent: the
// lease was taken over, or has ended. If the store is unavailable, the next renewal may succeed.
func (l *holding) renew(ctx context.Context) error {
	now, ends := l.Clock.Now(), l.until()
	c := state.Commit{Until: now.Add(state.HeldAtOnce + state.LeaseMargin)}
	l.keepRunning(&c)
	if now.Before(ends) {
		if _, err := l.commit(ctx, c); fault.Is(err, fault.Fenced) {
			return err
		} else if err != nil {
			return nil // until the lease ends
		}
	}
	if !l.Clock.Now().Before(ends) {
		return l.lose("its lease ended before it was renewed")
	}
	return nil
}

const (
	commitTime = 5 * time.Second // the time allowed to write a result
	coverTries = 3
)

// fate is the state of runs of a row in the agents that it was moved from: whether one is under way,
// and whether one ended without a record.
type fate struct{ runs, ended bool }

// fates returns the state of runs at other agents for the rows of a batch. It evaluates each holder
// once: a holder that is at work now and has ended a moment later may have written a row in
// between. The batch does not wait for a holder that is known to have ended: if the agent no longer
// exists, no other worker takes it over. Such a holder is fenced if a row keeps state: a state that it
// still keeps would replace the state of the run that follows.
func (l *holding) fates(
	ctx context.Context, leases []state.Lease, batch []*claim,
) (map[resource.ID]fate, error) {
	out := map[resource.ID]fate{}
	for i := range leases {
		o := &leases[i]
		if o.Key == l.key || o.Holder == "" {
			continue
		}
		rows := runningUnder(o, batch)
		if len(rows) == 0 {
			continue
		}
		held := l.AtWork(o)
		if !held && slices.ContainsFunc(rows, func(r *state.Row) bool {
			return run.KeepsState(l.Runs, r)
		}) {
			fenced, err := l.Fence(ctx, l.env, o)
			if err != nil {
				return nil, err
			}
			held = !fenced
		}
		for _, r := range rows {
			f := out[r.ID]
			out[r.ID] = fate{f.runs || held, f.ended || !held}
		}
	}
	return out, nil
}

// runningUnder returns the moved rows of a batch that the holder of another lease has started.
func runningUnder(o *state.Lease, batch []*claim) []*state.Row {
	var out []*state.Row
	for _, c := range batch {
		if slices.Contains(c.row.EarlierAgents(), o.Key) &&
			slices.ContainsFunc(o.Running, c.row.ManagesThingOf) {
			out = append(out, c.row)
		}
	}
	return out
}
