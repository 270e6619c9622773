//go:build servers

package provision_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/aws/awstest"
	"southbound/shared/aws/provision"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestIdleAgentsSleep pins that an agent on which nothing ran for long is not polled any more, that
// a notice wakes it, and what minutes without change cost.
func TestIdleAgentsSleep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "web1", "web2", "local1")
	p.serve()
	notifier := w.start(nil)
	notifier.export(1, "web1", "web2", "local1") // it knows the agents as awake
	sleep := func(p *process, want int) {
		t.Helper()
		if n, err := p.Idle(t.Context()); err != nil || n != want {
			t.Fatalf("%v: %d agents were put to sleep, want %d", err, n, want)
		}
	}
	sleep(p, 0)
	w.later(13 * 24 * time.Hour)
	sleep(p, 0)
	w.later(2 * 24 * time.Hour)
	sleep(p, 2)
	if a, b := w.states("web1"), w.states("web2"); a != "Disabled" || b != "Disabled" {
		t.Fatalf("mappings %q and %q", a, b)
	}
	p.meter.Take()
	sleep(p, 0)
	w.later(time.Minute)
	sleep(p, 0)
	if got := p.meter.Take(); got.Sum().Calls != 0 {
		t.Errorf("two minutes in which nothing is due:\n%s", got)
	}
	w.later(2 * time.Hour)
	sleep(p, 0)
	if got := p.meter.Take(); got.Sum("Lambda.", "SQS.").Calls != 0 {
		t.Errorf("looking at agents that sleep:\n%s", got)
	}
	sleep(w.start(nil), 0) // a new process sees that they sleep already

	notifier.export(2, "web1", "web2", "local1")
	if a, b := w.states("web1"), w.states("web2"); a != "Enabled" || b != "Enabled" {
		t.Errorf("after a notice mappings %q and %q", a, b)
	}
	w.heard("web1")
	w.heard("web2")
	p.serve()
	notifier.meter.Take()
	w.later(2 * time.Hour)
	sleep(p, 0) // all were served lately: nobody sleeps
	if n := p.state.IdleEpoch("prod"); n != 0 {
		t.Errorf("agents sleep since %d", n)
	}
	notifier.export(3, "web1", "web2", "local1")
	if got := notifier.meter.Take(); got.Sum("Lambda.").Calls != 0 {
		t.Errorf("a notice when nobody sleeps any more:\n%s", got)
	}
}

// TestNoticeWhileGoingIdle exports in the middle of putting agents to sleep, before and after
// each request of it, and pins that the agent is awake in the end.
func TestNoticeWhileGoingIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.rules.Slow = 0
	first := w.start(nil)
	first.export(0, "web1")
	first.serve()
	for n, notified := 1, true; notified; n++ {
		for _, before := range []bool{true, false} {
			w.later(15 * 24 * time.Hour)
			first.serve()
			w.later(15 * 24 * time.Hour)
			notifier := w.start(nil)
			notified = false
			calls := 0
			var mu sync.Mutex
			hook := func(when bool) {
				if when != before || calls != n {
					return
				}
				notified = true
				notifier.export(2*n+map[bool]int{true: 1, false: 2}[before], "web1")
			}
			faults := &awstest.Faults{Decide: func(string, []byte) awstest.Fault {
				mu.Lock()
				defer mu.Unlock()
				calls++
				hook(true)
				return awstest.None
			}}
			sweep := w.start(faults)
			faults.Next = after(w.rules, func() {
				mu.Lock()
				defer mu.Unlock()
				hook(false)
			})
			if _, err := sweep.Idle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if notified {
				if got := w.states("web1"); got != "Enabled" {
					t.Errorf("notified at request %d (before it: %v): %q", n, before, got)
				}
				w.heard("web1")
			}
			first.serve()
		}
		if n > 20 {
			t.Fatal("it never ends")
		}
	}
}

