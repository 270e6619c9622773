//go:build servers

package logs_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/localstack/server"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
)

// TestParametersAreLogged pins the history of parameters and facts: every value that there was, who
// set it and when, and when it was removed.
func TestParametersAreLogged(t *testing.T) {
	t.Parallel()
	for _, squeeze := range []bool{false, true} {
		t.Run(fmt.Sprint("squeezed=", squeeze), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server.DynamoDB)
			w.squeeze = squeeze
			l := w.process()
			var all []dynamo.ParameterChange // the newest first
			set := func(n int, p state.Parameter) {
				p.Updated = start.Add(time.Duration(n) * time.Minute)
				all = append([]dynamo.ParameterChange{{Parameter: p}}, all...)
				commits(t, l, "a", nil, 1, state.Commit{Parameters: []state.Parameter{p}})
			}
			for n := range 10 {
				set(2*n, state.Parameter{Name: "size", Of: id("a", n%2), Value: fmt.Sprint(n),
					Source: "fact"})
				set(2*n+1, state.Parameter{Name: "region", Value: fmt.Sprintf("eu-%d", n),
					Source: "user"})
				switch n % 3 {
				case 1:
					if failed := w.process().Take(t.Context(),
						notice("a", "a")); len(failed) > 0 {
						t.Errorf("failed: %+v", failed)
					}
				case 2:
					if err := w.process().CatchUp(t.Context(), env); err != nil {
						t.Error(err)
					}
				}
			}
			of := func(name string) []dynamo.ParameterChange {
				var out []dynamo.ParameterChange
				for _, c := range all {
					if c.Name == name {
						out = append(out, c)
					}
				}
				return out
			}
			check := func() {
				t.Helper()
				for _, c := range []struct {
					name string
					want []dynamo.ParameterChange
				}{{"", all}, {"region", of("region")}, {"size", of("size")}, {"nothing", nil}} {
					got, err := w.process().Parameters(t.Context(), env, c.name)
					if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); err != nil ||
						diff != "" {
						t.Errorf("%q: %v (-want +got):\n%s", c.name, err, diff)
					}
				}
			}
			check()
			if err := l.CatchUp(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			logged(t, l, "parameters")
			check()
			commits(t, l, "a", nil, 1,
				state.Commit{DropParameters: []state.ParameterKey{{Name: "region"}}})
			for range 2 { // before it is logged, and after
				got, err := w.process().Parameters(t.Context(), env, "region")
				if err != nil || len(got) != 11 || !got[0].Gone || got[0].Name != "region" ||
					got[0].Value != "" || got[0].Updated.IsZero() {
					t.Errorf("%v: %+v, want that it was removed", err, got)
				}
				if err := w.process().CatchUp(t.Context(), env); err != nil {
					t.Fatal(err)
				}
			}
			now, err := l.State.Parameters(t.Context(), env, state.ParameterQuery{})
			if err != nil || len(now) != 0 {
				t.Errorf("%v: %+v", err, now)
			}
		})
	}
}
