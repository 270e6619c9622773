//go:build servers

package dynamo_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// ways of losing an object.
var ways = map[string]func(t *testing.T, o *awstest.Objects, name string) error{
	"gone": func(t *testing.T, o *awstest.Objects, name string) error {
		t.Helper()
		return o.Delete(t.Context(), name)
	},
	"damaged": func(t *testing.T, o *awstest.Objects, name string) error {
		t.Helper()
		return o.Put(t.Context(), name, []byte("this is no list"))
	},
}

// loseAll loses all objects, of which there is one at least.
func loseAll(
	t *testing.T, o *awstest.Objects, lose func(*testing.T, *awstest.Objects, string) error,
) {
	t.Helper()
	var all []string
	err := o.List(t.Context(), func(name string, _ time.Time) error {
		all = append(all, name)
		return nil
	})
	if err != nil || len(all) == 0 {
		t.Fatalf("%v: no list is stored apart", err)
	}
	for _, one := range all {
		if err := lose(t, o, one); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLostLists takes away, or damages, the list of what the holder of a lease runs. The holder
// goes on; who takes the lease over is told of all rows that may have run, and says so anew.
func TestLostLists(t *testing.T) {
	t.Parallel()
	for name, lose := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, table := client(t, server.DynamoDB, nil)
			objects := &awstest.Objects{}
			process := func() *dynamo.State {
				s := open(t, dynamo.Config{API: api, Table: table, Objects: objects})
				s.ListsApart()
				return s
			}
			damage := func() { t.Helper(); loseAll(t, objects, lose) }
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

// cut is a process that ends before the first request that it would make for a purpose.
type cut struct {
	dynamo.API
	before string // the name of the purpose
	dead   bool
}

// ends reports whether the process is at its end.
func (c *cut) ends(ctx context.Context) error {
	if c.dead = c.dead || c.before != "" && dynamo.PurposeOf(ctx).Name == c.before; c.dead {
		return fault.New(fault.Unavailable, "cut", "the process is dead")
	}
	return nil
}

// GetItem implements dynamo.API.
func (c *cut) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if err := c.ends(ctx); err != nil {
		return nil, err
	}
	return c.API.GetItem(ctx, in, opts...)
}

// BatchWriteItem implements dynamo.API.
func (c *cut) BatchWriteItem(
	ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchWriteItemOutput, error) {
	if err := c.ends(ctx); err != nil {
		return nil, err
	}
	return c.API.BatchWriteItem(ctx, in, opts...)
}

// TestLostConflicts takes away, or damages, the list of what did not fit of a commit that is rolled
// forward, between the part of the tablets and the end: who goes on takes all rows of that tablet
// for rows that do not fit, so nothing is dropped that is still needed, and nobody is stopped.
func TestLostConflicts(t *testing.T) {
	t.Parallel()
	for name, lose := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, table := client(t, server.DynamoDB, nil)
			objects := &awstest.Objects{}
			process := func(api dynamo.API) *dynamo.State {
				s := open(t, dynamo.Config{API: api, Table: table, Objects: objects})
				s.SqueezeItems()
				s.ListsApart()
				return s
			}
			ending := func(purpose string) (*dynamo.State, *cut) {
				c := &cut{API: api, before: purpose}
				return process(c), c
			}
			g := before(t, process(api), env)
			worker, workers := ending("")
			l, err := worker.Acquire(t.Context(), env, "b/0", "worker#1", start,
				start.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			planner, _ := ending("roll")
			if _, err := planner.Commit(t.Context(), env, change(g, env)); err == nil {
				t.Fatal("the planner went on")
			}
			// The worker has a result that the planner did not know of, and rolls the commit
			// forward.
			workers.before = "rolled"
			result := row("b", 10)
			result.Rev, result.Observed, result.LastRun = firstRev(g), result.Generation, state.RunSuccess
			if _, err := worker.Commit(t.Context(), env, state.Commit{
				Guard: state.Guard{Key: "b/0", Fence: l.Fence}, Rows: []state.Row{result},
			}); err == nil {
				t.Fatal("the worker went on")
			}
			loseAll(t, objects, lose)

			w := snapshot(t, process(api), env)
			if n := len(w.Rows); n != 9 {
				t.Errorf("there are %d rows, expected 9", n)
			}
			if i := slices.IndexFunc(w.Rows, func(r state.Row) bool {
				return r.ID == result.ID
			}); i < 0 ||
				w.Rows[i].LastRun != state.RunSuccess || w.Rows[i].Rev != result.Rev+1 {
				t.Errorf("the result of the worker is not there: %+v", w.Rows)
			}
			left := make([]string, len(w.Outbox))
			for i := range w.Outbox {
				left[i] = w.Outbox[i].ID
			}
			if want := []string{"o1", "o2", "o3"}; !slices.Equal(left, want) {
				t.Errorf("the outbox has %v, expected %v", left, want)
			}
			audit, err := process(api).Audit(t.Context(), env)
			if err != nil || audit.Pending || len(audit.Problems) > 0 {
				t.Errorf("%v: %+v", err, audit)
			}
		})
	}
}

// TestLateConflictIsNotChecked has a worker write two rows that it has checked, of which one was
// moved to another lane, and end before that is rolled forward. Who serves the other lane has a
// result meanwhile, so that row does not fit any more, and was not checked.
func TestLateConflictIsNotChecked(t *testing.T) {
	t.Parallel()
	api, table := client(t, server.DynamoDB, nil)
	objects := &awstest.Objects{}
	ending := func(purpose string) (*dynamo.State, *cut) {
		c := &cut{API: api, before: purpose}
		s := open(t, dynamo.Config{API: c, Table: table, Objects: objects})
		s.SqueezeItems()
		s.ListsApart()
		return s, c
	}
	whole, _ := ending("")
	g := before(t, whole, env)
	if _, err := whole.Commit(t.Context(), env, state.Commit{Guard: g, Plan: true,
		Env: &state.Env{Name: env, Rev: 1, Last: 1, Wave: state.Wave{Epoch: 1}}}); err != nil {
		t.Fatal(err)
	}
	guard := func(s *dynamo.State, lane string) state.Guard {
		l, err := s.Acquire(t.Context(), env, lane, lane+"#1", start, start.Add(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		return state.Guard{Key: lane, Fence: l.Fence}
	}
	first, firsts := ending("")
	second, seconds := ending("")
	a, b := guard(first, "a/0"), guard(second, "b/0")
	result := func(agent string, n int) state.Row {
		r := row(agent, n)
		r.Rev, r.Observed, r.LastRun = firstRev(g), r.Generation, state.RunSuccess
		return r
	}
	firsts.before, seconds.before = "roll", "rolled"
	kept, moved := result("a", 0), result("b", 10)
	if _, err := first.Commit(t.Context(), env, state.Commit{Guard: a, Epoch: 1,
		Rows: []state.Row{kept, moved}, Checked: []resource.ID{kept.ID, moved.ID},
	}); err == nil {
		t.Fatal("the first worker went on")
	}
	if _, err := second.Commit(t.Context(), env, state.Commit{Guard: b,
		Rows: []state.Row{moved}}); err == nil {
		t.Fatal("the second worker went on")
	}
	got := snapshot(t, whole, env).Schedule.Unfinished["a/0"]
	if want := []resource.ID{kept.ID}; !slices.Equal(got, want) {
		t.Errorf("checked are %v, expected %v", got, want)
	}
}
