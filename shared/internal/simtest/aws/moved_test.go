package aws

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// parted calls then once, after a query of which there is more.
type parted struct {
	dynamo.API
	then func()
}

// Query implements dynamo.API.
func (b *parted) Query(
	ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options),
) (*dynamodb.QueryOutput, error) {
	out, err := b.API.Query(ctx, in, opts...)
	if then := b.then; then != nil && err == nil && out.LastEvaluatedKey != nil {
		b.then = nil
		then()
	}
	return out, err
}

// TestRowThatMovesIsNotGone moves a row to a lane that was read already from one that is read next,
// while the worker of neither looks for it: its commit is told of the row as it is, not that there
// is none, which would make the result of a run void.
func TestRowThatMovesIsNotGone(t *testing.T) {
	t.Parallel()
	for name, move := range map[string]state.Commit{
		"planned": {Plan: true}, "alone": {},
		"with the environment": {Env: &state.Env{Name: env, Rev: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			movesMeanwhile(t, move)
		})
	}
}

// movesMeanwhile has a worker write a row that is moved between two pages of what it reads.
func movesMeanwhile(t *testing.T, move state.Commit) {
	t.Helper()
	table, objects := NewTable("t"), NewObjects()
	table.Page = func() int { return 1 }
	slow := &parted{API: table}
	planner, worker := stateOn(t, table, objects, nil), stateOn(t, slow, objects, nil)
	row, other := rowIn("a/2", "n"), rowIn("a/0", "o")
	plan := leased(t, planner, "plan")
	committed(t, planner, state.Commit{Guard: plan, Plan: true, Rows: []state.Row{row, other},
		Env: &state.Env{Name: env}})
	guard := leased(t, worker, "a/1")
	stored, err := planner.Rows(context.Background(), env, []resource.ID{row.ID})
	if err != nil || len(stored) != 1 {
		t.Fatal(err, stored)
	}
	row.Rev = stored[0].Rev
	slow.then = func() {
		moved := row
		moved.Lane = "a/0"
		move.Guard, move.Rows = plan, []state.Row{moved}
		if out := committed(t, planner, move); len(out.Conflicts) > 0 {
			t.Errorf("not moved: %+v", out)
		}
	}
	late := row
	// where it was once: all lanes of its agent are looked through
	late.Lane, late.Observed = "a/1", late.Generation
	out := committed(t, worker, state.Commit{Guard: guard, Rows: []state.Row{late}})
	if slow.then != nil {
		t.Fatal("nothing was read in parts")
	}
	if len(out.Conflicts) != 1 || out.Conflicts[0].Rev != row.Rev+1 ||
		out.Conflicts[0].Lane != "a/0" {
		t.Errorf("conflicts %+v, want the row in its new lane", out.Conflicts)
	}
}

// restless writes the environment before each read of its head, and so never lets two of them
// agree.
type restless struct {
	dynamo.API
	then  func()
	reads int
}

// GetItem implements dynamo.API.
func (b *restless) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	if b.then != nil {
		b.reads++
		b.then()
	}
	return b.API.GetItem(ctx, in, opts...)
}

// TestRowThatMayAlwaysMove looks for a row that is nowhere while others never stop changing the
// head: that ends, and says that it may be tried again.
func TestRowThatMayAlwaysMove(t *testing.T) {
	t.Parallel()
	table, objects := NewTable("t"), NewObjects()
	slow := &restless{API: table}
	slept := 0
	sleep := func(context.Context, time.Duration) error { slept++; return nil }
	planner, worker := stateOn(t, table, objects, nil), stateOn(t, slow, objects, sleep)
	plan := leased(t, planner, "plan")
	rev := int64(0)
	change := func() {
		committed(t, planner, state.Commit{Guard: plan, Env: &state.Env{Name: env, Rev: rev}})
		rev++
	}
	change()
	guard := leased(t, worker, "a/1")
	lost := rowIn("a/1", "n")
	lost.Rev = 1
	slow.then = change
	_, err := worker.Commit(context.Background(), env,
		state.Commit{Guard: guard, Rows: []state.Row{lost}})
	if !fault.Is(err, fault.Unavailable) {
		t.Errorf("looking for it ended with %v, want %s", err, fault.Unavailable)
	}
	if slept == 0 || slow.reads > 1000 {
		t.Errorf("it waited %d times, and read %d times", slept, slow.reads)
	}
}

// stateOn returns the state of one process; a nil sleep is the machine's.
func stateOn(
	t *testing.T, api dynamo.API, objects dynamo.Objects,
	sleep func(context.Context, time.Duration) error,
) *dynamo.State {
	t.Helper()
	s, err := dynamo.New(dynamo.Config{API: api, Table: "t", Objects: objects,
		Host: dynamo.Host{Plain: true, Each: oneByOne, Sleep: sleep}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rowIn(lane, name string) state.Row {
	return state.Row{
		ID:     resource.NewID("std::Null", "a", resource.Key{Name: "name", Value: name}),
		Intent: state.Intent{Lane: lane, Hash: "1", Body: []byte("{}"), Generation: 1},
		Outcome: state.Outcome{Compliance: state.HasUpdate, LastRun: state.RunNew,
			Blocked: state.NotBlocked},
	}
}

func leased(t *testing.T, s *dynamo.State, key string) state.Guard {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l, err := s.Acquire(context.Background(), env, key, key+"#1", now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return state.Guard{Key: key, Fence: l.Fence}
}

func committed(t *testing.T, s *dynamo.State, c state.Commit) state.Committed {
	t.Helper()
	out, err := s.Commit(context.Background(), env, c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
