package step

import (
	"math"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Result is the record of one run, with the data that the row needs.
type Result struct {
	state.Action
	Follows       time.Time // the run has seen changes that ended before
	Facts         map[string]resource.Data
	Class         provider.Class
	Causes        []resource.ID   // root causes for which it was skipped
	Again         *provider.Again // of a run in progress: when to poll, and with which state
	Notes         []byte          // for the row, from a run that has succeeded or is in progress
	Damaged       bool            // the stored resource cannot be read
	NeedsDecision bool            // a create may have happened, and only a person can decide
	NothingMade   bool            // a create was begun, and it is certain that nothing was made
	Acted         bool            // the handler was asked to change the thing
	Purged        bool            // the resource must not exist
	ReportOnly    bool            // the resource was only compared
	SendsEvent    bool            // receivers are notified of its changes
	Notified      bool            // it follows a change that it was notified of
}

// Finished is the end of a run. The row may have been changed since the run was claimed.
type Finished struct {
	*Result
	Claimed  *state.Row     // when the run was claimed
	Checked  int64          // the check of everything that the run is part of; 0: none
	Settings state.Settings // for the backoff
	Jitter   float64        // in [0,1), spreads retries
}

// next is the step of a worker.
func (e Finished) next(r *state.Row) []Effect {
	switch {
	case r.LastAction == e.ID, r.Rev == 0 && e.removes():
		return nil // it is recorded: the response to the write was lost
	case r.Rev == 0:
		return append(e.unskip(r), Stale{Gone: true})
	case r.LastAction > e.ID: // ids of actions grow with time: a later run was recorded elsewhere
		return e.overtaken(r)
	case r.Hash != e.Claimed.Hash || r.Orphaned:
		if e.Acted {
			r.Ran = "" // no earlier outcome describes the thing
		}
		return e.stale(r)
	case len(e.Causes) > 0 && string(r.Body) != string(e.Claimed.Body):
		return e.rerun(r)
	}
	r.AdoptIntent()
	was, sends := *r, e.SendsEvent
	if string(r.Body) != string(e.Claimed.Body) {
		sends = r.SendsEvents() // it may have got receivers since the run began
	}
	e.apply(r, sends)
	e.keep(r, &was)
	return e.effects(r, &was, sends)
}

// removes reports whether the result removes the row that was claimed.
func (e *Finished) removes() bool {
	return e.Claimed.Removing && e.Outcome == state.StatusDeployed
}

// stale leaves the row as it is, since the result is for another intent. A change by the run is
// notified when the next run ends.
func (e *Finished) stale(r *state.Row) []Effect {
	r.PossiblyChanged = r.PossiblyChanged || e.Acted
	return append(e.unskip(r), Stale{})
}

// rerun schedules a skipped resource again if its requirements have changed since the claim.
func (e *Finished) rerun(r *state.Row) []Effect {
	effects := e.unskip(r)
	if r.Ticket() == 0 && r.Runnable() { // a check of everything asked for it
		r.RunAgain = true
	}
	return effects
}

// unskip wakes the dependants that were skipped because of a result that does not count. If the
// resource is scheduled, dependants that were scheduled no earlier wait for it.
func (e *Finished) unskip(r *state.Row) []Effect {
	switch {
	case e.Outcome == state.StatusDeployed || e.Outcome == state.StatusDeploying:
		return nil
	case r.Ticket() == 0:
		return []Effect{Notify{state.OutboxRecovered, math.MaxInt64}}
	}
	return []Effect{Notify{state.OutboxRecovered, r.Ticket()}}
}

// overtaken is stale for a result that is older than the recorded result of a later run. The later
// run may not have seen the changes of this run, or the facts that it stored.
func (e *Finished) overtaken(r *state.Row) []Effect {
	if e.Acted || len(e.Facts) > 0 {
		return append([]Effect{Resolve{state.OutboxAgain}}, e.stale(r)...)
	}
	return e.stale(r)
}

// apply applies the result to the row.
func (e *Finished) apply(r *state.Row, sends bool) {
	r.LastAt, r.LastAction, r.NextAt = e.Finished, e.ID, time.Time{}
	if sends && e.Acted && e.Outcome != state.StatusDeployed {
		r.PossiblyChanged = true
	}
	if e.Outcome == state.StatusDeploying {
		r.NotBefore = e.Finished.Add(e.Again.After)
		r.Waiting, r.Notes = e.Again.State, e.Notes
		r.Reason = "in progress"
		r.RunAgain = true // the check that asked for it may end earlier
		return
	}
	r.Observed, r.RunAgain, r.MovesSeen = max(r.Observed, e.Claimed.Generation), false, r.Moves
	r.NotBefore, r.Waiting, r.Causes = time.Time{}, nil, nil
	r.Reason, r.Class, r.TriedAt = e.Reason, e.Class, time.Time{}
	if e.Outcome != state.StatusDeployed && e.Outcome != state.StatusNonCompliant || e.ReportOnly {
		r.TriedAt = e.Follows
	}
	if sends && e.Outcome == state.StatusDeployed &&
		(e.Change != diff.NoChange || r.PossiblyChanged) {
		r.ChangedAt, r.PossiblyChanged = e.Finished, false
	}
	switch e.Outcome {
	case state.StatusDeployed, state.StatusNonCompliant:
		e.succeed(r)
	case state.StatusSkipped:
		r.LastRun, r.Compliance = state.RunSkipped, state.NonCompliant
		if len(e.Causes) > 0 {
			r.Blocked, r.Causes = state.BlockedTemp, e.Causes
			return
		}
		if r.Blocked == state.BlockedTemp {
			r.Blocked = state.NotBlocked
		}
		e.retryLater(r)
	default:
		e.failed(r)
	}
}

// succeed applies the result of a run that read the thing, and corrected or compared it.
func (e *Finished) succeed(r *state.Row) {
	r.LastRun, r.Compliance, r.Blocked = state.RunSuccess, state.Compliant, state.NotBlocked
	r.Deployed, r.Attempts, r.Creating = r.Hash, 0, ""
	if !e.ReportOnly { // a comparison has reloaded nothing
		r.SucceededAt = e.Follows
	}
	if e.Outcome == state.StatusNonCompliant {
		r.Compliance = state.NonCompliant
		return
	}
	r.Notes = e.Notes
	if !e.ReportOnly {
		r.Reloaded = max(r.Reloaded, e.Claimed.Purges)
	}
	if !e.Purged { // facts were read; those of a purged thing cannot be, and it may exist again
		r.FactsRead = max(r.FactsRead, e.Claimed.FactsAsked)
	}
	r.Gone = r.Removing
}

// failed applies the result of a run that failed.
func (e *Finished) failed(r *state.Row) {
	r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
	if e.NothingMade {
		r.Creating = ""
	}
	if e.NeedsDecision {
		r.Blocked = state.NeedsDecision
		return
	}
	r.Blocked = state.NotBlocked
	e.retryLater(r)
}

// Retries reports whether the resource is tried again after a backoff.
func (e *Finished) Retries() bool {
	switch e.Outcome {
	case state.StatusDeploying, state.StatusDeployed, state.StatusNonCompliant:
		return false
	}
	return len(e.Causes) == 0 && !e.NeedsDecision && state.Retried(e.Class)
}

// retryLater counts a failure and sets the time of the retry: after an exponential backoff with a
// jitter of up to a quarter.
func (e *Finished) retryLater(r *state.Row) {
	r.Attempts++
	if !e.Retries() {
		return
	}
	pause, longest := e.Settings.Backoff()
	for i := 1; i < r.Attempts && pause < longest; i++ {
		pause *= 2
	}
	pause = min(pause, longest)
	pause += time.Duration((e.Jitter - 0.5) * 0.5 * float64(pause))
	r.NextAt = e.Finished.Add(pause)
}

// keep keeps changes of the row that were made since the run was claimed, such as requests and
// blocks. The run does not answer these.
func (e *Finished) keep(r, was *state.Row) {
	claimed := e.Claimed
	if string(was.Body) != string(claimed.Body) { // it has not followed changes of new requirements
		r.SucceededAt = was.SucceededAt
	}
	if was.Agent == claimed.Agent { // in the agent that it was moved to, it still has to be checked
		r.Checked = max(r.Checked, e.Checked)
	}
	facts := was.FactsAsked > max(claimed.FactsAsked, was.FactsRead)
	if facts {
		r.Observed = was.Observed // the run did not read them
	}
	if facts || was.Generation > claimed.Generation {
		r.Gone = false
	}
	if was.PossiblyChanged && !claimed.PossiblyChanged { // the record of a run was lost
		r.PossiblyChanged = true
	}
}

// effects returns the effects of a result that counts.
func (e *Finished) effects(r, was *state.Row, sends bool) []Effect {
	var out []Effect
	if was.PossiblyChanged && !e.Claimed.PossiblyChanged && r.Ticket() == 0 {
		out = append(out, Resolve{state.OutboxAgain})
	}
	if len(e.Facts) > 0 {
		out = append(out, Resolve{state.OutboxFact})
	}
	if e.Damaged {
		out = append(out, Resolve{state.OutboxDamaged})
	}
	if e.Outcome == state.StatusDeploying {
		return out
	}
	if e.concernsSkipped(r, was) {
		out = append(out, Notify{Kind: state.OutboxRecovered})
	}
	if sends && r.ChangedAt.Equal(e.Finished) {
		out = append(out, Notify{Kind: state.OutboxEvent})
	}
	return out
}

// concernsSkipped reports whether dependants may have been skipped because of the previous outcome,
// or have to be skipped because of the new one, with its root causes.
func (e *Finished) concernsSkipped(r, was *state.Row) bool {
	// A new intent clears the previous outcome, because of which dependants may have been skipped.
	cleared := was.LastRun == state.RunSkipped && was.Compliance == state.HasUpdate ||
		was.LastRun == state.RunNew && !was.LastAt.IsZero()
	failed := cleared || was.LastRun == state.RunFailed || was.LastRun == state.RunSkipped ||
		was.Compliance == state.NonCompliant
	deployed := e.Outcome == state.StatusDeployed
	// Dependants may also have been skipped because of a run that was lost before its result was
	// compared with later writes.
	if (failed || was.PossiblyChanged) &&
		(deployed || cleared || !slices.Equal(was.RootCauses(), r.RootCauses())) {
		return true
	}
	return !failed && was.LastRun == state.RunSuccess && !deployed
}
