package deploy

import (
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/resource"
)

// record commits results: rows, actions, facts, and what follows from them.
func (w *worker) record(ctx context.Context, done []*claim) error {
	if len(done) == 0 {
		return nil
	}
	c := Commit{Epoch: w.sched.Wave.Epoch}
	_, waving := w.sched.Unfinished[w.lane]
	byID := make(map[resource.ID]*claim, len(done))
	defer func() {
		for i := range c.Rows { // as the store has them now
			if cl := byID[c.Rows[i].ID]; cl.result.outcome == StatusDeploying {
				cl.row.Rev++
			} else {
				cl.wrote.Rev++
			}
		}
	}()
	for _, cl := range done {
		byID[cl.row.ID] = cl
		c.Actions = append(c.Actions, w.e.actionOf(cl.row, cl.result))
		finished := cl.result.outcome != StatusDeploying
		if waving && finished && !cl.row.Removing {
			c.Checked = append(c.Checked, cl.row.ID)
			w.checked()[cl.row.ID] = true
			cl.wrote.Checked = w.sched.Wave.Epoch
		}
		if waving && cl.result.outcome == StatusDeployed && cl.result.change == plan.NoChange && clean(cl.row) && len(cl.result.facts) == 0 {
			continue
		}
		c.Rows = append(c.Rows, cl.wrote)
		c.AddOutbox = append(c.AddOutbox, w.follows(cl)...)
		for name, value := range cl.result.facts {
			c.Parameters = append(c.Parameters, Parameter{Name: name, Of: cl.row.ID, Value: value, Source: "fact", Updated: cl.result.finished})
		}
	}
	// What follows has to reach the lanes of others before they hear that this one is done.
	w.unrecorded = true
	committed, err := w.commit(ctx, c)
	if err != nil {
		return err
	}
	conflicts := committed.Conflicts
	follows := c.AddOutbox
	for len(conflicts) > 0 {
		var more []Outbox
		if conflicts, more, err = w.again(ctx, conflicts, byID); err != nil {
			return err
		}
		follows = append(follows, more...)
	}
	w.unrecorded = false
	w.flushRings(ctx)
	return w.propagate(ctx, follows)
}

// again settles results on rows that others have changed since they were read.
func (w *worker) again(ctx context.Context, conflicts []Row, byID map[resource.ID]*claim) ([]Row, []Outbox, error) {
	var c Commit
	w.session.changed = true
	for i := range conflicts {
		now := &conflicts[i]
		cl := byID[now.ID]
		switch standingOf(cl, now) {
		case resultCounts:
			row := w.settleOn(*now, cl)
			c.Rows = append(c.Rows, row)
			c.AddOutbox = append(c.AddOutbox, w.follows(&claim{row: now, node: cl.node, result: cl.result, wrote: row})...)
		case resultMoot:
			c.AddOutbox = append(c.AddOutbox, w.unskip(cl)...)
			if now.Ticket == 0 && runnable(now) { // a wave asked for it
				now.Ticket, now.Priority = 1, w.sched.Wave.Priority
				c.Rows = append(c.Rows, *now)
			}
		case resultOvertaken:
			c.AddOutbox = append(c.AddOutbox, lookAgain(cl)...)
			fallthrough
		case resultStale:
			c.AddOutbox = append(c.AddOutbox, w.unskip(cl)...)
			stale := w.e.actionOf(cl.row, cl.result)
			stale.Stale = true
			c.Actions = append(c.Actions, stale)
		case resultVoid:
			c.AddOutbox = append(c.AddOutbox, w.unskip(cl)...)
		case resultThere:
		}
	}
	if len(c.Rows)+len(c.Actions)+len(c.AddOutbox) == 0 {
		return nil, nil, nil
	}
	committed, err := w.commit(ctx, c)
	return committed.Conflicts, c.AddOutbox, err
}

// unskip wakes what was skipped with c, because of a result of c that does not count any more.
func (w *worker) unskip(c *claim) []Outbox {
	if c.node < 0 || c.result.outcome == StatusDeployed || c.result.outcome == StatusDeploying || len(w.graph.Dependants(c.node)) == 0 {
		return nil
	}
	return []Outbox{{ID: c.result.action + "-" + string(OutboxRecovered), Kind: OutboxRecovered, Of: c.row.ID, At: c.result.finished, Priority: c.row.Priority}}
}

