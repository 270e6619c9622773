package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// TestProgressByAgent pins what a line of progress says of agents: how far they are, which are the slowest, and why one is waited for.
func TestProgressByAgent(t *testing.T) {
	t.Parallel()
	p := &progress{a: &app{}}
	p.count(api.Progress{Left: map[string]int{"a": 4}})
	if text := p.slowest(); text != "" {
		t.Errorf("one agent: %q", text)
	}
	p.count(api.Progress{Left: map[string]int{"a": 4, "b": 10, "c": 3, "d": 2, "e": 9}})
	p.count(api.Progress{Left: map[string]int{"b": 7, "c": 3, "d": 1, "e": 8}})
	if text, want := p.slowest(), ", 1 of 5 agents done, slowest: e 1 of 9, b 3 of 10, c 0 of 3 and 1 more"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	p.count(api.Progress{Left: map[string]int{}})
	if text := p.slowest(); text != "" {
		t.Errorf("all are done: %q", text)
	}
	var w waits
	w.note("web1", "dial tcp 127.0.0.1:9: connect: connection refused")
	if text := w.said(time.Now()); text != ", web1 is tried again: dial tcp 127.0.0.1:9: connect: connection refused" {
		t.Errorf("%q", text)
	}
	w.note("web2", "no route to host")
	if text := w.said(time.Now()); !strings.HasSuffix(text, "refused (and 1 more agents)") {
		t.Errorf("two agents: %q", text)
	}
	if text := w.said(time.Now().Add(time.Minute)); text != "" {
		t.Errorf("it was a minute ago: %q", text)
	}
}

// TestWithin pins that a command ends in its time even if what it does is deaf, and that one which is interrupted is waited for.
func TestWithin(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	a := &app{}
	err := a.within(t.Context(), time.Millisecond, func(context.Context) error { <-never; return nil })
	if !fault.Is(err, fault.Timeout) {
		t.Errorf("deaf: %v", err)
	}
	err = a.within(t.Context(), time.Millisecond, func(ctx context.Context) error {
		<-ctx.Done()
		return fault.Wrap(fault.Timeout, "read environment", ctx.Err())
	})
	if !fault.Is(err, fault.Timeout) || !strings.Contains(err.Error(), "the time to wait ran out") {
		t.Errorf("cut off: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = a.within(ctx, time.Hour, func(ctx context.Context) error {
		cancel()
		<-ctx.Done()
		return fault.New(fault.Canceled, "", "interrupted")
	})
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
