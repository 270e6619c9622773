package deploy_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// on moves a resource to another agent, with what it requires as given.
func on(agent string, r resource.Resource) resource.Resource {
	r.Agent = agent
	r.ID = resource.ID("t::T[" + agent + ",name=" + r.Attributes["name"].(string) + "]")
	return r
}

// runs returns what was read, each once a run, in the order of the runs.
func (r *rig) runs() []string { return r.took("read") }

// TestRunsOnceForEachReason pins that a resource runs once for each reason, and that reasons that
// came before it started share that run.
func TestRunsOnceForEachReason(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	retry := func(t *testing.T, r *rig) {
		t.Helper()
		if _, err := r.e.Deploy(context.Background(), "e",
			deploy.Request{RetryFailed: true}); err != nil {
			t.Fatal(err)
		}
		r.drain()
	}
	for name, ask := range map[string]func(t *testing.T, r *rig){
		"recovers by a deploy": retry,
		"recovers by a repair": func(_ *testing.T, r *rig) { r.repair("") },
		"recovers by an export": func(_ *testing.T, r *rig) {
			r.release(valued("a", "new"), on("b", valued("b<a", "new")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.w.fail["a"] = broken
			r.release(res("a"), on("b", res("b<a")))
			r.same("while it is broken", r.runs(), "read a")
			delete(r.w.fail, "a")
			ask(t, r)
			r.same("mended", r.runs(), "read a", "read b")
		})
	}
	t.Run("a failing dependant of what sends events", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a := res("a")
		a.SendEvent = true
		r.w.fail["b"] = broken
		r.release(a, res("b<a"))
		r.same("first", r.runs(), "read a", "read b")
		a.Attributes["value"] = "new"
		b := valued("b<a", "new")
		r.release(a, b)
		r.same("then", r.runs(), "read a", "read b")
	})
	t.Run("a requirement is added", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a := res("a")
		a.SendEvent = true
		r.release(a, res("b"))
		r.runs()
		r.release(a, res("b<a"))
		r.same("nothing is done for it", r.runs())
	})
	t.Run("nothing has changed", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a := res("a")
		a.SendEvent = true
		r.release(a, on("b", res("b<a")))
		r.runs()
		r.repair("a")
		r.same("only what is asked for", r.runs(), "read a")
	})
}

// TestDeployWhileItRuns pins that a deploy asks for no second run of what is being run for the same
// intent.
func TestDeployWhileItRuns(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func(r *rig){
		"asked for by a version": func(r *rig) {
			r.export(deploy.Export{Model: modelOf(res("a"))})
		},
		"asked for by a check of everything": func(r *rig) {
			r.w.fail["a"] = errors.New("broken")
			r.release(res("a"))
			delete(r.w.fail, "a")
			if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
				r.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			first(r)
			r.runs()
			r.w.hook = func(string, string) {
				r.w.hook = nil
				if _, err := r.e.Deploy(context.Background(), "e",
					deploy.Request{RetryFailed: true}); err != nil {
					t.Error(err)
				}
			}
			r.drain()
			r.same("runs", r.runs(), "read a")
		})
	}
}

// TestFactsWhileItRuns pins that facts that were asked for, and not learned since the run failed,
// are not asked for once more while they are about to be: by somebody else who wants them.
func TestFactsWhileItRuns(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = factual{handler{r.w}}
	fact := resource.Fact{Name: "address", Of: id("a")}
	r.w.fail["a"] = errors.New("broken")
	r.release(res("a"), valued("b<a", fact))
	delete(r.w.fail, "a")
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.runs()
	r.w.hook = func(string, string) {
		r.w.hook = nil
		r.export(deploy.Export{
			Model: modelOf(res("a"), valued("b<a", fact), valued("c<a", fact))})
	}
	r.drain()
	r.same("runs", r.runs(), "read a", "read b", "read c")
}

// TestWaitsForTheNewIntent pins that a failure for an intent that was replaced meanwhile skips
// nothing: what requires it waits for the new one.
func TestWaitsForTheNewIntent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.fail["a"] = errors.New("broken")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"))})
	r.w.hook = func(string, string) {
		r.w.hook = nil
		delete(r.w.fail, "a")
		r.export(deploy.Export{Model: modelOf(valued("a", "new"), res("b<a"))})
	}
	r.drain()
	r.clock.advance(time.Hour)
	r.want("b", state.StatusDeployed)
	r.same("runs", r.runs(), "read a", "read a", "read b")
	if n := r.actions(); n != 3 {
		t.Errorf("%d actions were recorded, want 3: b was skipped for what does not count", n)
	}
}

// leftOut is a State that calls back after a commit that has left out a row.
type leftOut struct {
	state.State
	f func()
}

func (s *leftOut) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	done, err := s.State.Commit(ctx, env, c)
	if f := s.f; f != nil && err == nil && len(done.Conflicts) > 0 {
		s.f = nil
		f()
	}
	return done, err
}

