package deploy

import (
	"testing"
	"time"

	"southbound/shared/plan"
	"southbound/shared/resource"
)

// TestStandingOf: what a result is worth to a row that others have changed while the run was under way.
func TestStandingOf(t *testing.T) {
	t.Parallel()
	ran := result{action: "a2", outcome: StatusDeployed}
	skipped := result{action: "a2", outcome: StatusSkipped, causes: []resource.ID{"t::T[a,n=cause]"}}
	claimed := Row{ID: "t::T[a,n=1]", Rev: 4, Hash: "h", Body: []byte("{}"), LastAction: "a1", Ticket: 7}
	for _, c := range []struct {
		why    string
		result result
		change func(now *Row)
		want   standing
	}{
		{"only its schedule changed", ran, func(now *Row) { now.Ticket = 9 }, resultCounts},
		{"what it requires changed, and it ran", ran, func(now *Row) { now.Body = []byte(`{"requires":[]}`) }, resultCounts},
		{"what it requires changed, and it was skipped", skipped, func(now *Row) { now.Body = []byte(`{"requires":[]}`) }, resultMoot},
		{"it was skipped, and is required as before", skipped, func(now *Row) { now.Ticket = 9 }, resultCounts},
		{"another intent", ran, func(now *Row) { now.Hash = "i" }, resultStale},
		{"it left the model", ran, func(now *Row) { now.Orphaned = true }, resultStale},
		{"it ran in another lane since", ran, func(now *Row) { now.LastAction = "a3" }, resultOvertaken},
		{"it ran in another lane since, and then came another intent", ran, func(now *Row) { now.LastAction, now.Hash = "a3", "i" }, resultOvertaken},
		{"the row is gone", ran, func(now *Row) { *now = Row{ID: now.ID} }, resultVoid},
		{"the write arrived, its answer did not", ran, func(now *Row) { now.LastAction = "a2" }, resultWritten},
		{"the write arrived, and then came another intent", ran, func(now *Row) { now.LastAction, now.Hash = "a2", "i" }, resultWritten},
	} {
		now := claimed
		now.Rev++
		c.change(&now)
		if got := standingOf(&claim{row: &claimed, result: &c.result}, &now); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
}

// TestSettleOn: what was asked of a row while a run of it was under way stays asked; all else is as the run leaves it.
func TestSettleOn(t *testing.T) {
	t.Parallel()
	claimed := Row{ID: "t::T[a,n=1]", Rev: 4, Hash: "h", Lane: "a/0", Ticket: 7, Priority: PriorityNewVersion}
	for _, c := range []struct {
		why    string
		change func(now *Row)
		want   func(r *Row) bool
	}{
		{"nothing was asked", func(*Row) {}, func(r *Row) bool { return r.Ticket == 0 && r.Checked == 3 && !r.SucceededAt.IsZero() }},
		{"scheduled anew", func(now *Row) { now.Ticket, now.Priority = 9, PriorityUserDeploy },
			func(r *Row) bool { return r.Ticket == 9 && r.Priority == PriorityUserDeploy && r.LastRun == RunSuccess }},
		{"asked for facts", func(now *Row) { now.WantFacts = true }, func(r *Row) bool { return r.Ticket == 7 && r.WantFacts }},
		{"blocked", func(now *Row) { now.Blocked, now.Ticket, now.Causes = BlockedYes, 0, []resource.ID{"t::T[a,n=2]"} },
			func(r *Row) bool {
				return r.Blocked == BlockedYes && r.Ticket == 0 && len(r.Causes) == 1 && r.Deployed == "h"
			}},
		{"requires more", func(now *Row) { now.Body = []byte(`{"requires":["t::T[a,n=2]"]}`) },
			func(r *Row) bool { return r.SucceededAt.IsZero() && r.LastRun == RunSuccess }},
		{"a run elsewhere was lost", func(now *Row) { now.Unsure = true }, func(r *Row) bool { return r.Unsure && r.LastRun == RunSuccess }},
		{"moved to another lane", func(now *Row) { now.Lane = "a/1" }, func(r *Row) bool { return r.Lane == "a/1" && r.Checked == 0 }},
	} {
		now := claimed
		now.Rev++
		c.change(&now)
		w := &worker{e: New(Config{Jitter: func() float64 { return 0.5 }})}
		got := w.settleOn(now, &claim{row: &claimed, result: &result{action: "a2", outcome: StatusDeployed, change: plan.NoChange, follows: time.Unix(5, 0)}, wrote: Row{Checked: 3}})
		if !c.want(&got) || got.Rev != now.Rev {
			t.Errorf("%s: %+v", c.why, got)
		}
	}
}
