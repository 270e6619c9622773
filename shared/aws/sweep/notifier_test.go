package sweep_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/sweep"
	"southbound/shared/deploy/state"
)

// notified records the lanes that were notified.
type notified []string

func (r *notified) Notify(_ context.Context, _ string, notices []state.Notice) error {
	for _, x := range notices {
		*r = append(*r, x.Agent)
	}
	return nil
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	agents := map[string]state.Agent{"a": {}, "b": {Paused: true}}
	notices := []state.Notice{{Agent: "a"}, {Agent: "b"}, {Agent: "unknown/3"}}
	for _, c := range []struct {
		reason string
		env    state.Env
		want   notified
	}{
		{"a paused agent is not notified", state.Env{}, notified{"a", "unknown/3"}},
		{"nobody is notified in a halted environment", state.Env{Halted: true}, nil},
	} {
		var got notified
		b := &sweep.Notifier{Out: &got, State: &standing{env: c.env, agents: agents}}
		if err := b.Notify(t.Context(), "prod", notices); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
}