// lookAgain has a resource looked at once more of which a run has been overtaken by another: what it did, or the facts that it read, the other may
// not have seen.
func lookAgain(c *claim) []Outbox {
	if !c.result.acted && len(c.result.facts) == 0 {
		return nil
	}
	return []Outbox{{ID: c.result.action + "-" + string(OutboxAgain), Kind: OutboxAgain, Of: c.row.ID, At: c.result.finished, Priority: c.row.Priority}}
}

// actionOf makes the record of a run.
func (e *Engine) actionOf(r *Row, res *result) Action {
	return Action{ID: res.action, Resource: r.ID, Version: r.Version, Action: res.kind, Outcome: res.outcome, Change: res.change,
		Started: res.started, Finished: res.finished, Changes: res.changes, Messages: res.lines, Reason: res.reason, Pack: e.Pack,
		Provider: res.provider, ProviderWhy: res.providerWhy}
}

// follows says what a finished run sets off.
func (w *worker) follows(c *claim) []Outbox {
	var out []Outbox
	add := func(kind OutboxKind) {
		out = append(out, Outbox{ID: c.result.action + "-" + string(kind), Kind: kind, Of: c.row.ID, At: c.result.finished, Priority: c.row.Priority})
	}
	if len(c.result.facts) > 0 {
		add(OutboxFact)
	}
	if c.result.outcome == StatusDeploying || c.node < 0 || len(w.graph.Dependants(c.node)) == 0 {
		return out
	}
	// A new intent clears what came of the one before, and with it what others may have been skipped for.
	forgotten := c.row.LastRun == RunSkipped && c.row.Compliance == HasUpdate || c.row.LastRun == RunNew && !c.row.LastAt.IsZero()
	failed := forgotten || c.row.LastRun == RunFailed || c.row.LastRun == RunSkipped || c.row.Compliance == NonCompliant
	if failed && (c.result.outcome == StatusDeployed || forgotten || !slices.Equal(roots(c.row), roots(&c.wrote))) {
		add(OutboxRecovered) // or it fails for something else now, which those skipped because of it are to name
	}
	if c.result.sendEvent && !w.allFollow(c) {
		add(OutboxEvent)
	}
	return out
}

// roots returns what those name that are skipped because of r.
func roots(r *Row) []resource.ID {
	if len(r.Causes) > 0 {
		return r.Causes
	}
	return []resource.ID{r.ID}
}

// allFollow reports whether all that require c are to run anyway, after it. In another lane something may be running since before c was
// scheduled; what has the ticket of the same plan or of a later one was claimed with c in sight, and waits. A wave asks again for what ran in it
// before it began.
func (w *worker) allFollow(c *claim) bool {
	for _, n := range w.graph.Dependants(c.node) {
		here := w.rows[n] != nil
		if !w.frontier.needs[n] || w.unsure[n] || !here && w.tickets[n] < c.row.Ticket {
			return false
		}
	}
	return true
}

// commit writes under the lane's lease. A write whose answer was lost is written again: rows then conflict with themselves and
// are recognised by their action, all else is the same twice.
func (w *worker) commit(ctx context.Context, c Commit) (Committed, error) {
	c.Guard = Guard{Key: w.lease.Key, Fence: w.lease.Fence}
	if c.Until.IsZero() {
		c.Until = w.e.Clock.Now().Add(leaseMargin)
	}
	var done Committed
	// A commit is finished even when the caller has given up: what ran is recorded.
	err := w.e.retryUnavailable(context.WithoutCancel(ctx), func() error {
		var err error
		done, err = w.e.State.Commit(context.WithoutCancel(ctx), w.env, c)
		return err
	})
	w.out.Paused = done.Paused
	return done, fault.Wrap(fault.Unknown, "write results of lane "+w.lane, err)
}

// propagate does at once what follows from a commit; when that fails a sweep does it.
func (w *worker) propagate(ctx context.Context, entries []Outbox) error {
	if len(entries) == 0 {
		if w.session.changed {
			w.session.changed = false
			return w.reload(ctx)
		}
		return nil
	}
	w.session.changed = false
	if err := w.e.settleOutbox(ctx, w.env, entries); err != nil && ctx.Err() == nil && !transient(err) {
		return err
	}
	return w.reload(ctx)
}

// transient reports whether err passes by itself.
func transient(err error) bool {
	return slices.Contains([]fault.Kind{fault.Unavailable, fault.Busy, fault.Timeout, fault.Conflict, fault.Fenced, fault.Canceled}, fault.KindOf(err))
}
