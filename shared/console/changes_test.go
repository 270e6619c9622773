package console

import (
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
)

// TestNextChange waits for a change of an environment in both homes, and survives a failing one.
func TestNextChange(t *testing.T) {
	t.Parallel()
	w := consoletest.Open(t, handlers.All())
	w.Export(t, consoletest.Env, consoletest.Null("a", "n"))
	paused := false
	for name, home := range w.Homes(t) {
		at := nextChange(t.Context(), home, consoletest.Env, "")
		if at == "" {
			t.Fatalf("%s: no token", name)
		}
		got := make(chan string, 1)
		go func() { got <- nextChange(t.Context(), home, consoletest.Env, at) }()
		paused = !paused
		if err := w.Service.Pause(t.Context(), consoletest.Env, paused, "a"); err != nil {
			t.Fatal(err)
		}
		select {
		case next := <-got:
			if next == at || next == "" {
				t.Errorf("%s: token %q after %q", name, next, at)
			}
		case <-time.After(10 * time.Minute):
			t.Fatalf("%s: no change arrived", name)
		}
	}
	gone := consoletest.Failing(w.Service, fault.New(fault.Unavailable, "", "gone"))
	if got := nextChange(t.Context(), gone, consoletest.Env, "7"); got != "7" {
		t.Errorf("a failing home: %q", got)
	}
}
