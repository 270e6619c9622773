//go:build servers

package dynamo_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"southbound/infra/aws/meter"
	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestRequestsOfOperations pins what each operation costs, in a process that knows the lane and in
// one that knows nothing.
func TestRequestsOfOperations(t *testing.T) {
	t.Parallel()
	_, table := client(t, server.DynamoDB, nil)
	m, objects := &meter.Meter{}, &awstest.Objects{}
	process := func() *dynamo.State {
		c := awstest.Config(server.URL(server.DynamoDB), nil)
		m.Install(&c)
		return open(t, dynamo.Config{API: dynamodb.NewFromConfig(c), Table: table,
			Objects: objects})
	}
	s, ctx := process(), t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	plan := before(t, s, env)
	lease, err := s.Acquire(ctx, env, "a/0", "worker#1", start, start.Add(time.Hour))
	must(err)
	g := state.Guard{Key: "a/0", Fence: lease.Fence}
	result := func(rev int64) state.Commit {
		r := row("a", 0)
		r.Rev, r.Compliance, r.LastRun, r.Deployed, r.Observed = rev, state.Compliant,
			state.RunSuccess, r.Hash, r.Generation
		return state.Commit{Guard: g, Rows: []state.Row{r},
			Actions: []state.Action{{ID: fmt.Sprint(rev), Resource: r.ID, Finished: start}}}
	}
	for _, c := range []struct {
		name      string
		fresh     bool // in a new process
		do        func(s *dynamo.State) error
		requests  map[string]int
		wcu, rcu  float64
		tolerance float64
	}{
		{"commit a result", false,
			func(s *dynamo.State) error {
				_, err := s.Commit(ctx, env, result(firstRev(plan)))
				return err
			},
			map[string]int{"DynamoDB.PutItem": 1, "DynamoDB.GetItem": 1}, 1, 1, 1},
		{"say what runs", false, func(s *dynamo.State) error {
			_, err := s.Commit(ctx, env, state.Commit{Guard: g, Next: []resource.ID{id("a", 0)},
				SeenPlan: 1})
			return err
		}, map[string]int{"DynamoDB.PutItem": 1, "DynamoDB.GetItem": 1}, 1, 1, 1},
		{"read a lane that is known", false,
			func(s *dynamo.State) error { _, err := s.LaneRows(ctx, env, "a/0", true); return err },
			map[string]int{"DynamoDB.GetItem": 1}, 0, 1, 0},
		{"read a lane", true,
			func(s *dynamo.State) error { _, err := s.LaneRows(ctx, env, "a/0", true); return err },
			map[string]int{"DynamoDB.GetItem": 1}, 0, 1, 0},
		{"count", true, func(s *dynamo.State) error { _, err := s.Counts(ctx, env); return err },
			map[string]int{"DynamoDB.Query": 1}, 0, 1, 0},
		{"the schedule", true,
			func(s *dynamo.State) error { _, err := s.Schedule(ctx, env); return err },
			map[string]int{"DynamoDB.Query": 1, "DynamoDB.GetItem": 2}, 0, 3, 0},
		{"what is due", true,
			func(s *dynamo.State) error { _, _, err := s.Due(ctx, env, start, 10); return err },
			map[string]int{"DynamoDB.Query": 1}, 0, 1, 0},
		{"the outbox", true,
			func(s *dynamo.State) error { _, err := s.Outbox(ctx, env, 10); return err },
			map[string]int{"DynamoDB.Query": 1}, 0, 1, 0},
		{"take a lane", true, func(s *dynamo.State) error {
			_, err := s.Acquire(ctx, env, "b/0", "worker#2", start, start.Add(time.Hour))
			return err
		}, map[string]int{"DynamoDB.GetItem": 2, "DynamoDB.PutItem": 1}, 1, 2, 1},
		{"a commit of a planner", true, func(s *dynamo.State) error {
			r := row("a", 1)
			r.Rev = firstRev(plan)
			out, err := s.Commit(ctx, env,
				state.Commit{Guard: plan, Rows: []state.Row{r}, Plan: true})
			if err == nil && len(out.Conflicts) > 0 {
				err = fmt.Errorf("conflicts: %+v", out.Conflicts)
			}
			return err
		}, map[string]int{"DynamoDB.GetItem": 3, "DynamoDB.TransactWriteItems": 1}, 6, 3, 2},
		{"a commit of a planner that has read the environment", true,
			func(s *dynamo.State) error {
				_, err := s.Env(ctx, env)
				must(err)
				_, err = s.Commit(ctx, env, state.Commit{Guard: plan, Plan: true})
				return err
			},
			map[string]int{"DynamoDB.GetItem": 2, "DynamoDB.TransactWriteItems": 1}, 4, 2, 0},
		{"the same, and another has changed it since", true,
			func(p *dynamo.State) error {
				was, err := p.Env(ctx, env)
				must(err)
				must(s.Pause(ctx, env, true, "c"))
				out, err := p.Commit(ctx, env, state.Commit{Guard: plan, Plan: true})
				if err == nil && out.PlanSeq != was.PlanSeq+2 {
					err = fmt.Errorf("%d was planned, now %d", was.PlanSeq, out.PlanSeq)
				}
				return err
			},
			map[string]int{"DynamoDB.GetItem": 4, "DynamoDB.TransactWriteItems": 2,
				"DynamoDB.PutItem": 1}, 9, 4, 0},
		{"a commit of a planner over three lanes", true, func(s *dynamo.State) error {
			c := state.Commit{Guard: plan, Plan: true}
			for i, agent := range []string{"a", "b", "c"} {
				r := row(agent, 10*i+2)
				r.Rev = firstRev(plan)
				c.Rows = append(c.Rows, r)
			}
			_, err := s.Commit(ctx, env, c)
			return err
		}, map[string]int{"DynamoDB.GetItem": 5, "DynamoDB.TransactWriteItems": 1}, 10, 5, 4},
	} {
		p := s
		if c.fresh {
			p = process()
		}
		m.Take()
		must(c.do(p))
		got := m.Take()
		requests := map[string]int{}
		for name, n := range got {
			requests[name] = n.Calls
		}
		if diff := cmp.Diff(c.requests, requests); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", c.name, diff)
		}
		if sum := got.Sum(); sum.WCU > c.wcu+c.tolerance || sum.RCU > c.rcu {
			t.Errorf("%s: %v WCU and %v RCU, want at most %v and %v", c.name, sum.WCU, sum.RCU,
				c.wcu+c.tolerance, c.rcu)
		}
	}
}

