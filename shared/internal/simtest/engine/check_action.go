package engine

import (
	"errors"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// checkAction checks invariant L1: each finished run has one record, with the log lines and the
// effect of its handler.
func checkAction(r *run, t *task, a *state.Action) {
	if a.Stale {
		delete(t.books.stale, a.ID)
	}
	if r.books.actions[a.ID] {
		return // repeated after a lost answer
	}
	r.books.actions[a.ID] = true
	if a.Finished.Before(a.Started) {
		r.violate("L1", "the record of a run of %s says that it ended before it began", a.Resource)
	}
	if a.Pack != "sim" {
		r.violate("L1", "the record of a run of %s does not say which handlers ran it", a.Resource)
	}
	if a.Action == state.ActionDryRun {
		return
	}
	t.books.mine[a.ID] = true
	have := t.books.runs[a.Resource]
	checkWarned(r, t, a)
	ran := a.Outcome == state.StatusDeployed || a.Outcome == state.StatusNonCompliant ||
		a.Outcome == state.StatusDeploying
	switch {
	case ran && (have == nil || have.calls == 0):
		r.violate("L1", "a run of %s is recorded (%s) and its handler was not called", a.Resource,
			a.Outcome)
	case ran && have.recorded:
		r.violate("L1", "a run of %s is recorded twice, as %s, too", a.Resource, a.ID)
	case have != nil && !have.recorded && len(a.Messages) < have.lines:
		r.violate("L1", "the handler of %s logged %d lines, and %d are recorded", a.Resource,
			have.lines, len(a.Messages))
	}
	claimed := r.time()
	if c, known := t.books.claims[a.Resource]; known {
		// The decision to connect precedes the commit that claimed the resource (seeds 1000578108
		// and 1000583104).
		claimed = c.at.Add(-time.Second)
	}
	tried := t.books.connects+t.books.open+t.slows > 0 || claimed.Before(t.books.spared)
	over := r.state.read(env).agents[a.Resource.Agent()].Transport
	if a.Outcome == state.StatusUnavailable && !tried && reached(a.Resource.Type(), over) {
		r.violate("transport",
			"%s says that the agent of %s cannot be reached (%s), and has not tried", t.name,
			a.Resource, a.Reason)
	}
	checkRecord(r, t, a, have)
	if have != nil {
		have.recorded = true
	}
}

// checkRecord compares a record with the claim and with the effect of the handler.
func checkRecord(r *run, t *task, a *state.Action, have *runBook) {
	did := diff.NoChange
	if have != nil && have.did != "" {
		did = have.did
	}
	claimed, known := t.books.claims[a.Resource]
	switch {
	case a.Change != did:
		r.violate("L1", "the record of a run of %s says %s, and its handler did %s", a.Resource,
			a.Change, did)
	case a.Outcome == state.StatusDeployed && did != diff.NoChange && !have.reloaded &&
		len(a.Changes) == 0:
		r.violate("L1", "the record of a run of %s says %s and not what changed", a.Resource,
			a.Change)
	case known && (a.Version != claimed.version || a.Action != claimed.kind):
		r.violate("L1",
			"the record of a run of %s says %s of version %d, and it was %s of version %d",
			a.Resource, a.Action, a.Version, claimed.kind, claimed.version)
	case have != nil && !have.recorded && have.err != nil && a.Outcome != outcomeOf(have.err):
		r.violate("L1", "the record of a run of %s says %s, and its handler said: %v", a.Resource,
			a.Outcome, have.err)
	case a.Outcome != state.StatusDeployed && a.Reason == "":
		r.violate("L1", "the record of a run of %s says %s and not why", a.Resource, a.Outcome)
	}
}

// outcomeOf returns the outcome of a run with a failed call.
func outcomeOf(err error) state.Status {
	if errors.Is(err, provider.ErrSkip) {
		return state.StatusSkipped
	}
	return state.StatusFailed
}

// checkOutcome compares the row after a run with the record of the run.
func checkOutcome(r *run, row, was *state.Row, c *state.Commit) {
	i := slices.IndexFunc(c.Actions, func(a state.Action) bool { return a.ID == row.LastAction })
	if i < 0 {
		return
	}
	a := &c.Actions[i]
	checkFollowed(r, r.sched.cur, row, was, a.Started)
	right := false
	switch a.Outcome {
	case state.StatusDeployed:
		right = row.LastRun == state.RunSuccess && row.Comparison() == state.Compliant &&
			row.Attempts == 0
	case state.StatusNonCompliant:
		right = row.LastRun == state.RunSuccess && row.Comparison() == state.NonCompliant
	case state.StatusSkipped:
		right = row.LastRun == state.RunSkipped
	case state.StatusDeploying:
		right = !row.Current().NotBefore.IsZero()
		if string(row.Current().Waiting) != slowState {
			r.violate("again", "the handler of %s wants %q to be given back, and %q is stored",
				row.ID, slowState, row.Current().Waiting)
		}
		if run := r.sched.cur.books.runs[row.ID]; run != nil &&
			row.Current().NotBefore.Sub(row.LastAt) != run.after {
			r.violate("again",
				"the handler of %s wants to be asked again after %s, and is after %s", row.ID,
				run.after, row.Current().NotBefore.Sub(row.LastAt))
		}
	default:
		right = row.LastRun == state.RunFailed
	}
	switch {
	case !right:
		r.violate("L1",
			"the record of a run of %s says %s, and its row %s (last run %s, %s, %d attempts)",
			row.ID, a.Outcome, row.Status(), row.LastRun, row.Comparison(), row.Attempts)
	case len(row.EarlierAgents()) > 0 && a.Outcome != state.StatusDeploying:
		r.violate("D2", "%s has been run, and counts as perhaps still being run in %v", row.ID,
			row.EarlierAgents())
	case row.Why() != a.Reason && row.Block() != state.BlockedYes:
		r.violate("L1", "the record of a run of %s gives as reason %q, and its row %q", row.ID,
			a.Reason, row.Why())
	case was.Ticket() == 0 && a.Outcome == state.StatusDeployed && a.Change == diff.NoChange &&
		clean(was) &&
		!slices.ContainsFunc(c.Parameters,
			func(p state.Parameter) bool { return p.Of == row.ID }) && !notifiedOf(r, was):
		r.violate("C1", "%s was checked, is as it was, and is written", row.ID)
	}
	t := r.sched.cur
	have := t.books.runs[row.ID]
	passes := strings.HasPrefix(a.Reason, "the handler did not answer") ||
		strings.HasPrefix(a.Reason, "the handler panicked")
	switch {
	case a.Outcome == state.StatusFailed && have != nil && have.err != nil &&
		row.Class != provider.ClassOf(have.err), passes && row.Class != provider.Retryable:
		r.violate("D7", "%s failed (%s), and counts as %s", row.ID, a.Reason, row.Current().Class)
	case a.Outcome == state.StatusDeployed && row.WantFacts() && t.books.claims[row.ID].facts &&
		row.Ticket() == 0 && have != nil && !have.purged:
		r.violate("C1", "the facts of %s were read and are still asked for", row.ID)
	}
	if !row.ChangedAt.Equal(was.ChangedAt) && have != nil && !have.acted && !was.PossiblyChanged &&
		len(was.EarlierAgents()) == 0 {
		r.violate("C1", "%s tells of a change, and its handler has changed nothing", row.ID)
	}
}

// clean reports whether a check without findings would leave the row unchanged.
func clean(r *state.Row) bool {
	return asWanted(r) && r.Block() == state.NotBlocked && r.Attempts == 0 && r.NextAt.IsZero() &&
		r.Waiting == nil && r.Creating == "" && !r.WantFacts() && !r.PossiblyChanged &&
		!r.Removing && !r.Orphaned && r.Reason == "" && len(r.EarlierAgents()) == 0
}

// expectStale records that the action of a run must be marked as stale, since its row has a
// different intent by now.
func expectStale(r *run, t *task, c *state.Commit, out *state.Committed) {
	if len(c.Next) > 0 {
		return // a run begins, without a result
	}
	for i := range out.Conflicts {
		now := &out.Conflicts[i]
		for j := range c.Rows {
			row := &c.Rows[j]
			if row.ID == now.ID && now.Rev != 0 && t.books.mine[row.LastAction] &&
				now.LastAction != row.LastAction && (now.Hash != row.Hash || now.Orphaned) {
				t.books.stale[row.LastAction] = row.ID
			}
		}
	}
}

// checkReload checks that there is a change, or a possible change, that requires the reload.
func checkReload(r *run, t *task, id resource.ID) {
	eff, e := t.books.effect, r.state.read(env)
	row := e.rows[id]
	if eff == nil || eff != r.books.effect || row == nil {
		return
	}
	i, ok := eff.index[id]
	if !ok {
		return
	}
	if own := t.books.runs[id]; own.purged || own.did == diff.Created && row.SucceededAt.IsZero() {
		r.violate("C1", "%s reloads %s, which is gone, or new", t.name, id)
	}
	if !receivedChange(r, t, i, row) {
		r.violate("C1",
			"%s reloads %s, and nothing that it requires and hears has changed since its last "+
				"success", t.name, id)
	}
}

// notifiedOf is receivedChange for a row by its id. It returns true if the graph in force does not
// contain the resource.
func notifiedOf(r *run, row *state.Row) bool {
	i, known := r.books.effect.index[row.ID]
	return !known || receivedChange(r, r.sched.cur, i, row)
}

// receivedChange reports whether a subscribed requirement of a row has changed, or may have
// changed, since the row last succeeded.
func receivedChange(r *run, t *task, i int, row *state.Row) bool {
	eff, e := r.books.effect, r.state.read(env)
	if len(row.PendingPurges()) > 0 && r.books.purged[row.ID] {
		return true
	}
	for j, q := range eff.ids {
		of := e.rows[q]
		if eff.needs[i]&(1<<j) == 0 || of == nil || !intentSays(r, q, `"send_event":true`) &&
			!r.books.subscribed(row.ID, q) {
			continue
		}
		here := t.books.runs[q]
		if !of.ChangedAt.IsZero() && !of.ChangedAt.Before(row.SucceededAt) || of.PossiblyChanged ||
			len(of.EarlierAgents()) > 0 ||
			here != nil && here.acted {
			return true
		}
	}
	return false
}

// isBackoff reports whether a pause before a retry matches the settings for that number of
// failures.
func isBackoff(r *run, pause time.Duration, attempts int) bool {
	want := r.plan.Settings.RetryBase
	for range attempts - 1 {
		want = min(2*want, r.plan.Settings.RetryMax)
	}
	want = min(want, r.plan.Settings.RetryMax)
	return pause >= want*3/4 && pause <= want*5/4
}

// forGood reports whether a failed resource waits for a new intent or a person.
func forGood(row *state.Row) bool {
	return row.Current().Class == provider.Terminal || row.Current().Class == provider.NeedsChange ||
		row.Current().Class == state.ClassRefused
}
