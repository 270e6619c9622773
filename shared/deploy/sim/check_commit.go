package sim

import (
	"math/bits"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// planKey is the lease under which schedules are changed.
const planKey = "plan"

// checkCommit checks a Commit that took effect.
func (r *run) checkCommit(c *state.Commit, out *state.Committed, b before) {
	t := r.sched.cur
	r.checkFence(t, c)
	r.checkWritten(c, out, b)
	if r.plan.Secrets {
		r.checkCommitText(c)
	}
	if c.Guard.Key == planKey {
		r.checkPlan(t, c, out, b)
	} else {
		r.checkResults(t, c, out, b)
	}
	if len(c.Next) > 0 && out.Started {
		r.checkClaim(t, c)
	}
	if len(c.Next) == 0 || out.Started {
		r.checkInherited(t, c.Guard.Key)
	}
	if have := r.books.leases[c.Guard.Key]; have != nil && have.by == t.books && c.Until.After(have.until) {
		have.until = c.Until
	}
	r.checkShrinks(t)
}

// checkShrinks checks that in one schedule nothing comes to be scheduled: what processes have
// learned of it is to stay true. What a wave of a timer leaves out, because it waits for a person,
// counts as scheduled for all others until the lane where it is has recorded that it is left out.
// Until then a run of it that began before may make it something that the wave asks for.
func (r *run) checkShrinks(t *task) {
	e, was := r.state.read(env), r.books.sched
	if r.books.effect == nil {
		return
	}
	now := schedBook{e.env.PlanSeq, r.books.effect, r.pending(e)}
	if more := now.nodes &^ was.nodes; now.seq == was.seq && now.effect == was.effect && more != 0 {
		r.violate("D1", "%s makes %s scheduled in a schedule in which it was not", t.name,
			now.effect.ids[bits.TrailingZeros64(more)])
	}
	r.books.sched = now
}

// schedBook is what was scheduled when something was last written.
type schedBook struct {
	seq    int64
	effect *effective
	nodes  uint64
}

// checkFence is invariant D3: only who holds the lease writes.
func (r *run) checkFence(t *task, c *state.Commit) {
	have := r.books.leases[c.Guard.Key]
	switch {
	case have == nil:
		r.violate("D3", "%s commits under %q, which nobody holds", t.name, c.Guard.Key)
	case have.by != t.books:
		r.violate("D3", "%s commits under %q, which another took over: a stale holder's commit is accepted", t.name, c.Guard.Key)
	case have.freed:
		r.violate("D3", "%s commits under %q, which it has given up", t.name, c.Guard.Key)
	}
}

// checkWritten checks that rows were written under their condition, and that what was acknowledged
// is there (D3, D4).
func (r *run) checkWritten(c *state.Commit, out *state.Committed, b before) {
	e := r.state.read(env)
	for i := range c.Rows {
		row := &c.Rows[i]
		was, had := b.rows[row.ID]
		fits := had && was.Rev == row.Rev || !had && (row.Rev == 0 || row.Gone)
		listed := slices.ContainsFunc(out.Conflicts, func(o state.Row) bool { return o.ID == row.ID })
		now := e.rows[row.ID]
		wrote := now != nil && (!had || now.Rev != was.Rev)
		if row.Gone {
			if wrote = now == nil; wrote {
				r.books.gone(row.ID)
			}
		}
		switch {
		case !fits && wrote && (had || !row.Gone):
			r.violate("D3", "%s writes %s at revision %d, which is %d by now: a change of somebody else is lost", r.sched.cur.name, row.ID, row.Rev, was.Rev)
		case fits && !listed && !wrote:
			r.violate("D4", "%s has been told that %s is written, and it is not", r.sched.cur.name, row.ID)
		}
	}
	for i := range c.Actions {
		if _, ok := e.actions[c.Actions[i].ID]; !ok {
			r.violate("L1", "the record of a run of %s is not stored", c.Actions[i].Resource)
		}
	}
	for _, o := range c.AddOutbox {
		if _, ok := e.outbox[o.ID]; !ok && c.Guard.Key != planKey { // a planner strikes off at once what it has done
			r.violate("D4", "what follows from a run of %s (%s) is not stored", o.Of, o.Kind)
		}
	}
}

// written returns the rows of a commit that were not left out, with what they were.
func written(c *state.Commit, out *state.Committed, each func(row *state.Row)) {
	for i := range c.Rows {
		if !slices.ContainsFunc(out.Conflicts, func(o state.Row) bool { return o.ID == c.Rows[i].ID }) {
			each(&c.Rows[i])
		}
	}
}

// checkResults checks what a worker of a lane commits.
func (r *run) checkResults(t *task, c *state.Commit, out *state.Committed, b before) {
	if c.Env != nil || c.Plan {
		r.violate("D3", "%s changes the schedule and does not hold %q", t.name, planKey)
	}
	r.bookShelves(t, c)
	written(c, out, func(row *state.Row) {
		was := b.rows[row.ID]
		t.books.later[row.ID] = row.NotBefore
		r.reasonResults(row, &was)
		r.reasonChanged(c, row, &was)
		if row.Hash != was.Hash || string(row.Body) != string(was.Body) || row.Version != was.Version || row.Orphaned != was.Orphaned || row.Lane != was.Lane {
			r.violate("D5", "%s changes the intent of %s", t.name, row.ID)
		}
		if row.LastAction != was.LastAction {
			r.checkResult(t, row, &was, c)
			r.checkOutcome(row, &was, c)
			r.checkMeanwhile(t, row, &was)
			r.checkNotified(t, row, &was, c)
		} else if row.Attempts != was.Attempts {
			r.violate("D7", "%s counts a failure of %s twice", t.name, row.ID)
		}
	})
	for i := range c.Rows {
		r.checkPatient(t, &c.Rows[i], c.Guard.Key)
	}
	for i := range c.Actions {
		r.checkAction(t, &c.Actions[i])
	}
	r.reasonOutbox(c)
	r.reasonConflicts(t, c, out)
	r.expectStale(t, c, out)
	r.checkUnwritten(t, c)
	for _, id := range c.Checked {
		if have := t.books.runs[id]; have != nil {
			have.recorded = true
		}
	}
}

// checkPatient checks that nothing is skipped for what is scheduled once more in another lane: that
// is known when a requirement is read, and it is to wait for it.
func (r *run) checkPatient(t *task, row *state.Row, lane string) {
	eff := t.books.effect
	if eff == nil || row.Blocked != state.BlockedTemp || !slices.Contains(t.books.claimed, row.ID) ||
		row.LastAction == "" || t.books.skipped[row.LastAction] {
		return
	}
	t.books.skipped[row.LastAction] = true
	i, known := eff.index[row.ID]
	for j, id := range eff.ids {
		q, read := t.books.saw[id]
		if known && eff.needs[i]&(1<<j) != 0 && read && q.Lane != lane && q.Ticket != 0 && !asWanted(&q) {
			r.violate("D6", "%s skips %s, and has read that %s, which that requires, is scheduled",
				t.name, row.ID, id)
		}
	}
}

// checkResult checks one result: D5 and D7, L1.
func (r *run) checkResult(t *task, row, was *state.Row, c *state.Commit) {
	if !slices.ContainsFunc(c.Actions, func(a state.Action) bool { return a.ID == row.LastAction }) && !r.books.actions[row.LastAction] {
		r.violate("L1", "the result of a run of %s is stored without its record %s", row.ID, row.LastAction)
	}
	have := t.books.runs[row.ID]
	success := row.LastRun == state.RunSuccess && row.Compliance == state.Compliant && row.Deployed == row.Hash && row.NotBefore.IsZero()
	if success {
		switch want, purged := r.wanted(row); {
		case have == nil || have.calls == 0:
			r.violate("D5", "%s counts as deployed and its handler has not run", row.ID)
		case !have.parts.fits(want) || have.purged != purged:
			r.violate("D5", "%s counts as deployed with %+v (purged: %v), and its handler ran for %+v (purged: %v)", row.ID, want, purged, have.parts, have.purged)
		case have.failed:
			r.violate("D7", "%s counts as deployed and its handler failed", row.ID)
		case have.waits && row.Ticket == 0 && was.Ticket != 0:
			r.violate("D4", "%s counts as deployed and its handler said that it is in progress", row.ID)
		}
	}
	failed := row.LastRun == state.RunFailed || row.LastRun == state.RunSkipped && row.Blocked != state.BlockedTemp
	if failed && row.Ticket == 0 && row.NotBefore.IsZero() && row.Blocked != state.BlockedYes {
		r.checkBackoff(t, row, was)
	}
}

// checkBackoff is invariant D7: what may pass by itself is tried again, later and later; what will
// not pass waits.
func (r *run) checkBackoff(t *task, row, was *state.Row) {
	waits := forGood(row) || row.Blocked == state.NeedsPerson
	switch {
	case !waits && row.Attempts != was.Attempts+1:
		r.violate("D7", "%s failed for the %d. time in a row, after %d", row.ID, row.Attempts, was.Attempts)
	case waits && !row.NextAt.IsZero():
		r.violate("D7", "%s failed for good (%s) and is tried again by itself", row.ID, row.Class)
	case !waits && row.NextAt.IsZero():
		r.violate("D7", "%s failed (%s) and is not tried again", row.ID, row.Class)
	case !waits && !row.NextAt.After(row.LastAt):
		r.violate("D7", "%s failed and is tried again at once", row.ID)
	case !waits && row.NextAt.Sub(row.LastAt) > 2*r.longestPause(t):
		r.violate("D7", "%s is tried again only after %s", row.ID, row.NextAt.Sub(row.LastAt))
	case !waits && r.knowsSettings(t) && !r.backoffs(row.NextAt.Sub(row.LastAt), row.Attempts):
		r.violate("D7", "%s is tried again after %s, having failed %d times", row.ID, row.NextAt.Sub(row.LastAt), row.Attempts)
	}
}

// longestPause is what the settings say that a task may know.
func (r *run) longestPause(t *task) time.Duration {
	if !r.knowsSettings(t) {
		return 10 * time.Minute // the engine's own
	}
	return max(r.plan.Settings.RetryMax, time.Second)
}

// checkInherited is invariant D4 for what a lost holder was running: before the store forgets it,
// it is noted with what may have changed, or a run elsewhere, which knew of the loss, has told of
// it.
func (r *run) checkInherited(t *task, key string) {
	for _, id := range t.books.inherits[key] {
		if row := r.state.read(env).rows[id]; row != nil && row.Lane == key && !row.Orphaned &&
			!row.PossiblyChanged &&
			row.ChangedAt.Equal(t.books.changed[id]) &&
			r.tells(id) {
			r.violate("D4", "%s forgets that %s was being run when %q was lost", t.name, id, key)
		}
	}
	delete(t.books.inherits, key)
}

// tells reports whether others are told of the changes of a resource.
func (r *run) tells(id resource.ID) bool {
	row := r.state.read(env).rows[id]
	if row == nil {
		return false
	}
	res, err := resource.Decode(row.Body)
	return err == nil && res.SendsEvents()
}

// checkLeft checks that nobody gives up a lane in which something has acted that is not recorded:
// whoever takes it next would not be told.
func (r *run) checkLeft(t *task, key string) {
	for id, run := range t.books.runs {
		if key == t.books.lane && run.acted && !run.recorded {
			r.violate("D4", "%s gives up %q, and its run of %s, which acted, is not recorded", t.name, key, id)
		}
	}
}

// checkEnded is invariant L1 at the end of a run of a lane: also one that was told to stop records
// what its handlers did.
func (r *run) checkEnded(t *task, lane string, err error) {
	if t.books.open != 0 {
		r.violate("transport", "%s ends and leaves its connection open", t.name)
	}
	have := r.books.leases[lane]
	if have == nil || have.by != t.books {
		return // somebody else goes on
	}
	if err == nil && t.faults == 0 {
		for id, of := range t.books.stale {
			r.violate("L1", "%s ends, and its run %s of %s, whose intent was replaced, is not recorded as stale", t.name, id, of)
		}
	}
	if t.lost > 0 {
		return // it could not
	}
	for id, run := range t.books.runs {
		if run.acted && !run.recorded {
			r.violate("L1", "%s ends, and its run of %s, which acted, is not recorded", t.name, id)
		}
	}
}

// wanted returns what a row wants of its thing.
func (r *run) wanted(row *state.Row) (parts, bool) {
	res, err := resource.Decode(row.Body)
	if err != nil {
		r.violate("V1", "what %s wants does not decode: %v", row.ID, err)
		return parts{}, false
	}
	attributes, _ := resource.Walk(res.Attributes, func(ref any) (any, error) {
		if s, ok := ref.(resource.Secret); ok {
			if s.Version == "" {
				return nil, nil // it could not be read when it was exported: any version will do
			}
			v, _ := r.secret(s)
			return v, nil
		}
		if f, ok := ref.(resource.File); ok {
			return r.texts[f.Hash], nil
		}
		return nil, nil
	})
	m, _ := attributes.(map[string]any)
	return partsOf(m), res.Purged
}
