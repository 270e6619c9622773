package api_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/fault"
)

// TestPrune pins that what a home says of queues without use, and its errors, reach who asks over
// HTTP, and that a home without queues says nothing.
func TestPrune(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	client, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := client.Prune(t.Context(), "e", true); err != nil || len(got) != 0 {
		t.Errorf("%v: %v of a home without queues", err, got)
	}
	w.service.Unneeded = func(_ context.Context, env string, remove bool) ([]api.Pruned, error) {
		if env == "bad" {
			return nil, fault.New(fault.Denied, "list tags", "no")
		}
		return []api.Pruned{{Agent: "a " + env, Queue: "q", Mapping: "Enabled", Removed: remove}},
			nil
	}
	for _, remove := range []bool{false, true} {
		got, err := client.Prune(t.Context(), "e", remove)
		if d := cmp.Diff([]api.Pruned{{Agent: "a e", Queue: "q", Mapping: "Enabled",
			Removed: remove}}, got); err != nil || d != "" {
			t.Errorf("%v: %s", err, d)
		}
	}
	if _, err := client.Prune(t.Context(), "bad", true); !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
}
