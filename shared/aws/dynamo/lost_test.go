//go:build servers

package dynamo_test

import (
	"slices"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestLostLists takes away, or damages, the list of what the holder of a lease runs. The holder goes
// on; who takes the lease over is told of all rows that may have run, and says so anew.
func TestLostLists(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(o *awstest.Objects, name string) error{
		"gone": func(o *awstest.Objects, name string) error { return o.Delete(t.Context(), name) },
		"damaged": func(o *awstest.Objects, name string) error {
			return o.Put(t.Context(), name, []byte("this is no list"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, table := client(t, server.DynamoDB, nil)
			objects := &awstest.Objects{}
			process := func() *dynamo.State {
				s := open(t, dynamo.Config{API: api, Table: table, Objects: objects})
				s.ListsApart()
				return s
			}
			damage := func() {
				t.Helper()
				var all []string
				err := objects.List(t.Context(), func(name string, _ time.Time) error {
					all = append(all, name)
					return nil
				})
				if err != nil || len(all) == 0 {
					t.Fatalf("%v: no list is stored apart", err)
				}
				for _, one := range all {
					if err := lose(objects, one); err != nil {
						t.Fatal(err)
					}
				}
			}
			take := func(s *dynamo.State, holder string, after time.Duration) state.Lease {
				t.Helper()
				at := start.Add(after)
				l, err := s.Acquire(t.Context(), env, "a/0", holder, at, at.Add(time.Hour))
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			commit := func(s *dynamo.State, l state.Lease, c state.Commit) state.Committed {
				t.Helper()
				c.Guard = state.Guard{Key: l.Key, Fence: l.Fence}
				out, err := s.Commit(t.Context(), env, c)
				if err != nil {
					t.Fatal(err)
				}
				return out
			}
			runs := func(why string, l state.Lease, want ...resource.ID) {
				t.Helper()
				got := slices.Sorted(slices.Values(l.Running))
				if !slices.Equal(got, want) {
					t.Errorf("%s: %v may have run, expected %v", why, got, want)
				}
			}
			all := []resource.ID{id("a", 0), id("a", 1), id("a", 2)}

			first := process()
			before(t, first, env)
			l := take(first, "worker#1", 0)
			seq := commit(first, l, state.Commit{}).PlanSeq
			if !commit(first, l, state.Commit{Next: all[:2], SeenPlan: seq}).Started {
				t.Fatal("nothing is started")
			}
			damage()
			if _, err := process().Leases(t.Context(), env); err != nil {
				t.Error(err)
			}
			second := process()
			l = take(second, "worker#2", 2*time.Hour)
			runs("it is lost", l, all...)
			// As who takes a lane over does: it is refused, so that what may have run stays.
			commit(second, l, state.Commit{Next: l.Running, SeenPlan: -1})
			l = take(process(), "worker#3", 4*time.Hour)
			runs("it was said anew", l, all...)

			third := process()
			l = take(third, "worker#4", 6*time.Hour)
			commit(third, l, state.Commit{Next: all[:1], SeenPlan: seq})
			damage()
			commit(third, l, state.Commit{}) // what was run is done
			runs("the holder went on", take(process(), "worker#5", 8*time.Hour))
		})
	}
}