// TestEventOfWhatDoesNotCount pins that nobody runs for the event of a run that does not count,
// even if somebody else finds that before it is struck off: what it has changed is told of when the
// next one ends.
func TestEventOfWhatDoesNotCount(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := res("a"), on("b", res("b<a"))
	a.SendEvent = true
	r.release(a, b)
	other := r.e
	state := &leftOut{State: r.home}
	config := r.e.Config
	config.State = state
	r.e = deploy.New(config)
	change := func(value string) {
		a := valued("a", value)
		a.SendEvent = true
		r.export(deploy.Export{Model: modelOf(a, b)})
	}
	change("2")
	r.w.hook = func(call, _ string) {
		if call != "update" {
			return
		}
		r.w.hook = nil
		change("3")
		state.f = func() {
			r.runs()
			if _, err := other.Sweep(context.Background(), "e"); err != nil {
				t.Error(err)
			}
			if row, err := other.Row(context.Background(), "e", b.ID); err != nil ||
				row.Ticket() != 0 {
				t.Errorf("%v: before the next run ends it is asked for with ticket %d", err,
					row.Ticket())
			}
		}
	}
	r.drain()
	r.same("then", r.runs(), "read a", "read b")
	r.same("reloads", r.w.reload, "b")
}

// lateEntry is a State whose outbox still holds an entry for some reads.
type lateEntry struct {
	state.State
	entry state.Outbox
	reads int
}

func (s *lateEntry) Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error) {
	all, err := s.State.Outbox(ctx, env, limit)
	if s.reads--; s.reads >= 0 {
		all = append(all, s.entry)
	}
	return all, err
}

// TestEntryThatIsLate pins that an entry of the outbox that is handled late asks for nothing of what
// was claimed after it, while that is being run once more.
func TestEntryThatIsLate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why   string
		entry state.Outbox
		reads int
	}{
		{"an event of before the last run",
			state.Outbox{Kind: state.OutboxEvent, Ticket: 1}, math.MaxInt},
		{"another sweep has followed it up since it was read",
			state.Outbox{Kind: state.OutboxRecovered, Ticket: math.MaxInt64}, 1},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, b := res("a"), res("b<a")
			a.SendEvent = true
			r.release(a, b)
			tc.entry.ID, tc.entry.Of, tc.entry.Priority = "late", a.ID, state.PriorityUserDeploy
			tc.entry.At = r.row("b").SucceededAt.Add(-time.Millisecond)
			config := r.e.Config
			config.State = &lateEntry{r.home, tc.entry, tc.reads}
			other := deploy.New(config)
			r.runs()
			r.w.hook = func(call, name string) {
				if call != "read" || name != "b" {
					return
				}
				r.w.hook = nil
				if _, err := other.Sweep(context.Background(), "e"); err != nil {
					t.Error(err)
				}
			}
			r.repair("")
			r.same("one check of each", r.runs(), "read a", "read b")
		})
	}
}

// claimed calls f once something was claimed, before whoever claimed it hears of that.
type claimed struct {
	state.State
	id resource.ID
	f  func()
}

func (c *claimed) Commit(
	ctx context.Context,
	env string,
	in state.Commit,
) (state.Committed, error) {
	out, err := c.State.Commit(ctx, env, in)
	if err == nil && out.Started && slices.Contains(in.Next, c.id) {
		c.f()
	}
	return out, err
}

// TestRecoveryWakesWhatIsRemoved pins that what is being removed, and was claimed before a wave
// began, is woken by what recovers in the wave: that does not ask for it once more.
func TestRecoveryWakesWhatIsRemoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx := context.Background()
	b := on("b", res("b"))
	b.PurgeOnDelete = true
	a := res("a")
	a.Requires = []resource.ID{b.ID}
	r.release(a, b)
	run := func(e *deploy.Engine, lane string) {
		if _, err := e.RunAgent(ctx, "e", lane, r.clock.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
	}
	of := func(id resource.ID) string {
		row, err := r.e.Row(ctx, "e", id)
		if err != nil {
			t.Fatal(err)
		}
		return row.Agent
	}
	laneA, laneB := of(a.ID), of(b.ID)

	r.w.fail["a"] = errors.New("broken")
	r.export(deploy.Export{Model: modelOf(valued("a", "new"))})
	run(r.e, laneA) // fails, and b waits for it
	delete(r.w.fail, "a")
	reading, skipped, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	r.w.hook = func(call, name string) {
		if call == "read" && name == "a" {
			close(reading)
			<-skipped
		}
	}
	config := r.e.Config
	config.State = &claimed{State: r.home, id: b.ID, f: func() {
		if _, err := r.e.Repair(ctx, "e", deploy.Request{}); err != nil {
			t.Error(err)
		}
		go func() {
			defer close(ended)
			run(r.e, laneA) // asked for by the wave
		}()
		select {
		case <-reading:
		case <-ended:
			t.Error("the wave does not check a")
		}
	}}
	run(deploy.New(config), laneB) // is skipped for what a was before
	r.w.hook = nil
	close(skipped)
	<-ended
	r.drain()
	if row, err := r.e.Row(ctx, "e", b.ID); err == nil {
		t.Errorf("b is %s for %v, and is not removed", row.Status(), row.Because())
	}
}

// TestNewIntentIsNoChange pins that what sends events and is described anew tells of a change only
// if there was one: somebody else may have made it so already.
func TestNewIntentIsNoChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	described := func(value string) *model.Model {
		a := valued("a", value)
		a.SendEvent = true
		return modelOf(a, res("b<a"))
	}
	r.export(deploy.Export{Model: described("1")})
	r.drain()
	r.w.things["a"] = "2"
	r.export(deploy.Export{Model: described("2")})
	r.drain()
	if len(r.w.reload) > 0 {
		t.Errorf("%v reloaded, and nothing has changed", r.w.reload)
	}
	r.export(deploy.Export{Model: described("3")})
	r.drain()
	r.same("reloaded", r.w.reload, "b")
}