// TestSleepThatNobodyNoted pins that the sweep finds a message in a queue that nobody polls,
// however that came about, and that it looks at an agent that nobody serves only now and then.
func TestSleepThatNobodyNoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "web1")
	p.serve()
	w.heard("web1")
	w.finishMapping("web1")
	w.disable("web1")
	p.export(2, "web1")
	if got := w.states("web1"); got != "Disabled" {
		t.Fatalf("mappings %q", got)
	}
	sweep := w.start(nil)
	check := func(want int) {
		t.Helper()
		if n, err := sweep.Check(t.Context(), "prod"); err != nil || n != want {
			t.Errorf("%v: %d agents were looked at, want %d", err, n, want)
		}
	}
	check(0) // it was served within the last minutes: its lease says so
	w.later(20 * time.Minute)
	check(1)
	w.heard("web1")
	check(0)
	w.later(9 * time.Minute)
	check(0)
	w.later(2 * time.Minute)
	check(1)
	if err := p.engine.Pause(t.Context(), "prod", true, "web1"); err != nil {
		t.Fatal(err)
	}
	w.later(20 * time.Minute)
	check(0)
}

// TestMappingOnItsWay pins that an agent is woken while its mapping is still being disabled, and
// that who cannot wait leaves it to the next sweep.
func TestMappingOnItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil)
	p.export(1, "web1")
	p.serve()
	for _, c := range []struct {
		reason string
		slow   int
		fails  bool
	}{{"it takes a moment", 3, false}, {"it takes too long", 50, true}} {
		w.rules.Slow = c.slow
		w.later(15 * 24 * time.Hour)
		sweep := w.start(nil)
		if n, err := sweep.Idle(t.Context()); err != nil || n != 1 {
			t.Fatalf("%s: %v: %d", c.reason, err, n)
		}
		if err := sweep.Wake(t.Context(), "prod", "web1"); (err != nil) != c.fails {
			t.Errorf("%s: %v", c.reason, err)
		}
		w.finishMapping("web1")
		if err := sweep.Wake(t.Context(), "prod", "web1"); err != nil ||
			w.states("web1") != "Enabled" {
			t.Errorf("%s: %v: %q", c.reason, err, w.states("web1"))
		}
		w.finishMapping("web1")
		p.export(c.slow, "web1")
		p.serve()
	}
}

// TestNeverIdle pins that sleeping can be switched off.
func TestNeverIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.start(nil, func(c *provision.Config) { c.IdleAfter = -1 })
	p.export(1, "web1")
	p.serve()
	w.later(1000 * time.Hour)
	if n, err := p.Idle(t.Context()); err != nil || n != 0 ||
		!strings.Contains(w.states("web1"), "Enabled") {
		t.Errorf("%v: %d", err, n)
	}
}

// TestWhatNeverRanSleeps pins that an agent sleeps on which nothing was ever run, as what is wanted
// of it is not known, and that it is awake when it gets work.
func TestWhatNeverRanSleeps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var read versionsRead
	p := w.start(nil, func(c *provision.Config) {
		read.State = c.State
		c.State = &read
	})
	m := &model.Model{Agents: []resource.Agent{{Name: "web1", Transport: "aws", Lanes: 1}},
		Resources: []resource.Resource{{
			ID:   resource.NewID("std::Null", "web1", resource.Key{Name: "name", Value: "a"}),
			Type: "std::Null", Agent: "web1",
			Attributes: map[string]any{"name": "a", "value": resource.Parameter{Name: "p"}}}}}
	if _, err := p.engine.Export(t.Context(), "prod", deploy.Export{Model: m}); err != nil {
		t.Fatal(err)
	}
	if err := p.Wake(t.Context(), "prod", "web1"); err != nil { // as for all new agents
		t.Fatal(err)
	}
	if n, err := p.Idle(t.Context()); err != nil || n != 0 {
		t.Errorf("a new agent is put to sleep: %d, %v", n, err)
	}
	w.later(15 * 24 * time.Hour)
	if n, err := p.Idle(t.Context()); err != nil || n != 1 || w.states("web1") != "Disabled" {
		t.Errorf("%d agents are put to sleep, %v; the mapping is %s", n, err, w.states("web1"))
	}
	if read.all > 0 {
		t.Errorf("all versions are read %d times, each of which may be large", read.all)
	}
}

// versionsRead counts how often all versions are read.
type versionsRead struct {
	provision.State
	all int
}

// Versions implements provision.State.
func (s *versionsRead) Versions(
	ctx context.Context, env string, numbers ...int,
) ([]state.Version, error) {
	if len(numbers) == 0 {
		s.all++
	}
	return s.State.Versions(ctx, env, numbers...)
}