// noise is bytes that do not compress.
func noise(n int) []byte {
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

// TestLargerThanItems pins that nothing in a commit makes an item too large: a body, what runs, an
// action, a version, agents, parameters.
func TestLargerThanItems(t *testing.T) {
	t.Parallel()
	const large = 600 << 10 // an item holds 400 KB
	api, table := client(t, server.DynamoDB, nil)
	c := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
	s, other := open(t, c), open(t, c)
	plan := before(t, s, env)
	big := row("a", 7)
	big.Body = noise(large)
	text := fmt.Sprintf("%x", noise(large/2))
	var running []resource.ID
	for n := range 300 {
		running = append(running, resource.NewID("std::Null", "a",
			resource.Key{Name: "name", Value: fmt.Sprintf("%d%x", n, noise(n + 1000)[n:])}))
	}
	lease, err := s.Acquire(t.Context(), env, "a/0", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	in := state.Commit{Guard: plan, Plan: true, Env: &state.Env{Name: env, Rev: 1},
		Rows:       []state.Row{big},
		Version:    &state.Version{Number: 2, Digest: text},
		Agents:     []resource.Agent{{Name: "z", Options: map[string]any{"x": text}}},
		Parameters: []state.Parameter{{Name: "big", Value: text}},
		Actions:    []state.Action{{ID: "1", Resource: big.ID, Reason: text, Finished: start}}}
	if out, err := s.Commit(t.Context(), env, in); err != nil || len(out.Conflicts) > 0 {
		t.Fatalf("%v: %+v", err, out.Conflicts)
	}
	out, err := s.Commit(t.Context(), env,
		state.Commit{Guard: state.Guard{Key: "a/0", Fence: lease.Fence}, Next: running,
			SeenPlan: 2})
	if err != nil || !out.Started {
		t.Fatalf("%v: %+v", err, out)
	}
	w := snapshot(t, other, env)
	i := slices.IndexFunc(w.Rows, func(r state.Row) bool { return r.ID == big.ID })
	if i < 0 || !bytes.Equal(w.Rows[i].Body, big.Body) || w.Versions[1].Digest != text ||
		w.Agents["z"].Options["x"] != text ||
		w.Params[0].Value != text || w.Actions[0].Reason != text {
		t.Error("something large did not come back")
	}
	now, err := other.Acquire(t.Context(), env, "a/0", "worker#2", start.Add(2*time.Hour),
		start.Add(3*time.Hour))
	if err != nil || !slices.Equal(now.Running, running) {
		t.Errorf("%v: %d ids were running, want %d", err, len(now.Running), len(running))
	}
	if _, err := s.Commit(t.Context(), env,
		state.Commit{Guard: state.Guard{Key: "a/0", Fence: lease.Fence}}); !fault.Is(err,
		fault.Fenced) {
		t.Errorf("a commit of the old holder: %v", err)
	}
}

// TestManyLanes pins a commit over more lanes than a transaction can hold, with busy lanes among
// them.
func TestManyLanes(t *testing.T) {
	t.Parallel()
	const lanes = 130
	api, table := client(t, server.DynamoDB, nil)
	c := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
	s, other := open(t, c), open(t, c)
	l, err := s.Acquire(t.Context(), env, "plan", "planner#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g := state.Guard{Key: "plan", Fence: l.Fence}
	in := state.Commit{Guard: g, Plan: true}
	for n := range lanes {
		in.Rows = append(in.Rows, row(fmt.Sprintf("agent%03d", n), n))
	}
	if out, err := s.Commit(t.Context(), env, in); err != nil || len(out.Conflicts) > 0 ||
		out.PlanSeq != 1 {
		t.Fatalf("%v: %+v", err, out)
	}
	// A worker is faster with one row: that one comes back, all others are written.
	w, err := other.Acquire(t.Context(), env, "agent007/0", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	done := row("agent007", 7)
	done.Rev, done.Observed, done.Reason = firstRev(g), done.Generation, "the worker was here"
	if _, err := other.Commit(t.Context(), env,
		state.Commit{Guard: state.Guard{Key: w.Key, Fence: w.Fence},
			Rows: []state.Row{done}}); err != nil {
		t.Fatal(err)
	}
	for i := range in.Rows {
		in.Rows[i].Rev, in.Rows[i].Version = firstRev(g), 2
	}
	out, err := s.Commit(t.Context(), env, in)
	if err != nil || len(out.Conflicts) != 1 || out.Conflicts[0].Reason != done.Reason ||
		out.PlanSeq != 2 {
		t.Fatalf("%v: %+v", err, out)
	}
	sched, err := other.Schedule(t.Context(), env)
	if err != nil || len(sched.Tickets) != lanes-1 {
		t.Errorf("%v: %d tickets", err, len(sched.Tickets))
	}
	// All of them move to one lane: more lanes change together than a transaction can hold.
	moves := state.Commit{Guard: g, Plan: true}
	for i := range in.Rows {
		r := in.Rows[i]
		r.Rev, r.Lane = firstRev(g)+1, "z/0"
		moves.Rows = append(moves.Rows, r)
	}
	if out, err = s.Commit(t.Context(), env, moves); err != nil || len(out.Conflicts) != 0 ||
		out.PlanSeq != 3 {
		t.Fatalf("%v: %+v", err, out)
	}
	rows, err := other.LaneRows(t.Context(), env, "z/0", true)
	counts, e := other.Counts(t.Context(), env)
	if err != nil || e != nil || len(rows) != lanes || counts[state.StatusAvailable] != lanes {
		t.Errorf("%v, %v: %d rows, counts %v", err, e, len(rows), counts)
	}
}
