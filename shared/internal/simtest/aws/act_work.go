package aws

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// work is a round of a worker: it takes a lane and commits results.
func (a *actorState) work(round int) {
	lane := a.lane(a.agent())
	l, err := a.s.acquire(lane, a.holder(round))
	if err != nil {
		return
	}
	seen, epoch, rows, err := a.begin(lane)
	if err != nil {
		return
	}
	for range 1 + a.t.rng.IntN(3) {
		c := a.results(l, rows, epoch)
		c.SeenPlan = seen
		out, err := a.s.commit(c)
		switch {
		case gone(err):
			return
		case err != nil:
			if rows, err = a.s.laneRows(lane, true); err != nil {
				return
			}
		default:
			rows = after(rows, c.Rows, out.Conflicts, lane)
			if a.chance(50) {
				seen = out.PlanSeq
			}
		}
	}
	a.leave(l)
}

// begin reads the state of a lane that a worker needs, in one call or in several.
func (a *actorState) begin(lane string) (seen, epoch int64, rows []state.Row, err error) {
	all := a.chance(70) || a.r.plan.lingers
	switch n := a.t.rng.IntN(100); {
	case n < 40:
		var l state.Lane
		l, err = a.s.lane(lane, all)
		return l.Schedule.PlanSeq, l.Schedule.Wave.Epoch, l.Rows, err
	case n < 75:
		var sched state.Schedule
		sched, err = a.s.schedule()
		seen, epoch = sched.PlanSeq, sched.Wave.Epoch
	default:
		var e state.Env
		e, err = a.s.env()
		seen, epoch = e.PlanSeq, e.Wave.Epoch
	}
	if err == nil {
		rows, err = a.s.laneRows(lane, all)
	}
	return seen, epoch, rows, err
}

// results returns a commit with the results of some rows.
func (a *actorState) results(l state.Lease, rows []state.Row, epoch int64) state.Commit {
	c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}, Epoch: epoch}
	for _, r := range rows {
		switch n := a.t.rng.IntN(100); {
		case n < 35:
			act := a.newAction(r.ID, r.Version)
			r.Observed, r.LastRun, r.LastAt, r.LastAction, r.Checked = r.Generation, state.RunSuccess, a.r.now,
				act.ID, epoch
			r.Compliance, r.Deployed, r.NextAt = state.Compliant, r.Hash, time.Time{}
			r.Body = []byte("a result never changes what is wanted")
			if a.chance(30) && (!a.idles() || a.chance(50)) {
				r.NextAt = a.r.now.Add(time.Duration(a.t.rng.IntN(3)) * leaseTime)
			}
			if a.chance(20) {
				r.LastRun, r.Compliance, r.Reason = state.RunFailed, state.NonCompliant,
					"it did not work"
			}
			if r.Removing || a.chance(3) {
				r.Gone = true
			}
			c.Rows = append(c.Rows, r)
			c.Actions = append(c.Actions, act)
		case n < 50:
			c.Checked = append(c.Checked, r.ID)
		case n < 85:
			c.Next = append(c.Next, r.ID)
		}
	}
	if a.chance(30) && (!a.idles() || a.chance(50)) {
		c.AddOutbox = []state.Outbox{a.newEntry()}
	}
	if a.chance(10) {
		o := a.newEntry()
		c.AddOutbox, c.DropOutbox = append(c.AddOutbox, o), []string{o.ID}
	}
	if a.chance(10) { // entries of other tablets
		if have, err := a.s.outbox(); err == nil && len(have) > 0 {
			c.DropOutbox = append(c.DropOutbox, have[0].ID)
		}
	}
	if a.chance(15) {
		c.WaveDone = epoch
	}
	if a.chance(15) {
		c.Parameters = []state.Parameter{{Name: "f", Of: a.anyID(),
			Value: string(rune('a' + a.t.rng.IntN(20))), Source: "fact", Updated: a.r.now}}
	}
	if a.chance(30) {
		c.Until = a.r.now.Add(2 * leaseTime)
	}
	return c
}

