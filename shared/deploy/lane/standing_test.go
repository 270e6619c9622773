package lane

import (
	"testing"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// TestStandingOf: what a result is worth to a row that others have changed while the run was under
// way.
func TestStandingOf(t *testing.T) {
	t.Parallel()
	ran := run.Result{Action: state.Action{ID: "a2", Outcome: state.StatusDeployed}}
	skipped := run.Result{Action: state.Action{ID: "a2", Outcome: state.StatusSkipped},
		Causes: []resource.ID{"t::T[a,n=cause]"}}
	claimed := state.Row{
		ID:         "t::T[a,n=1]",
		Rev:        4,
		Hash:       "h",
		Body:       []byte("{}"),
		LastAction: "a1",
		Ticket:     7,
	}
	for _, c := range []struct {
		why    string
		result run.Result
		change func(now *state.Row)
		want   standing
	}{
		{"only its schedule changed", ran, func(now *state.Row) { now.Ticket = 9 }, resultCounts},
		{"what it requires changed, and it ran", ran,
			func(now *state.Row) { now.Body = []byte(`{"requires":[]}`) }, resultCounts},
		{"what it requires changed, and it was skipped", skipped,
			func(now *state.Row) { now.Body = []byte(`{"requires":[]}`) }, resultMoot},
		{"it was skipped, and is required as before", skipped,
			func(now *state.Row) { now.Ticket = 9 }, resultCounts},
		{"another intent", ran, func(now *state.Row) { now.Hash = "i" }, resultStale},
		{"it left the model", ran, func(now *state.Row) { now.Orphaned = true }, resultStale},
		{"it ran in another lane since", ran, func(now *state.Row) { now.LastAction = "a3" },
			resultOvertaken},
		{"it ran in another lane since, and then came another intent", ran,
			func(now *state.Row) { now.LastAction, now.Hash = "a3", "i" }, resultOvertaken},
		{"the row is gone", ran, func(now *state.Row) { *now = state.Row{ID: now.ID} }, resultVoid},
		{"the write arrived, its answer did not", ran,
			func(now *state.Row) { now.LastAction = "a2" }, resultWritten},
		{"the write arrived, and then came another intent", ran,
			func(now *state.Row) { now.LastAction, now.Hash = "a2", "i" }, resultWritten},
	} {
		now := claimed
		now.Rev++
		c.change(&now)
		if got := standingOf(&claim{row: &claimed, result: &c.result}, &now); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
	gone := &claim{row: &claimed, result: &ran, wrote: state.Row{ID: claimed.ID, Gone: true}}
	if got := standingOf(gone, &state.Row{ID: claimed.ID}); got != resultWritten {
		t.Errorf("the row is gone, as the run has it: %d", got)
	}
}

// TestMergeInto: what was asked of a row while a run of it was under way stays asked; all else is
// as the run leaves it.
func TestMergeInto(t *testing.T) {
	t.Parallel()
	claimed := state.Row{
		ID:       "t::T[a,n=1]",
		Rev:      4,
		Hash:     "h",
		Lane:     "a/0",
		Ticket:   7,
		Priority: state.PriorityNewVersion,
	}
	for _, c := range []struct {
		why    string
		change func(now *state.Row)
		want   func(r *state.Row) bool
	}{
		{"nothing was asked", func(*state.Row) {},
			func(r *state.Row) bool {
				return r.Ticket == 0 && r.Checked == 3 && !r.SucceededAt.IsZero()
			}},
		{"scheduled anew",
			func(now *state.Row) { now.Ticket, now.Priority = 9, state.PriorityUserDeploy },
			func(r *state.Row) bool {
				return r.Ticket == 9 && r.Priority == state.PriorityUserDeploy &&
					r.LastRun == state.RunSuccess
			}},
		{"asked for facts", func(now *state.Row) { now.WantFacts = true },
			func(r *state.Row) bool { return r.Ticket == 7 && r.WantFacts }},
		{"blocked", func(now *state.Row) {
			now.Blocked, now.Ticket, now.Causes = state.BlockedYes, 0, []resource.ID{"t::T[a,n=2]"}
		},
			func(r *state.Row) bool {
				return r.Blocked == state.BlockedYes && r.Ticket == 0 && len(r.Causes) == 1 &&
					r.Deployed == "h"
			}},
		{"requires more",
			func(now *state.Row) { now.Body = []byte(`{"requires":["t::T[a,n=2]"]}`) },
			func(r *state.Row) bool {
				return r.SucceededAt.IsZero() && r.LastRun == state.RunSuccess
			}},
		{"a run elsewhere was lost", func(now *state.Row) { now.PossiblyChanged = true },
			func(r *state.Row) bool { return r.PossiblyChanged && r.LastRun == state.RunSuccess }},
		{"moved to another lane", func(now *state.Row) { now.Lane = "a/1" },
			func(r *state.Row) bool { return r.Lane == "a/1" && r.Checked == 0 }},
	} {
		now := claimed
		now.Rev++
		c.change(&now)
		w := &worker{}
		w.Jitter = func() float64 { return 0.5 }
		got := (&recording{worker: w}).mergeInto(now, &claim{row: &claimed, result: &run.Result{
			Action:  state.Action{ID: "a2", Outcome: state.StatusDeployed, Change: diff.NoChange},
			Follows: time.Unix(5, 0)}, wrote: state.Row{Checked: 3}})
		if !c.want(&got) || got.Rev != now.Rev {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}
