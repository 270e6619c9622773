package deploy_test

import (
	"context"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestLeaseOutlastsEveryCall pins invariant D2 for runs that make several calls, each of which
// takes nearly as long as it may: nobody else gets the lane while one of them is under way.
func TestLeaseOutlastsEveryCall(t *testing.T) {
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	clear(r.w.things)
	calls := 0
	r.w.hook = func(call, name string) {
		calls++
		r.clock.advance(schema.DefaultTimeout - time.Second)
		now := r.clock.Now()
		_, err := r.home.Acquire(context.Background(), "e", "a", "another process", now,
			now.Add(time.Hour))
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

// TestLeaseThatEnded pins that nothing more is called once the lease has ended, and that what was
// not called has not failed.
func TestLeaseThatEnded(t *testing.T) {
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("a"))})
	r.w.hook = func(call, _ string) {
		if call == "read" {
			r.w.hook = nil
			r.clock.advance(time.Hour)
		}
	}
	if _, err := r.e.RunAgent(context.Background(), "e", "a",
		r.clock.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.same("calls", r.took("read", "create"), "read a")
	if row := r.row("a"); row.Attempts != 0 || row.Status() != state.StatusAvailable {
		t.Errorf("it is %s after %d failures: %s", row.Status(), row.Attempts, row.Reason)
	}
	r.drain()
	r.want("a", state.StatusDeployed)
}

// taken is a State that calls back before a lane is taken.
type taken struct {
	state.State
	lane string
	n    int // how often it was taken
	f    func(n int)
}

func (s *taken) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	if key == s.lane {
		s.n++
		s.f(s.n)
	}
	return s.State.Acquire(ctx, env, key, holder, now, until)
}

// TestLaneGivenUpLooksOnceMore pins that a lane in which something waits does not miss what
// finishes elsewhere while it is busy, even if the only one who was told of it found the lane held
// by another, and has left. Without it that waits for a sweep; and if each sweep first asks anew
// for what comes before, for ever.
func TestLaneGivenUpLooksOnceMore(t *testing.T) {
	r := newRig(t)
	before := res("before")
	before.Agent, before.ID = "b", "t::T[b,name=before]"
	after := res("after")
	after.Requires = []resource.ID{before.ID}
	run := func(lane string) deploy.AgentRun {
		e := deploy.New(r.e.Config) // another process each time: it knows nothing
		out, err := e.RunAgent(context.Background(), "e", lane, r.clock.Now().Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	nested := false
	meanwhile := func(call, name string) { // before finishes, and nobody who can use it is told
		if call == "read" && name == "other" {
			nested = true
			if out := run("b"); out.Ran != 1 {
				t.Errorf("of b %+v, want one run", out)
			}
			if out := run("a"); !out.Busy {
				t.Errorf("a second of a: %+v, want busy", out)
			}
			nested = false
		}
	}
	r.export(deploy.Export{Model: &model.Model{
		Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: 1},
			{Name: "b", Transport: "local", Lanes: 1}},
		Resources: []resource.Resource{before, after, res("other")}}})
	r.w.hook = meanwhile
	if out := run("a"); out.Ran != 2 || out.Waits {
		t.Errorf("%+v, want two runs and nothing that waits", out)
	}

	clear(r.w.things)
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	if out := run("a"); out.Ran != 2 || out.Waits || len(r.w.things) != 3 {
		t.Errorf("a wave: %+v, want two runs and nothing that waits; %v", out, r.w.things)
	}

	// The same is missed again, as it is asked for once more after it was looked for.
	ask := func(ids ...resource.ID) {
		for _, id := range ids {
			if _, err := r.e.Repair(context.Background(), "e",
				deploy.Request{Filter: state.Filter{ID: string(id)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := &taken{State: r.e.State, lane: "a"}
	state.f = func(n int) {
		if nested {
			state.n--
		} else if n == 2 {
			ask(before.ID, id("other"))
		}
	}
	r.e.State = state
	ask(before.ID, after.ID, id("other"))
	if out := run("a"); out.Ran != 3 || out.Waits {
		t.Errorf("twice: %+v, want three runs and nothing that waits", out)
	}
}

// unavailable is a State that takes no lease, and cancels the caller once it was asked often.
type unavailable struct {
	state.State
	n      int
	cancel func()
}

func (s *unavailable) Acquire(
	context.Context, string, string, string, time.Time, time.Time,
) (state.Lease, error) {
	if s.n++; s.n == 100_000 {
		s.cancel()
	}
	return state.Lease{}, fault.New(fault.Unavailable, "take lease", "the database is locked")
}

// TestStoreThatStaysAway pins that who waits for a lease is told when it is the store that cannot be
// used, and does not wait for ever.
func TestStoreThatStaysAway(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	config := r.e.Config
	config.State = &unavailable{State: r.home, cancel: cancel}
	began := r.clock.Now()
	_, err := deploy.New(config).Export(ctx, "e", deploy.Export{Model: modelOf(res("a"))})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("an export ends with %v", err)
	}
	if waited := r.clock.Now().Sub(began); waited < 30*time.Second {
		t.Errorf("it gave up after %s", waited)
	}
}