// after returns the rows that a worker knows after a commit.
func after(rows, written, conflicts []state.Row, lane string) []state.Row {
	now := map[resource.ID]state.Row{}
	for _, r := range written {
		body := r.Body
		for _, o := range rows {
			if o.ID == r.ID {
				body = o.Body
			}
		}
		r.Body = body
		r.Rev++
		now[r.ID] = r
	}
	for _, r := range conflicts {
		now[r.ID] = r
	}
	var out []state.Row
	for _, r := range rows {
		if n, ok := now[r.ID]; ok {
			r = n
		}
		if r.Rev > 0 && !r.Gone && r.Lane == lane {
			out = append(out, r)
		}
	}
	return out
}

// operate is a round of an operator.
func (a *actorState) operate() {
	if a.chance(30) {
		_ = a.s.setIdleEpoch(int64(a.t.rng.IntN(3)))
	}
	if a.chance(60) {
		_ = a.s.pause(a.chance(50), a.agent())
	} else {
		_ = a.s.halt(a.chance(50))
	}
}

// read makes one read call.
func (a *actorState) read() {
	switch a.t.rng.IntN(15) {
	case 0:
		_, _ = a.s.env()
	case 1:
		_, _ = a.s.versions()
	case 2:
		_, _ = a.s.agents()
	case 3:
		_, _ = a.s.leases()
	case 4:
		_, _ = a.s.rows([]resource.ID{a.anyID(), a.anyID(), a.anyID()})
	case 5:
		_, _ = a.s.laneRows(a.lane(a.agent()), a.chance(50))
	case 6:
		_, _ = a.s.scanRows(a.anyID(), 1+a.t.rng.IntN(4))
	case 7:
		if a.chance(50) {
			_, _ = a.s.overview()
			return
		}
		_, _ = a.s.schedule()
	case 8:
		e, err := a.s.env()
		if err == nil {
			_, _ = a.s.finished([]resource.ID{a.anyID(), a.anyID()}, e.Wave.Epoch)
		}
	case 9:
		_, _ = a.s.due(a.r.now.Add(leaseTime), 100)
	case 10:
		_, _ = a.s.counts()
	case 11:
		_, _ = a.s.outbox()
	case 12:
		_, _ = a.s.parameters(state.ParameterQuery{Facts: a.chance(50)})
	case 13:
		_, _ = a.s.actions(state.ActionQuery{})
	default:
		_, _ = a.s.actions(state.ActionQuery{Limit: 1 + a.t.rng.IntN(3)})
	}
}

// collect is a round of a collector, which removes old data and marks the environment as quiet.
func (a *actorState) collect() {
	if a.r.plan.drops && a.chance(50) && isIdle(a.r) {
		a.r.land(a.r.now.Add(time.Hour))
		a.r.now = a.r.now.Add(2 * orphanAge)
		a.r.happened("hours pass")
		a.r.say("hours pass")
	}
	n := a.t.rng.IntN(5)
	if a.r.plan.quiet && a.chance(70) {
		n = 4
	}
	switch n {
	case 0:
		_, _ = a.s.dropActions(a.r.now.Add(-keepTime))
	case 1:
		_, _ = a.s.dropOrphans(a.r.now.Add(-orphanAge))
	case 2:
		_, _ = a.s.resting()
	default:
		out, err := a.s.due(a.r.now, 100)
		if err == nil && len(out.ids) == 0 {
			until := out.next
			if until.IsZero() {
				until = a.r.now.Add(time.Hour)
			}
			_, _ = a.s.rest(until)
		}
	}
}

// isIdle reports whether no operation is in progress, except for that of the current task.
func isIdle(r *run) bool {
	for _, t := range r.open {
		if t != r.cur && t.op != nil && t.op.ret < 0 {
			return false
		}
	}
	return true
}
