package fulfil_test

import (
	"context"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/fulfil"
)

// away keeps passwords, but cannot be reached.
type away struct{}

func (away) Password(context.Context, string) (string, error) {
	return "", fault.New(fault.Unavailable, "read", "nobody answers")
}

func (a away) Make(ctx context.Context, name, _ string) (string, error) {
	return a.Password(ctx, name)
}

// TestPasswordsAway has who keeps passwords not be reached: the order waits, and is not rejected.
func TestPasswordsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site+"\nx = std::generate_password(\"db\")\n")
	w.order("site", "i", map[string]any{"host_name": "f"})
	visitor := w.visitor(w.store, func(c *fulfil.Config) { c.Passwords = away{} })
	if _, err := visitor.Visit(t.Context(), []string{"i"}, false, time.Time{}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("the visit ends with %v", err)
	}
	r, err := w.store.Instance(t.Context(), env, "i")
	if err != nil || len(r.Tasks) == 0 || len(r.Problems) > 0 {
		t.Errorf("%v: the order is %s with %v: %s", err, r.State, r.Tasks, r.Problems)
	}
	if !w.notified(w.store, "i") {
		t.Error("it does not go on")
	}
	w.state("i", "up")
}
