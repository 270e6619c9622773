package step

import (
	"math"
	"reflect"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// started is the row for which a run was claimed.
func started() state.Row {
	return state.Row{
		ID: "t::T[a,n=1]", Rev: 4,
		Intent: state.Intent{Hash: "h",
			Body:  []byte(`{"attributes":{"n":"1"},"id":"t::T[a,n=1]","send_event":true}`),
			Agent: "a", Generation: 7, Priority: state.PriorityNewVersion},
		Outcome: state.Outcome{Ran: "g", LastAction: "a1", LastRun: state.RunSuccess,
			LastAt: time.Unix(1, 0), Compliance: state.Compliant,
			Blocked: state.NotBlocked, Deployed: "g"},
	}
}

// ended returns a result at time 6 of a run that was claimed at time 5.
func ended(outcome state.Status, change diff.Change) *Result {
	return &Result{
		Action: state.Action{
			ID: "a2", Outcome: outcome, Change: change, Finished: time.Unix(6, 0), Reason: "why",
		},
		Follows: time.Unix(5, 0), SendsEvent: true, Acted: change != diff.NoChange,
	}
}

var (
	cause   = resource.ID("t::T[a,n=cause]")
	retries = state.Settings{RetryBase: 4 * time.Second, RetryMax: 10 * time.Second}
)

// TestFinished: the row after a run, if only its worker has written it, and the effects.
func TestFinished(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		was    func(r *state.Row)
		result *Result
		more   func(e *Result)
		want   func(r *state.Row)
		notes  []Effect
	}{
		"Created": {
			reason: "a change is an event, and a success clears what failures have left",
			was: func(r *state.Row) {
				r.Attempts, r.Class, r.Creating, r.PossiblyChanged = 2, "retryable", "token", true
			},
			result: ended(state.StatusDeployed, diff.Created),
			want: func(r *state.Row) {
				r.Deployed, r.SucceededAt, r.ChangedAt = "h", time.Unix(5, 0), time.Unix(6, 0)
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}, Notify{Kind: state.OutboxEvent}},
		},
		"Unchanged": {
			reason: "no change is no event, and nothing was skipped because of a success",
			result: ended(state.StatusDeployed, diff.NoChange),
			want:   func(r *state.Row) { r.Deployed, r.SucceededAt = "h", time.Unix(5, 0) },
		},
		"Recovered": {
			reason: "dependants were skipped because of the failure",
			was:    func(r *state.Row) { r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant },
			result: ended(state.StatusDeployed, diff.NoChange),
			want:   func(r *state.Row) { r.Deployed, r.SucceededAt = "h", time.Unix(5, 0) },
			notes:  []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Replaced": {
			reason: "dependants were skipped for the outcome of another intent",
			was:    func(r *state.Row) { r.LastRun = state.RunSkipped },
			result: ended(state.StatusDeployed, diff.NoChange),
			want:   func(r *state.Row) { r.Deployed, r.SucceededAt = "h", time.Unix(5, 0) },
			notes:  []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Compared": {
			reason: "a comparison follows no change, and is no success for dependants",
			result: ended(state.StatusNonCompliant, diff.NoChange),
			more:   func(e *Result) { e.ReportOnly = true },
			want: func(r *state.Row) {
				r.Compliance, r.Deployed, r.TriedAt = state.NonCompliant, "h", time.Unix(5, 0)
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Failed": {
			reason: "a failure is retried after the backoff, and its change is notified later",
			result: ended(state.StatusFailed, diff.Updated),
			want: func(r *state.Row) {
				r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
				r.Attempts, r.NextAt, r.TriedAt = 1, time.Unix(10, 0), time.Unix(5, 0)
				r.PossiblyChanged = true
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"FailedAgain": {
			reason: "the backoff doubles up to its bound, and no dependant learns a new cause",
			was: func(r *state.Row) {
				r.LastRun, r.Compliance, r.Attempts = state.RunFailed, state.NonCompliant, 2
				r.Ran = "h"
			},
			result: ended(state.StatusFailed, diff.NoChange),
			want: func(r *state.Row) {
				r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
				r.Attempts, r.NextAt, r.TriedAt = 3, time.Unix(16, 0), time.Unix(5, 0)
			},
		},
		"FailedAnew": {
			reason: "failures of another intent do not count",
			was: func(r *state.Row) {
				r.LastRun, r.Compliance, r.Attempts = state.RunFailed, state.NonCompliant, 2
			},
			result: ended(state.StatusFailed, diff.NoChange),
			want: func(r *state.Row) {
				r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
				r.Attempts, r.NextAt, r.TriedAt = 1, time.Unix(10, 0), time.Unix(5, 0)
			},
		},
		"ComparedBefore": {
			reason: "dependants were skipped because the thing differed from another intent",
			was:    func(r *state.Row) { r.Compliance = state.NonCompliant },
			result: ended(state.StatusDeployed, diff.NoChange),
			want:   func(r *state.Row) { r.Deployed, r.SucceededAt = "h", time.Unix(5, 0) },
			notes:  []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Terminal": {
			reason: "a failure that cannot pass waits for a new intent or a person",
			result: ended(state.StatusFailed, diff.NoChange),
			more:   func(e *Result) { e.Class = state.ClassTerminal },
			want: func(r *state.Row) {
				r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
				r.Attempts, r.Class, r.TriedAt = 1, state.ClassTerminal, time.Unix(5, 0)
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Undecided": {
			reason: "a create that may have happened waits for a person, with its token",
			was:    func(r *state.Row) { r.Creating = "token" },
			result: ended(state.StatusFailed, diff.NoChange),
			more:   func(e *Result) { e.NeedsDecision = true },
			want: func(r *state.Row) {
				r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
				r.Blocked, r.Creating, r.TriedAt = state.NeedsDecision, "token", time.Unix(5, 0)
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"Skipped": {
			reason: "a skip names its causes, which dependants have to name as well",
			result: ended(state.StatusSkipped, diff.NoChange),
			more:   func(e *Result) { e.Causes = []resource.ID{cause} },
			want: func(r *state.Row) {
				r.LastRun, r.Compliance, r.Blocked = state.RunSkipped, state.NonCompliant,
					state.BlockedTemp
				r.Causes, r.TriedAt = []resource.ID{cause}, time.Unix(5, 0)
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"InProgress": {
			reason: "a run in progress stays scheduled, also if a check of everything asked for it",
			was:    func(r *state.Row) { r.Observed = 7 },
			result: ended(state.StatusDeploying, diff.NoChange),
			more: func(e *Result) {
				e.Again = &provider.Again{After: 3 * time.Second, State: []byte("s")}
			},
			want: func(r *state.Row) {
				r.RunAgain, r.NotBefore = true, time.Unix(9, 0)
				r.Waiting, r.Reason = []byte("s"), "in progress"
				r.LastRun, r.Compliance = state.RunSuccess, state.HasUpdate
			},
		},
		"Purged": {
			reason: "a row that left the model goes with its thing",
			was:    func(r *state.Row) { r.Removing = true },
			result: ended(state.StatusDeployed, diff.Purged),
			more:   func(e *Result) { e.Purged = true },
			want: func(r *state.Row) {
				r.Deployed, r.SucceededAt, r.ChangedAt = "h", time.Unix(5, 0), time.Unix(6, 0)
				r.Gone = true
			},
			notes: []Effect{Notify{Kind: state.OutboxEvent}},
		},
		"Learned": {
			reason: "facts and damaged bodies are for the planner",
			result: ended(state.StatusDeployed, diff.NoChange),
			more: func(e *Result) {
				e.Facts, e.Damaged = map[string]resource.Data{"f": resource.TextData("v")}, true
			},
			want:  func(r *state.Row) { r.Deployed, r.SucceededAt = "h", time.Unix(5, 0) },
			notes: []Effect{Resolve{state.OutboxFact}, Resolve{state.OutboxDamaged}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			was := started()
			if c.was != nil {
				c.was(&was)
			}
			if c.more != nil {
				c.more(c.result)
			}
			got, effects := Next(was, Finished{Result: c.result, Claimed: &was, Settings: retries,
				Jitter: 0.5})
			want := was // a finished run that does not say otherwise
			want.LastAction, want.LastAt, want.Observed = "a2", time.Unix(6, 0), 7
			want.LastRun, want.Compliance, want.Reason = state.RunSuccess, state.Compliant, "why"
			want.Ran = "h"
			want.Class, want.PossiblyChanged = "", false
			if c.result.Outcome == state.StatusDeployed {
				want.Attempts, want.Creating = 0, ""
			}
			c.want(&want)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", c.reason, got, want)
			}
			if !reflect.DeepEqual(effects, c.notes) {
				t.Errorf("%s: effects %#v, want %#v", c.reason, effects, c.notes)
			}
		})
	}
}

// TestFinishedLate: the row after a run, if others have written it since the run was claimed.
func TestFinishedLate(t *testing.T) {
	t.Parallel()
	requires := []byte(
		`{"attributes":{"n":"1"},"id":"t::T[a,n=1]","requires":["t::T[a,n=2]"],"send_event":true}`)
	ran := ended(state.StatusDeployed, diff.NoChange)
	acted := ended(state.StatusDeployed, diff.Updated)
	skipped := ended(state.StatusSkipped, diff.NoChange)
	skipped.Causes = []resource.ID{cause}
	purged := ended(state.StatusDeployed, diff.Purged)
	for name, c := range map[string]struct {
		reason string
		result *Result
		now    func(r *state.Row)           // what others have written
		want   func(now, counts *state.Row) // changes now to the row after the run
		notes  []Effect
	}{
		"Rescheduled": {
			reason: "a request since the claim stays",
			result: ran,
			now:    func(r *state.Row) { r.Generation, r.Priority = 9, state.PriorityUserDeploy },
			want: func(now, counts *state.Row) {
				asked := now.Intent
				*now = *counts
				now.Intent = asked
			},
		},
		"FactsWanted": {
			reason: "a request for facts since the claim stays",
			result: ran,
			now:    func(r *state.Row) { r.FactsAsked = 1 },
			want: func(now, counts *state.Row) {
				*now = *counts
				now.Observed, now.FactsAsked = 0, 1
			},
		},
		"Blocked": {
			reason: "a block since the claim stays",
			result: ran,
			now: func(r *state.Row) {
				r.BlockedBy = cause
			},
			want: func(now, counts *state.Row) {
				*now = *counts
				now.BlockedBy = cause
			},
		},
		"RequiresMore": {
			reason: "the run has not followed changes of a new requirement",
			result: ran,
			now:    func(r *state.Row) { r.Body = requires },
			want: func(now, counts *state.Row) {
				body := now.Body
				*now = *counts
				now.Body, now.SucceededAt = body, time.Time{}
			},
		},
		"LostElsewhere": {
			reason: "the run may not have seen the effect of a run that was lost since",
			result: ran,
			now:    func(r *state.Row) { r.PossiblyChanged = true },
			want: func(now, counts *state.Row) {
				*now = *counts
				now.ChangedAt, now.PossiblyChanged = time.Unix(6, 0), true
			},
			notes: []Effect{Resolve{state.OutboxAgain}, Notify{Kind: state.OutboxRecovered},
				Notify{Kind: state.OutboxEvent}},
		},
		"Moved": {
			reason: "in another agent the check of everything is still to come",
			result: ran,
			now:    func(r *state.Row) { r.Agent = "a/1" },
			want: func(now, counts *state.Row) {
				*now = *counts
				now.Agent, now.Checked = "a/1", 0
			},
		},
		"LeftBehind": {
			reason: "a purge since the claim is still a reason to reload",
			result: ran,
			now:    func(r *state.Row) { r.AddPurges(cause) },
			want: func(now, counts *state.Row) {
				*now = *counts
				now.AddPurges(cause)
			},
		},
		"SkippedAndRequiresLess": {
			reason: "a skip does not count if the requirements have changed",
			result: skipped,
			now:    func(r *state.Row) { r.Body = requires },
			notes:  []Effect{Notify{state.OutboxRecovered, 7}},
		},
		"SkippedByCheckAndRequiresLess": {
			reason: "a check of everything may not ask again",
			result: skipped,
			now: func(r *state.Row) {
				r.Body, r.Observed = requires, 7
			},
			want:  func(now, _ *state.Row) { now.RunAgain = true },
			notes: []Effect{Notify{state.OutboxRecovered, math.MaxInt64}},
		},
		"SkippedAndRescheduled": {
			reason: "a skip counts if the requirements are the same",
			result: skipped,
			now:    func(r *state.Row) { r.Generation = 9 },
			want: func(now, counts *state.Row) {
				*now = *counts
				now.Generation = 9
			},
			notes: []Effect{Notify{Kind: state.OutboxRecovered}},
		},
		"NewIntent": {
			reason: "a result for a replaced intent leaves the row as it is (D5)",
			result: ran,
			now:    func(r *state.Row) { r.Hash, r.Generation = "i", 9 },
			notes:  []Effect{Stale{}},
		},
		"NewIntentAfterChange": {
			reason: "the next success notifies of a change that was made for a replaced intent",
			result: acted,
			now:    func(r *state.Row) { r.Hash, r.Generation = "i", 9 },
			want:   func(now, _ *state.Row) { now.PossiblyChanged, now.Ran = true, "" },
			notes:  []Effect{Stale{}},
		},
		"NewIntentAfterSkip": {
			reason: "dependants that were skipped for it are woken",
			result: skipped,
			now:    func(r *state.Row) { r.Hash, r.Generation = "i", 9 },
			notes:  []Effect{Notify{state.OutboxRecovered, 9}, Stale{}},
		},
		"Orphaned": {
			reason: "a result for a resource that left the model does not count",
			result: ran,
			now:    func(r *state.Row) { r.Orphaned = true },
			notes:  []Effect{Stale{}},
		},
		"Overtaken": {
			reason: "a later run elsewhere, which acted, has to see the effect of this one",
			result: acted,
			now:    func(r *state.Row) { r.LastAction = "a3" },
			want:   func(now, _ *state.Row) { now.PossiblyChanged = true },
			notes:  []Effect{Resolve{state.OutboxAgain}, Stale{}},
		},
		"OvertakenAndReplaced": {
			reason: "a later run was recorded, and then came another intent",
			result: ran,
			now:    func(r *state.Row) { r.LastAction, r.Hash = "a3", "i" },
			notes:  []Effect{Stale{}},
		},
		"Recorded": {
			reason: "the write arrived and its response did not",
			result: ran,
			now:    func(r *state.Row) { r.LastAction = "a2" },
		},
		"RecordedAndReplaced": {
			reason: "the write arrived, and then came another intent",
			result: acted,
			now:    func(r *state.Row) { r.LastAction, r.Hash = "a2", "i" },
		},
		"Forgotten": {
			reason: "without a row the result is void, and dependants that were skipped are woken",
			result: skipped,
			now:    func(r *state.Row) { *r = state.Row{ID: r.ID} },
			notes:  []Effect{Notify{state.OutboxRecovered, math.MaxInt64}, Stale{Gone: true}},
		},
		"Removed": {
			reason: "the row is gone, as the run leaves it",
			result: purged,
			now:    func(r *state.Row) { *r = state.Row{ID: r.ID} },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claimed := started()
			claimed.Removing = c.result == purged
			e := Finished{Result: c.result, Claimed: &claimed, Checked: 3}
			counts, _ := Next(claimed, e)
			now := claimed
			now.Rev++
			c.now(&now)
			got, effects := Next(now, e)
			want, rev := now, now.Rev
			if c.want != nil {
				c.want(&want, &counts)
			}
			want.Rev = rev
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nwant %+v", c.reason, got, want)
			}
			if !reflect.DeepEqual(effects, c.notes) {
				t.Errorf("%s: effects %#v, want %#v", c.reason, effects, c.notes)
			}
		})
	}
}
