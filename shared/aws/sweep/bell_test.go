package sweep_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/sweep"
	"southbound/shared/deploy/state"
)

// rung notes what is rung.
type rung []string

func (r *rung) Ring(_ context.Context, _ string, rings []state.Ring) error {
	for _, x := range rings {
		*r = append(*r, x.Lane)
	}
	return nil
}

func TestBell(t *testing.T) {
	t.Parallel()
	agents := map[string]state.Agent{"a": {}, "b": {Paused: true}}
	rings := []state.Ring{{Lane: "a/0"}, {Lane: "b/0"}, {Lane: "unknown/3"}}
	for _, c := range []struct {
		reason string
		env    state.Env
		want   rung
	}{
		{"a paused agent is not rung", state.Env{}, rung{"a/0", "unknown/3"}},
		{"nobody is rung in a halted environment", state.Env{Halted: true}, nil},
	} {
		var got rung
		b := &sweep.Bell{Out: &got, State: &standing{env: c.env, agents: agents}}
		if err := b.Ring(t.Context(), "prod", rings); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.reason, diff)
		}
	}
}
