package work

import (
	"context"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// TestProgressByAgent pins what a line of progress says of agents: how far they are, which are the
// slowest, and why one is waited for.
func TestProgressByAgent(t *testing.T) {
	t.Parallel()
	p := &progress{w: testWaiter(&output.Console{})}
	p.count(api.Progress{Left: map[string]int{"a": 4}})
	if text := p.slowest(); text != "" {
		t.Errorf("one agent: %q", text)
	}
	p.count(api.Progress{Left: map[string]int{"a": 4, "b": 10, "c": 3, "d": 2, "e": 9}})
	p.count(api.Progress{Left: map[string]int{"b": 7, "c": 3, "d": 1, "e": 8}})
	if text, want := p.slowest(), ", 1 of 5 agents done, slowest: e 1 of 9, b 3 of 10, c 0 of 3 "+
		"and 1 more"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	p.count(api.Progress{Left: map[string]int{}})
	if text := p.slowest(); text != "" {
		t.Errorf("all are done: %q", text)
	}
}

// TestTriedAgain pins what is said of agents that are waited for: of those of the environment,
// while it is news, whoever serves them.
func TestTriedAgain(t *testing.T) {
	t.Parallel()
	const refused = "dial tcp 127.0.0.1:9: connect: connection refused"
	a := testWaiter(&output.Console{})
	a.Env = "e"
	a.Waits.Note("e", "web1", refused)
	a.Waits.Note("other", "a", "no route to host")
	now := time.Now()
	if got := TriedAgain(a.Waits.Of("e", now)); got != "web1 is tried again: "+refused {
		t.Errorf("%q", got)
	}
	a.Waits.Note("e", "web2", "no route to host")
	if got := TriedAgain(a.Waits.Of("e", now)); !strings.HasSuffix(got,
		"refused (and 1 more agent)") {
		t.Errorf("two agents: %q", got)
	}
	if got := TriedAgain(a.Waits.Of("e", now.Add(time.Minute))); got != "" {
		t.Errorf("it was a minute ago: %q", got)
	}
	var printed strings.Builder
	p := &progress{w: testWaiter(&output.Console{Err: &printed}), began: now,
		moved: now}
	p.report(api.Progress{Scheduled: 1, Left: map[string]int{},
		Waiting: map[string]string{"web3": "what a server says"}})
	if !strings.Contains(printed.String(), ", web3 is tried again: what a server says") {
		t.Errorf("over an API: %q", printed.String())
	}
}

// TestNewlyBad pins that a line of progress counts what fails meanwhile, by its status, and not
// what had failed elsewhere before.
func TestNewlyBad(t *testing.T) {
	t.Parallel()
	p := &progress{w: testWaiter(&output.Console{})}
	for i, c := range []struct {
		failed, unavailable int
		want                string
	}{
		{11, 2, ""},
		{11, 42, ", 40 unavailable"},
		{9, 42, ", 40 unavailable"}, // two are tried again
		{12, 42, ", 3 failed, 40 unavailable"},
	} {
		got := p.newlyBad(api.Progress{Counts: map[state.Status]int{
			state.StatusFailed: c.failed, state.StatusUnavailable: c.unavailable}})
		if got != c.want {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// TestWithin pins that a command ends in its time even if what it does is deaf, and that one which
// is interrupted is waited for.
func TestWithin(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	a := testWaiter(&output.Console{})
	err := a.Within(t.Context(), time.Millisecond,
		func(context.Context) error { <-never; return nil })
	if !fault.Is(err, fault.Timeout) {
		t.Errorf("deaf: %v", err)
	}
	err = a.Within(t.Context(), time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done()
		return fault.Wrap(fault.Timeout, "read environment", ctx.Err())
	})
	if !fault.Is(err, fault.Timeout) || !strings.Contains(err.Error(), "the time to wait ran out") {
		t.Errorf("cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = a.Within(ctx, time.Hour, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return fault.New(fault.Canceled, "", "interrupted")
	})
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

// testWaiter returns a waiter in no home.
func testWaiter(c *output.Console) *Waiter {
	l := &home.Location{}
	return &Waiter{Console: c, Location: l, Session: &home.Session{Console: c, Location: l}}
}
