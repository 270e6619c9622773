package deploy_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// halfReleased returns a rig in which a version that changes a, and b that requires a, is released
// and its planner has died: b is written, and a, which somebody changed meanwhile, is not. So does c
// change, which is on another agent. What is notified from then on is counted.
func halfReleased(t *testing.T) (*rig, *counted) {
	t.Helper()
	r, c := countedRig(t)
	model := func(value string) *model.Model {
		c := valued("c", value)
		c.ID, c.Agent = "t::T[b,name=c]", "b"
		m := modelOf(valued("a", value), valued("b<a", value), c)
		m.Agents = []resource.Agent{{Name: "a", Transport: "local"},
			{Name: "b", Transport: "local"}}
		return m
	}
	r.export(deploy.Export{Model: model("old")})
	c.answer(t, r)
	r.took("create")
	whole := r.e
	config := r.e.Config
	config.State = &diesAfter{State: r.home, of: id("a")}
	r.e = deploy.New(config)
	_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: model("new")})
	if !fault.Is(err, fault.Internal) {
		t.Fatalf("the export ends with %v", err)
	}
	if a, b := r.row("a"), r.row("b"); b.Ticket() == 0 || a.Ticket() != 0 {
		t.Fatal("b is to be scheduled, and a not yet")
	}
	r.e = whole
	return r, c
}

// runLane serves the lane of a and b.
func (r *rig) runLane() {
	r.t.Helper()
	if _, err := r.e.RunAgent(r.t.Context(), "e", "a", r.clock.Now().Add(time.Hour)); err != nil {
		r.t.Fatal(err)
	}
}

// TestHalfReleasedWaits pins that nothing that a release schedules starts before all of it is
// written: what it requires may be part of that. Whoever finishes the release notifies the lane.
func TestHalfReleasedWaits(t *testing.T) {
	t.Parallel()
	r, c := halfReleased(t)
	r.runLane()
	r.same("calls before it is complete", r.took("update"))
	if len(c.notified) > 0 {
		t.Errorf("%v notified before it is complete", c.notified)
	}
	if _, err := r.e.Collect(t.Context(), "e", time.Hour); err != nil {
		t.Fatal(err)
	}
	c.answer(t, r)
	calls := r.took("update")
	slices.Sort(calls[1:])
	r.same("calls", calls, "update a", "update b", "update c")
}

// TestHalfReleasedIsResumed finishes the release while somebody serves the lane, whom its notice
// does not reach: that one looks once more.
func TestHalfReleasedIsResumed(t *testing.T) {
	t.Parallel()
	r, c := halfReleased(t)
	config := r.e.Config
	config.State = &finishes{State: c, release: func() {
		if _, err := deploy.New(r.e.Config).Collect(t.Context(),
			"e", time.Hour); err != nil {
			t.Error(err)
		}
		c.notified = nil
	}}
	r.e = deploy.New(config)
	r.runLane()
	r.same("calls", r.took("update"), "update a", "update b")
}

// finishes is a State in which a release ends as soon as the lease of a lane is to be given up.
type finishes struct {
	state.State
	release func()
}

// Release implements state.State.
func (f *finishes) Release(ctx context.Context, env string, l state.Lease) error {
	if once := f.release; l.Key != state.PlanKey && once != nil {
		f.release = nil
		once()
	}
	return f.State.Release(ctx, env, l)
}
