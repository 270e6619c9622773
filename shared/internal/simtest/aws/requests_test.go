package aws

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestRequestsOfOperations pins the requests of each operation. The model ends a query with a page
// of its own.
func TestRequestsOfOperations(t *testing.T) {
	t.Parallel()
	wire := &Wire{To: NewTable("t")}
	s, ctx := stateOn(t, wire, nil), context.Background()
	plan := before(t, s)
	lease, err := s.Acquire(ctx, env, "a", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g := state.Guard{Key: "a", Fence: lease.Fence}
	commit := func(c state.Commit) func(*dynamo.State) error {
		return func(s *dynamo.State) error {
			out, err := s.Commit(ctx, env, c)
			if err == nil && len(out.Conflicts) > 0 {
				err = fmt.Errorf("conflicts: %+v", out.Conflicts)
			}
			return err
		}
	}
	result, planned := row("a", 0), row("a", 1)
	result.Rev, result.Observed, planned.Rev = firstRev(plan), result.Generation, firstRev(plan)
	for _, c := range []struct {
		name     string
		do       func(s *dynamo.State) error
		requests map[string]int
	}{
		{"commit a result", commit(state.Commit{Guard: g, Rows: []state.Row{result},
			Actions: []state.Action{{ID: "1", Resource: result.ID, Finished: start}}}),
			map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1, "GetItem": 1}},
		{"claim", commit(state.Commit{Guard: g, Next: []resource.ID{result.ID}, SeenPlan: 1}),
			map[string]int{"GetItem": 2, "PutItem": 1}},
		{"plan", commit(state.Commit{Guard: plan, Rows: []state.Row{planned}, Plan: true}),
			map[string]int{"BatchGetItem": 1, "TransactWriteItems": 1}},
		{"read rows", func(s *dynamo.State) error {
			_, err := s.Rows(ctx, env, []resource.ID{result.ID, planned.ID})
			return err
		}, map[string]int{"BatchGetItem": 1}},
		{"begin a lane", func(s *dynamo.State) error {
			_, err := s.AgentWork(ctx, env, "a", func(state.Schedule, state.Env) bool { return false })
			return err
		}, map[string]int{"GetItem": 1, "Query": 1, "BatchGetItem": 2}},
		{"the schedule", func(s *dynamo.State) error {
			_, err := s.Schedule(ctx, env)
			return err
		}, map[string]int{"GetItem": 2, "Query": 2, "BatchGetItem": 1}},
		{"count", func(s *dynamo.State) error {
			_, err := s.Counts(ctx, env)
			return err
		}, map[string]int{"Query": 4}},
		{"the overview", func(s *dynamo.State) error {
			_, err := s.Overview(ctx, env)
			return err
		}, map[string]int{"GetItem": 1, "Query": 6}},
		{"take a lane", func(s *dynamo.State) error {
			_, err := s.Acquire(ctx, env, "b", "worker#2", start, start.Add(time.Hour))
			return err
		}, map[string]int{"GetItem": 2, "PutItem": 1}},
		{"see that nothing has changed", func(s *dynamo.State) error {
			_, err := s.Changes(ctx, env, "", 0)
			return err
		}, map[string]int{"BatchGetItem": 1, "Query": 3}},
	} {
		wire.Take()
		if err := c.do(s); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(c.requests, wire.Take()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestIndexIsTidied pins that the worker that records the results of a release removes the index
// items of its rows, and that a later reader reads none of these rows.
func TestIndexIsTidied(t *testing.T) {
	t.Parallel()
	const n = 1500
	wire := &Wire{To: NewTable("t")}
	s, ctx := stateOn(t, wire, nil), context.Background()
	plan, err := s.Acquire(ctx, env, "plan", "planner#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c := state.Commit{Guard: state.Guard{Key: "plan", Fence: plan.Fence}, Plan: true}
	for i := range n {
		c.Rows = append(c.Rows, row("a", i))
	}
	if _, err := s.Commit(ctx, env, c); err != nil {
		t.Fatal(err)
	}
	worker := stateOn(t, wire, nil)
	lease, err := worker.Acquire(ctx, env, "a", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	lane, err := worker.AgentWork(ctx, env, "a", func(state.Schedule, state.Env) bool { return false })
	if err != nil || len(lane.Rows) != n {
		t.Fatalf("%v: %d rows", err, len(lane.Rows))
	}
	for i := range lane.Rows {
		lane.Rows[i].Observed = lane.Rows[i].Generation
	}
	if _, err := worker.Commit(ctx, env, state.Commit{
		Guard: state.Guard{Key: "a", Fence: lease.Fence}, Rows: lane.Rows}); err != nil {
		t.Fatal(err)
	}
	if err := worker.Release(ctx, env, lease); err != nil {
		t.Fatal(err)
	}
	wire.Take()
	if _, err := stateOn(t, wire, nil).Schedule(ctx, env); err != nil {
		t.Fatal(err)
	}
	if got := wire.Take()["BatchGetItem"]; got > 8 {
		t.Errorf("%d batches of rows are read, and none is scheduled", got)
	}
}
