package planner

import (
	"context"

	"southbound/shared/deploy/state"
)

// The two effects of a planner's commit on the schedule. If the schedule changes, workers that have
// read it have to read it again before they start a run.
const (
	scheduleChanges = true
	scheduleStays   = false
)

// commit writes the plan together with the environment, and notifies the agents that got work. Rows
// that a worker has changed since they were read are planned again, until all are written. plan is
// scheduleChanges or scheduleStays.
//
// The first commit writes everything but conflicting and moved rows; later commits write these. A
// moved row is removed by a commit after the one that stores its state elsewhere. After a crash
// in between, outbox entries are still stored and request the rest of the work. A release is not
// complete, and the next planner finishes it. A request was not answered. Notices are sent last, so
// that a notified worker finds its work. If notices are lost, a sweep sends them again.
func (p *planning) commit(ctx context.Context, plan bool) error {
	s := &p.store
	if nothing(p) {
		return nil
	}
	c := state.Commit{
		Guard:          p.commits.guard(),
		Plan:           plan,
		DropOutbox:     p.drop,
		Env:            &p.env,
		AddOutbox:      p.add,
		Version:        s.version,
		Forget:         s.forget,
		Agents:         s.agents,
		DropAgents:     s.dropAgents,
		Parameters:     s.set,
		DropParameters: s.unset,
		DropKept:       s.dropKept,
	}
	if len(p.order) > 0 {
		c.Rows = make([]state.Row, 0, len(p.order))
	}
	for _, id := range p.order {
		if row, was := p.rows[id], p.before[id]; toWrite(row, &was) {
			c.Rows = append(c.Rows, *row)
			// drops the reference to the copied row, since there may be very many
			p.rows[id] = &c.Rows[len(c.Rows)-1]
		}
	}
	rows, conflicts := c.Rows, false
	var last []state.Row
	for {
		c.Rows, last = p.moves.takeFirst(c.Rows, last)
		now := p.pl.Clock.Now()
		c.Until = now.Add(planLease)
		done, err := p.commits.write(ctx, p.env.Name, c)
		if err != nil {
			return err
		}
		// while the lease lasts, other processes write the environment only through Pause and Halt
		if c.Env != nil {
			p.env.Rev, p.env.PlanSeq = p.env.Rev+1, done.PlanSeq
			p.was = p.env
		}
		drop := c.DropOutbox
		first := c.FirstRev()
		c = state.Commit{Guard: c.Guard, Plan: plan}
		if c.Rows, err = moveAgain(ctx, p, first, done.Conflicts); err != nil {
			return err
		}
		if len(c.Rows) > 0 {
			c.Parameters, c.DropParameters = p.store.set, p.store.unset
		}
		if len(done.Conflicts) > 0 {
			c.DropOutbox = drop // they are still stored
		}
		for i := range done.Conflicts {
			conflicts = true
			row := &done.Conflicts[i]
			if row.Rev == 0 && !p.whole[row.ID] {
				continue // the row is gone, and with it the planned change
			}
			was := *row
			// Facts that other resources refer to were requested from the removed row, and went with
			// it: request them from this row.
			if row.Rev == 0 && p.rows[row.ID].AskedForFacts() {
				row.AskFacts()
			}
			if again := p.reapply[row.ID]; again(row) && toWrite(row, &was) {
				c.Rows = append(c.Rows, *row)
			}
		}
		p.inOrder(c.Rows)
		if len(c.Rows)+len(c.DropOutbox)+len(last) == 0 {
			break
		}
	}
	p.reset()
	p.pendingNotices.add(rows, conflicts)
	if p.env.Releasing == 0 {
		p.notifyPlanned(ctx, p.pendingNotices.rows, p.pendingNotices.conflicts)
		p.pendingNotices = pendingNotices{}
	}
	return nil
}

// nothing reports whether the plan has nothing to write.
func nothing(p *planning) bool { return len(p.drop) == 0 && !hasWrites(p) }

// hasWrites reports whether the plan has more to write than the removal of outbox entries.
func hasWrites(p *planning) bool {
	s := &p.store
	n := len(p.order) + len(s.forget) + len(s.agents) + len(s.set) + len(s.unset) +
		len(s.dropAgents) + len(s.dropKept)
	return n > 0 || s.version != nil || p.env != p.was
}

// toWrite reports whether a planned row has to be written: not if it was changed and changed back.
func toWrite(row, was *state.Row) bool { return row.Rev == 0 || !row.Same(was) }
