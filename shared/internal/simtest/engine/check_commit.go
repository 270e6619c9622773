package engine

import (
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// planKey is the key of the lease under which schedules change.
const planKey = state.PlanKey

// checkCommit checks a Commit that took effect.
func checkCommit(r *run, c *state.Commit, out *state.Committed, b before) {
	t := r.sched.cur
	checkFence(r, t, c)
	checkWritten(r, c, out, b)
	checkKeeps(r, t, c, b)
	if r.plan.Secrets {
		checkCommitText(r, c)
	}
	if c.Guard.Key == planKey {
		checkPlan(r, t, c, out, b)
	} else {
		checkResults(r, t, c, out, b)
	}
	if len(c.Next) > 0 && out.Started {
		checkClaim(r, t, c)
	}
	if len(c.Next) == 0 || out.Started {
		checkInherited(r, t, c.Guard.Key)
	}
	if have := r.books.leases[c.Guard.Key]; have != nil && have.by == t.books.worker {
		have.wrote(r, c, out)
	}
	checkShrinks(r, t)
}

// wrote records the effect of a commit on its lease. A commit after the end of the lease does not
// restore the claim, since other tasks may have seen the end.
func (h *held) wrote(r *run, c *state.Commit, out *state.Committed) {
	if !r.time().Before(h.until) {
		h.claimed = nil
	}
	if out.Started {
		h.claimed = c.Starts()
	}
	if c.Until.After(h.until) {
		h.until = c.Until
	}
}

// checkShrinks checks that no resource becomes scheduled within one schedule, so that earlier reads
// stay valid. A check by a timer omits resources that wait for a person. Other lanes treat such a
// resource as scheduled until its own lane has recorded the omission. Until then, an earlier run
// may end in a way that makes it part of the check.
func checkShrinks(r *run, t *task) {
	e, was := r.state.read(env), r.books.sched
	if r.books.effect == nil {
		return
	}
	now := schedBook{e.env.PlanSeq, r.books.effect, pendingIn(r, e)}
	if more := now.nodes &^ was.nodes; now.seq == was.seq && now.effect == was.effect && more != 0 {
		r.violate("D1", "%s makes %s scheduled in a schedule in which it was not", t.name,
			now.effect.ids[bits.TrailingZeros64(more)])
	}
	r.books.sched = now
}

// schedBook is the set of scheduled nodes at the last write.
type schedBook struct {
	seq    int64
	effect *effective
	nodes  uint64
}

// checkFence checks invariant D3: only the holder of a lease writes.
func checkFence(r *run, t *task, c *state.Commit) {
	have := r.books.leases[c.Guard.Key]
	switch {
	case have == nil:
		r.violate("D3", "%s commits under %q, which nobody holds", t.name, c.Guard.Key)
	case t.books.orphaned && have.fence == c.Guard.Fence: // a call that is waited for keeps a state
	case have.by != t.books.worker:
		r.violate("D3",
			"%s commits under %q, which another took over: a stale holder's commit is accepted",
			t.name, c.Guard.Key)
	case have.freed:
		r.violate("D3", "%s commits under %q, which it has given up", t.name, c.Guard.Key)
	}
}

// checkWritten checks that rows were written under their condition, and that acknowledged writes
// are stored (D3, D4).
func checkWritten(r *run, c *state.Commit, out *state.Committed, b before) {
	e := r.state.read(env)
	for i := range c.Rows {
		row := &c.Rows[i]
		was, had := b.rows[row.ID]
		fits := had && was.Rev == row.Rev || !had && (row.Rev == 0 || row.Gone)
		listed := slices.ContainsFunc(out.Conflicts,
			func(o state.Row) bool { return o.ID == row.ID })
		now := e.rows[row.ID]
		wrote := now != nil && (!had || now.Rev != was.Rev)
		if row.Gone {
			if wrote = now == nil; wrote && !isMoved(r, row.ID) {
				r.books.gone(row)
			}
		}
		switch {
		case !fits && wrote && (had || !row.Gone):
			r.violate("D3",
				"%s writes %s at revision %d, which is %d by now: a change of somebody else is lost", r.sched.cur.name, row.ID, row.Rev, was.Rev)
		case fits && !listed && !wrote:
			r.violate("D4", "%s has been told that %s is written, and it is not", r.sched.cur.name,
				row.ID)
		}
	}
	for i := range c.Actions {
		if _, ok := e.actions[c.Actions[i].ID]; !ok {
			r.violate("L1", "the record of a run of %s is not stored", c.Actions[i].Resource)
		}
	}
	for _, o := range c.AddOutbox {
		// a planner removes processed entries in the same commit
		if _, ok := e.outbox[o.ID]; !ok && c.Guard.Key != planKey {
			r.violate("D4", "what follows from a run of %s (%s) is not stored", o.Of, o.Kind)
		}
	}
}

// written calls each for the rows of a commit that are not in conflict.
func written(c *state.Commit, out *state.Committed, each func(row *state.Row)) {
	for i := range c.Rows {
		if !slices.ContainsFunc(out.Conflicts,
			func(o state.Row) bool { return o.ID == c.Rows[i].ID }) {
			each(&c.Rows[i])
		}
	}
}

// checkResults checks a commit of a worker.
func checkResults(r *run, t *task, c *state.Commit, out *state.Committed, b before) {
	if c.Env != nil || c.Plan {
		r.violate("D3", "%s changes the schedule and does not hold %q", t.name, planKey)
	}
	bookShelves(r, t, c)
	written(c, out, func(row *state.Row) {
		was := b.rows[row.ID]
		t.books.later[row.ID] = row.Current().NotBefore
		reasonResults(r, row, &was)
		reasonChanged(r, c, row, &was)
		if was.Rev != 0 && !reflect.DeepEqual(row.Intent, was.Intent) {
			r.violate("D5", "%s changes the intent of %s", t.name, row.ID)
		}
		if row.LastAction != was.LastAction {
			checkResult(r, t, row, &was, c)
			checkOutcome(r, row, &was, c)
			checkMeanwhile(r, t, row, &was)
			checkNotified(r, t, row, &was, c)
		} else if row.Counts() && row.Attempts != was.Current().Attempts {
			r.violate("D7", "%s counts a failure of %s twice", t.name, row.ID)
		}
	})
	for i := range c.Rows {
		checkPatient(r, t, &c.Rows[i], c.Guard.Key)
	}
	for i := range c.Actions {
		checkAction(r, t, &c.Actions[i])
	}
	reasonOutbox(r, c)
	reasonConflicts(r, t, c, out)
	expectStale(r, t, c, out)
	checkUnwritten(r, t, c)
	checkStaleTold(r, t, c, out)
	for _, id := range c.Checked {
		if have := t.books.runs[id]; have != nil {
			have.recorded = true
		}
	}
}

// checkPatient checks that no resource is skipped because of a requirement that is scheduled again
// in another lane. The worker sees this when it reads the requirement, and has to wait for it.
func checkPatient(r *run, t *task, row *state.Row, lane string) {
	eff := t.books.effect
	if eff == nil || row.Block() != state.BlockedTemp ||
		!slices.Contains(t.books.claimed, row.ID) ||
		row.LastAction == "" || t.books.skipped[row.LastAction] {
		return
	}
	t.books.skipped[row.LastAction] = true
	i, known := eff.index[row.ID]
	for j, id := range eff.ids {
		q, read := t.books.saw[id]
		if known && eff.needs[i]&(1<<j) != 0 && read && q.Agent != lane && q.Ticket() != 0 &&
			!asWanted(&q) {
			r.violate("D6", "%s skips %s, and has read that %s, which that requires, is scheduled",
				t.name, row.ID, id)
		}
	}
}

// checkResult checks one result: invariants D5, D7 and L1.
func checkResult(r *run, t *task, row, was *state.Row, c *state.Commit) {
	if !slices.ContainsFunc(c.Actions,
		func(a state.Action) bool { return a.ID == row.LastAction }) &&
		!r.books.actions[row.LastAction] {
		r.violate("L1", "the result of a run of %s is stored without its record %s", row.ID,
			row.LastAction)
	}
	have := t.books.runs[row.ID]
	success := row.LastRun == state.RunSuccess && row.Comparison() == state.Compliant &&
		row.Deployed == row.Hash && row.Current().NotBefore.IsZero()
	if success {
		switch want, purged := wantedOf(r, row); {
		case have == nil || have.calls == 0:
			r.violate("D5", "%s counts as deployed and its handler has not run", row.ID)
		case !have.parts.fits(want) || have.purged != purged:
			r.violate("D5",
				"%s counts as deployed with %+v (purged: %v), and its handler ran for %+v "+
					"(purged: %v)", row.ID, want, purged, have.parts, have.purged)
		case have.failed:
			r.violate("D7", "%s counts as deployed and its handler failed", row.ID)
		case have.waits && row.Ticket() == 0 && was.Ticket() != 0:
			r.violate("D4", "%s counts as deployed and its handler said that it is in progress",
				row.ID)
		}
	}
	failed := row.LastRun == state.RunFailed || row.LastRun == state.RunSkipped &&
		row.Block() != state.BlockedTemp
	if failed && row.Ticket() == 0 && row.Current().NotBefore.IsZero() &&
		row.Block() != state.BlockedYes {
		checkBackoff(r, t, row, was)
	}
}

// checkBackoff checks invariant D7: a failure that may be temporary is retried with increasing
// pauses, and a permanent one waits.
func checkBackoff(r *run, t *task, row, was *state.Row) {
	waits := forGood(row) || row.Block() == state.NeedsDecision
	switch {
	case !waits && row.Attempts != was.Current().Attempts+1:
		r.violate("D7", "%s failed for the %d. time in a row, after %d", row.ID, row.Attempts,
			was.Current().Attempts)
	case waits && !row.Timer().IsZero():
		r.violate("D7", "%s failed for good (%s) and is tried again by itself", row.ID,
			row.Current().Class)
	case !waits && row.Timer().IsZero():
		r.violate("D7", "%s failed (%s) and is not tried again", row.ID, row.Current().Class)
	case !waits && !row.Timer().After(row.LastAt):
		r.violate("D7", "%s failed and is tried again at once", row.ID)
	case !waits && row.Timer().Sub(row.LastAt) > 2*longestPause(r, t):
		r.violate("D7", "%s is tried again only after %s", row.ID, row.Timer().Sub(row.LastAt))
	case !waits && knowsSettings(r, t) && !isBackoff(r, row.Timer().Sub(row.LastAt), row.Attempts):
		r.violate("D7", "%s is tried again after %s, having failed %d times", row.ID,
			row.Timer().Sub(row.LastAt), row.Attempts)
	}
}

// longestPause is the maximum pause according to the settings that a task knows.
func longestPause(r *run, t *task) time.Duration {
	if !knowsSettings(r, t) {
		return 10 * time.Minute // the default of the engine
	}
	return max(r.plan.Settings.RetryMax, time.Second)
}

// checkInherited checks invariant D4 for the resources that a lost holder was running. Before the
// store forgets such a resource, its row records a possible change. Alternatively, a run in another
// lane that knew of the loss has reported the change.
func checkInherited(r *run, t *task, key string) {
	for _, id := range t.books.inherits[key] {
		if row := r.state.read(env).rows[id]; row != nil && row.Agent == key && !row.Orphaned &&
			!row.PossiblyChanged &&
			row.ChangedAt.Equal(t.books.changed[id]) &&
			!r.books.forgotten[id] && // the resource was replaced since
			tellsOthers(r, id) {
			r.violate("D4", "%s forgets that %s was being run when %q was lost", t.name, id, key)
		}
	}
	delete(t.books.inherits, key)
}

// tellsOthers reports whether a resource notifies its dependants of changes.
func tellsOthers(r *run, id resource.ID) bool {
	row := r.state.read(env).rows[id]
	if row == nil {
		return false
	}
	res, err := resource.Decode(row.Body)
	return err == nil && res.SendsEvents()
}

// checkLeft checks that no task releases a lane with an unrecorded change, which the next worker
// would not learn of.
func checkLeft(r *run, t *task, key string) {
	for id, run := range t.books.runs {
		if key == t.books.lane && run.acted && !run.recorded {
			r.violate("D4", "%s gives up %q, and its run of %s, which acted, is not recorded",
				t.name, key, id)
		}
	}
}

// checkEnded checks invariant L1 at the end of a run of a lane: even an interrupted run records the
// effects of its handlers.
func checkEnded(r *run, t *task, lane string, err error) {
	if t.books.open != 0 {
		r.violate("transport", "%s ends and leaves its connection open", t.name)
	}
	have := r.books.leases[lane]
	if have == nil || have.by != t.books.worker {
		return // another task continues
	}
	if err == nil && t.faults == 0 {
		for id, of := range t.books.stale {
			r.violate("L1",
				"%s ends, and its run %s of %s, whose intent was replaced, is not recorded as stale", t.name, id, of)
		}
	}
	if t.lost > 0 {
		return // the commit failed
	}
	for id, run := range t.books.runs {
		if run.acted && !run.recorded {
			r.violate("L1", "%s ends, and its run of %s, which acted, is not recorded", t.name, id)
		}
	}
}

// wantedOf returns the desired state in a row.
func wantedOf(r *run, row *state.Row) (parts, bool) {
	res, err := resource.Decode(row.Body)
	if err != nil {
		r.violate("V1", "what %s wants does not decode: %v", row.ID, err)
		return parts{}, false
	}
	attributes := maps.Clone(res.Attributes)
	for name, v := range attributes {
		resolved, err := resource.Walk(v, func(ref any) (any, error) {
			switch ref := ref.(type) {
			case resource.Secret:
				if _, output := ref.Output(); output || ref.Version == "" {
					return nil, nil // not readable during the export: any version matches; see checkOutput
				}
				value, _ := secretOf(r, ref)
				return value, nil
			case resource.File:
				return r.texts[ref.Hash], nil
			}
			return nil, nil
		})
		if err != nil {
			resolved = nil // a part of a text is not known
		}
		attributes[name] = resolved
	}
	return partsOf(attributes), res.Purged
}
