package sim

import (
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// planKey is the lease under which schedules are changed.
const planKey = "plan"

// checkCommit checks a Commit that took effect.
func (r *run) checkCommit(c *deploy.Commit, out *deploy.Committed, b before) {
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
	if have := r.books.leases[c.Guard.Key]; have != nil && have.by == t.books && c.Until.After(have.until) {
		have.until = c.Until
	}
}

// checkFence is invariant D3: only who holds the lease writes.
func (r *run) checkFence(t *task, c *deploy.Commit) {
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

// checkWritten checks that rows were written under their condition, and that what was acknowledged is there (D3, D4).
func (r *run) checkWritten(c *deploy.Commit, out *deploy.Committed, b before) {
	e := r.state.look(env)
	for i := range c.Rows {
		row := &c.Rows[i]
		was, had := b.rows[row.ID]
		fits := had && was.Rev == row.Rev || !had && (row.Rev == 0 || row.Gone)
		listed := slices.ContainsFunc(out.Conflicts, func(o deploy.Row) bool { return o.ID == row.ID })
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
		if _, ok := e.outbox[o.ID]; !ok {
			r.violate("D4", "what follows from a run of %s (%s) is not stored", o.Of, o.Kind)
		}
	}
}

// written returns the rows of a commit that were not left out, with what they were.
func written(c *deploy.Commit, out *deploy.Committed, each func(row *deploy.Row)) {
	for i := range c.Rows {
		if !slices.ContainsFunc(out.Conflicts, func(o deploy.Row) bool { return o.ID == c.Rows[i].ID }) {
			each(&c.Rows[i])
		}
	}
}

// checkResults checks what a worker of a lane commits.
func (r *run) checkResults(t *task, c *deploy.Commit, out *deploy.Committed, b before) {
	if c.Env != nil || c.Plan {
		r.violate("D3", "%s changes the schedule and does not hold %q", t.name, planKey)
	}
	written(c, out, func(row *deploy.Row) {
		was := b.rows[row.ID]
		t.books.later[row.ID] = row.NotBefore
		if row.Hash != was.Hash || string(row.Body) != string(was.Body) || row.Version != was.Version || row.Orphaned != was.Orphaned || row.Lane != was.Lane {
			r.violate("D5", "%s changes the intent of %s", t.name, row.ID)
		}
		if row.LastAction != was.LastAction {
			r.checkResult(t, row, &was, c)
		}
	})
	for i := range c.Actions {
		r.checkAction(t, &c.Actions[i])
	}
	for _, id := range c.Checked {
		if have := t.books.runs[id]; have != nil {
			have.recorded = true
		}
	}
}

// checkResult checks one result: D5 and D7, L1.
func (r *run) checkResult(t *task, row, was *deploy.Row, c *deploy.Commit) {
	if !slices.ContainsFunc(c.Actions, func(a deploy.Action) bool { return a.ID == row.LastAction }) && !r.books.actions[row.LastAction] {
		r.violate("L1", "the result of a run of %s is stored without its record %s", row.ID, row.LastAction)
	}
	have := t.books.runs[row.ID]
	success := row.LastRun == deploy.RunSuccess && row.Compliance == deploy.Compliant && row.Deployed == row.Hash && row.NotBefore.IsZero()
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
	if row.LastRun == deploy.RunFailed && row.LastAction != was.LastAction && row.Ticket == 0 && row.NotBefore.IsZero() && row.Blocked != deploy.BlockedYes {
		r.checkBackoff(t, row)
	}
}

// checkBackoff is invariant D7: what may pass by itself is tried again, later and later; what will not pass waits.
func (r *run) checkBackoff(t *task, row *deploy.Row) {
	waits := row.Class == provider.Terminal || row.Class == provider.NeedsChange || row.Blocked == deploy.NeedsPerson
	switch {
	case waits && !row.NextAt.IsZero():
		r.violate("D7", "%s failed for good (%s) and is tried again by itself", row.ID, row.Class)
	case !waits && row.NextAt.IsZero():
		r.violate("D7", "%s failed (%s) and is not tried again", row.ID, row.Class)
	case !waits && !row.NextAt.After(row.LastAt):
		r.violate("D7", "%s failed and is tried again at once", row.ID)
	case !waits && row.NextAt.Sub(row.LastAt) > 2*r.longestPause(t):
		r.violate("D7", "%s is tried again only after %s", row.ID, row.NextAt.Sub(row.LastAt))
	}
}

// longestPause is what the settings say that a task may know: an environment has those of the plan once a whole model has been exported to it.
func (r *run) longestPause(t *task) time.Duration {
	if r.books.settled == 0 || t.began <= r.books.settled {
		return 10 * time.Minute // the engine's own
	}
	return max(r.plan.Settings.RetryMax, time.Second)
}

// checkAction is invariant L1: one record a finished run, with what its handler logged.
func (r *run) checkAction(t *task, a *deploy.Action) {
	if r.books.actions[a.ID] {
		return // written again, after an answer that was lost
	}
	r.books.actions[a.ID] = true
	if a.Finished.Before(a.Started) {
		r.violate("L1", "the record of a run of %s says that it ended before it began", a.Resource)
	}
	if a.Action == deploy.ActionDryRun {
		return
	}
	have := t.books.runs[a.Resource]
	ran := a.Outcome == deploy.StatusDeployed || a.Outcome == deploy.StatusNonCompliant || a.Outcome == deploy.StatusDeploying
	switch {
	case ran && (have == nil || have.calls == 0):
		r.violate("L1", "a run of %s is recorded (%s) and its handler was not called", a.Resource, a.Outcome)
	case ran && have.recorded:
		r.violate("L1", "a run of %s is recorded twice, as %s, too", a.Resource, a.ID)
	case have != nil && !have.recorded && len(a.Messages) < have.lines:
		r.violate("L1", "the handler of %s logged %d lines, and %d are recorded", a.Resource, have.lines, len(a.Messages))
	}
	if have != nil {
		have.recorded = true
	}
}

// checkEnded is invariant L1 at the end of a run of a lane: also one that was told to stop records what its handlers did.
func (r *run) checkEnded(t *task, lane string, err error) {
	have := r.books.leases[lane]
	if err != nil || have == nil || have.by != t.books || t.faults > 0 {
		return // it could not, or somebody else goes on
	}
	for id, run := range t.books.runs {
		if run.acted && !run.recorded {
			r.violate("L1", "%s ends, and its run of %s, which acted, is not recorded", t.name, id)
		}
	}
}

// wanted returns what a row wants of its thing.
func (r *run) wanted(row *deploy.Row) (parts, bool) {
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
		return nil, nil
	})
	m, _ := attributes.(map[string]any)
	return partsOf(m), res.Purged
}
