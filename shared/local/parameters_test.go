package local_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/local"
)

// TestParameterHistory pins what is told of a parameter that was set, removed and set again, and
// that it is forgotten with the actions of that time.
func TestParameterHistory(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	began := time.Now().UTC().Add(-time.Hour)
	lease, err := h.Acquire(ctx, "e", state.PlanKey, h.Holder(), began, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	set := func(value string, at time.Time) state.Commit {
		return state.Commit{Parameters: []state.Parameter{{Name: "p", Value: value, Source: "user",
			Updated: at}, {Name: "p", Of: "std::Null[a,name=x]", Value: "a fact", Updated: at}}}
	}
	drop := state.Commit{DropParameters: []state.ParameterKey{{Name: "p"}}}
	for _, c := range []state.Commit{set("one", began), drop, drop,
		set("two", time.Now().UTC().Add(time.Minute))} {
		c.Guard, c.Until = state.Guard{Key: lease.Key, Fence: lease.Fence},
			time.Now().Add(time.Hour)
		if _, err := h.Commit(ctx, "e", c); err != nil {
			t.Fatal(err)
		}
	}
	history := func() (out []string) {
		changes, err := h.ParameterHistory(ctx, "e", "p")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range changes {
			if c.Gone {
				c.Value = "gone"
			}
			out = append(out, c.Value)
		}
		return out
	}
	if got := history(); !slices.Equal(got, []string{"two", "gone", "one"}) {
		t.Errorf("the history is %v", got)
	}
	if _, err := h.DropActions(ctx, "e", began.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got := history(); !slices.Equal(got, []string{"two", "gone"}) {
		t.Errorf("later it is %v", got)
	}
}
