package deploy_test

import (
	"context"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/schema"
)

// TestLeaseOutlastsEveryCall pins invariant D2 for runs that make several calls, each of which takes nearly as long as it may: nobody else gets the
// lane while one of them is under way.
func TestLeaseOutlastsEveryCall(t *testing.T) {
	r := newRig(t)
	r.export(deploy.Export{Model: model(res("a"), res("b"))})
	r.drain()
	clear(r.w.things)
	calls := 0
	r.w.hook = func(call, name string) {
		calls++
		r.clock.advance(schema.DefaultTimeout - time.Second)
		now := r.clock.Now()
		_, err := r.home.Acquire(context.Background(), "e", "a/0", "another process", now, now.Add(time.Hour))
		if !fault.Is(err, fault.Busy) {
			t.Errorf("at the end of %s %s another could take the lane: %v", call, name, err)
		}
	}
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if calls != 4 || len(r.w.things) != 2 {
		t.Errorf("%d calls, %d things, want a read and a create of two", calls, len(r.w.things))
	}
}

// TestLeaseThatEnded pins that nothing more is called once the lease has ended, and that what was not called has not failed.
func TestLeaseThatEnded(t *testing.T) {
	r := newRig(t)
	r.export(deploy.Export{Model: model(res("a"))})
	r.w.hook = func(call, _ string) {
		if call == "read" {
			r.w.hook = nil
			r.clock.advance(time.Hour)
		}
	}
	if _, err := r.e.RunLane(context.Background(), "e", "a/0", r.clock.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.same("calls", r.took("read", "create"), "read a")
	if row := r.row("a"); row.Attempts != 0 || row.Status() != deploy.StatusAvailable {
		t.Errorf("it is %s after %d failures: %s", row.Status(), row.Attempts, row.Reason)
	}
	r.drain()
	r.want("a", deploy.StatusDeployed)
}
