package awssim

import (
	"context"
	"testing"
	"time"

	"southbound/shared/deploy"
)

// TestOverviewOfWhatEndsMeanwhile ends the only thing that is scheduled, of which an event follows,
// while somebody in the same process reads an overview: that never says that nothing is left to do.
func TestOverviewOfWhatEndsMeanwhile(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	table.Page = func() int { return 1 }
	slow := &parted{API: table}
	planner, worker := stateOn(t, table, objects), stateOn(t, slow, objects)
	row := rowIn("a/0", "n")
	plan := leased(t, planner, "plan")
	committed(t, planner, deploy.Commit{Guard: plan, Plan: true,
		Rows: []deploy.Row{row, rowIn("a/1", "o")}, Env: &deploy.Env{Name: env}})
	other := rowIn("a/1", "o")
	other.Rev, other.Ticket = 1, 0
	committed(t, worker, deploy.Commit{Guard: leased(t, worker, "a/1"), Rows: []deploy.Row{other}})
	guard := leased(t, worker, "a/0")
	slow.then = func() {
		row.Rev, row.Ticket, row.Compliance = 1, 0, deploy.Compliant
		row.LastRun, row.Deployed = deploy.RunSuccess, row.Hash
		at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		committed(t, worker, deploy.Commit{Guard: guard, Rows: []deploy.Row{row},
			AddOutbox: []deploy.Outbox{{ID: "1", Kind: deploy.OutboxEvent, Of: row.ID, At: at}}})
		if _, err := worker.LaneRows(context.Background(), env, "a/0", true); err != nil {
			t.Error(err) // and the process knows of it
		}
	}
	out, err := worker.Overview(context.Background(), env)
	if slow.then != nil {
		t.Fatal("nothing was read in parts")
	}
	if err != nil || out.Outbox+len(out.Schedule.Tickets) == 0 {
		t.Errorf("%+v, %v: it says that nothing is left to do", out, err)
	}
}
