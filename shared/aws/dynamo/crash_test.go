//go:build servers

package dynamo_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

const env = "e"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func id(agent string, n int) resource.ID {
	return resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: fmt.Sprintf("n%05d", n)})
}

// row is a scheduled row of an agent.
func row(agent string, n int) state.Row {
	return state.Row{
		ID: id(agent, n),
		Intent: state.Intent{Lane: agent + "/0", Version: 1, Hash: fmt.Sprintf("%064x", n),
			Body: fmt.Appendf(nil, `{"n":%d}`, n), Generation: int64(n + 1)},
		Outcome: state.Outcome{Compliance: state.HasUpdate, LastRun: state.RunNew,
			Blocked: state.NotBlocked},
	}
}

// firstRev is the revision of rows that a planner with this guard has made.
func firstRev(g state.Guard) int64 { return (&state.Commit{Guard: g}).FirstRev() }

// world is all that can be read of an environment.
type world struct {
	Env      state.Env
	Rows     []state.Row
	Counts   map[state.Status]int
	Schedule state.Schedule
	Outbox   []state.Outbox
	Params   []state.Parameter
	Versions []state.Version
	Agents   map[string]state.Agent
	Actions  []state.Action
	Due      []resource.ID
	Next     time.Time
}

func snapshot(t *testing.T, s *dynamo.State, env string) world {
	t.Helper()
	var w world
	ctx := t.Context()
	var err error
	for _, f := range []func() error{
		func() error { w.Rows, err = s.ScanRows(ctx, env, "", 1000); return err },
		func() error { w.Counts, err = s.Counts(ctx, env); return err },
		func() error { w.Env, err = s.Env(ctx, env); return err },
		func() error { w.Schedule, err = s.Schedule(ctx, env); return err },
		func() error { w.Outbox, err = s.Outbox(ctx, env, 100); return err },
		func() error { w.Params, err = s.Parameters(ctx, env, state.ParameterQuery{}); return err },
		func() error { w.Versions, err = s.Versions(ctx, env); return err },
		func() error { w.Agents, err = s.Agents(ctx, env); return err },
		func() error { w.Actions, err = s.Actions(ctx, env, state.ActionQuery{}); return err },
		func() error {
			w.Due, w.Next, err = s.Due(ctx, env, start.Add(time.Hour), 100)
			return err
		},
	} {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	slices.SortFunc(w.Schedule.Tickets, func(a, b state.Ticket) int {
		return strings.Compare(string(a.ID), string(b.ID))
	})
	return w
}

func different(a, b world) string { return deploytest.Diff(a, b, cmpopts.EquateEmpty()) }

// before makes an environment with rows in three lanes, and returns the lease under which it is
// planned.
func before(t *testing.T, s *dynamo.State, env string) state.Guard {
	t.Helper()
	l, err := s.Acquire(t.Context(), env, "plan", "planner#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	g := state.Guard{Key: "plan", Fence: l.Fence}
	c := state.Commit{Guard: g, Plan: true, Env: &state.Env{Name: env, Last: 1},
		Version:    &state.Version{Number: 1, Digest: "one"},
		Agents:     []resource.Agent{{Name: "a", Transport: "local", Lanes: 1}},
		Parameters: []state.Parameter{{Name: "p", Value: "1"}, {Name: "q", Value: "1"}},
		AddOutbox:  []state.Outbox{{ID: "o1", At: start}, {ID: "o2", At: start}}}
	for i, agent := range []string{"a", "b", "c"} {
		for n := range 3 {
			r := row(agent, 10*i+n)
			r.NextAt = start.Add(time.Duration(n) * time.Minute)
			c.Rows = append(c.Rows, r)
		}
	}
	if out, err := s.Commit(t.Context(), env, c); err != nil || len(out.Conflicts) > 0 {
		t.Fatalf("%v: %+v", err, out)
	}
	return g
}

// change is a commit that does everything at once, in three lanes: rows are written, added, removed
// and moved.
func change(g state.Guard, env string) state.Commit {
	c := state.Commit{Guard: g, Plan: true, Env: &state.Env{Name: env, Rev: 1, Last: 2},
		Version: &state.Version{Number: 2, Digest: "two"}, Forget: []int{1},
		Agents:         []resource.Agent{{Name: "b", Transport: "ssh", Lanes: 2}},
		Parameters:     []state.Parameter{{Name: "p", Value: "2"}},
		DropParameters: []state.ParameterKey{{Name: "q"}},
		AddOutbox:      []state.Outbox{{ID: "o3", At: start}}, DropOutbox: []string{"o1"},
		Actions: []state.Action{{ID: "act", Resource: id("a", 0), Finished: start}}}
	for i, agent := range []string{"a", "b", "c"} {
		written, moved, gone, added := row(agent, 10*i), row(agent, 10*i+1), row(agent, 10*i+2),
			row(agent, 10*i+3)
		written.Rev, moved.Rev, gone.Rev = firstRev(g), firstRev(g), firstRev(g)
		written.Observed, moved.Lane, gone.Gone = written.Generation, agent+"/1", true
		c.Rows = append(c.Rows, written, moved, gone, added)
	}
	return c
}

// TestCrashAnywhereLeavesACommitWholeOrUndone cuts the connection at every request by which a
// commit writes, with and without the answer of the last one, and looks at what others see: all of
// the commit or nothing of it. Cut at a request that reads, it has written what it has at the next
// one that writes. Each way of writing is taken. With the answer or without, the servers have the
// same requests: one in five is lost.
func TestCrashAnywhereLeavesACommitWholeOrUndone(t *testing.T) {
	t.Parallel()
	for _, way := range []struct {
		name    string
		prepare func(*dynamo.State)
	}{{"together", func(*dynamo.State) {}}, {"forward", (*dynamo.State).SqueezeItems},
		{"objects", (*dynamo.State).Squeeze}} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			undone, done := 0, 0
			api, table := client(t, server.DynamoDB, nil)
			config := dynamo.Config{API: api, Table: table, Objects: &awstest.Objects{}}
			var was world
			for point := 1; ; point++ {
				faults := []awstest.Fault{awstest.Drop}
				if point%5 == 1 {
					faults = append(faults, awstest.Lose)
				}
				crashed := false
				for _, last := range faults {
					c := crash{t: t, prepare: way.prepare, config: config,
						env: fmt.Sprintf("%d-%d", point, last), point: int64(point), last: last,
						was: &was}
					whole, reached := c.run()
					crashed = crashed || reached
					if whole {
						done++
					} else {
						undone++
					}
				}
				if !crashed {
					break
				}
			}
			if done == 0 || undone == 0 {
				t.Errorf("%d times done, %d undone: the points of the crash are not where they "+
					"should be", done, undone)
			}
		})
	}
}

type crash struct {
	t       *testing.T
	prepare func(*dynamo.State)
	config  dynamo.Config
	env     string
	point   int64
	last    awstest.Fault
	was     *world // before the commit, the same at each point but for the name; zero: not read yet
}

// writes reports whether an operation is one that writes.
func writes(operation string) bool {
	return !strings.HasPrefix(operation, "Get") && !strings.HasPrefix(operation, "BatchGet") &&
		operation != "Query" && operation != "Scan"
}

// run crashes at one point. It reports whether the commit took effect, and whether the point was
// reached.
func (c *crash) run() (whole, reached bool) {
	t := c.t
	t.Helper()
	var armed, dead atomic.Bool
	var n atomic.Int64
	faults := &awstest.Faults{Decide: func(operation string, _ []byte) awstest.Fault {
		switch {
		case dead.Load():
			return awstest.Drop
		case armed.Load() && writes(operation) && n.Add(1) == c.point:
			dead.Store(true)
			return c.last
		}
		return awstest.None
	}}
	fresh := func() *dynamo.State {
		s := open(t, c.config)
		c.prepare(s)
		return s
	}
	through := c.config
	through.API = dynamodb.NewFromConfig(awstest.Config(server.URL(server.DynamoDB), faults))
	a := open(t, through)
	c.prepare(a)
	g := before(t, a, c.env)
	if c.was.Env.Name == "" {
		*c.was = snapshot(t, fresh(), c.env)
	}
	was := *c.was
	was.Env.Name = c.env
	armed.Store(true)
	_, err := a.Commit(context.WithoutCancel(t.Context()), c.env, change(g, c.env))
	if reached = dead.Load(); !reached && err != nil {
		t.Fatal(err)
	}
	now := snapshot(t, fresh(), c.env)
	if cmp.Equal(was, now, cmpopts.EquateEmpty()) {
		if err == nil {
			t.Errorf("point %d: a commit that succeeded changed nothing", c.point)
		}
		// What comes after a crash finds nothing in its way.
		if out, err := fresh().Commit(t.Context(), c.env, change(g, c.env)); err != nil ||
			len(out.Conflicts) > 0 {
			t.Errorf("point %d: after the crash: %v, conflicts %+v", c.point, err, out.Conflicts)
		}
	} else {
		whole = true
	}
	wantWhole(t, c.point, g, snapshot(t, fresh(), c.env))
	return whole, reached
}

// wantWhole pins that all of change is there. The revisions of rows are counted from the first one.
func wantWhole(t *testing.T, point int64, g state.Guard, w world) {
	t.Helper()
	var rows []string
	for _, r := range w.Rows {
		rows = append(rows, fmt.Sprintf("%s %d %s", r.Lane, r.Rev-firstRev(g)+1,
			strings.TrimSuffix(string(r.ID)[strings.Index(string(r.ID), "name=")+5:], "]")))
	}
	want := []string{"a/0 2 n00000", "a/1 2 n00001", "a/0 1 n00003", "b/0 2 n00010", "b/1 2 n00011",
		"b/0 1 n00013", "c/0 2 n00020", "c/1 2 n00021", "c/0 1 n00023"}
	checks := map[string]string{
		"rows":   cmp.Diff(want, rows),
		"counts": cmp.Diff(map[state.Status]int{state.StatusAvailable: 9}, w.Counts),
		"outbox": cmp.Diff([]state.Outbox{{ID: "o2", At: start}, {ID: "o3", At: start}},
			w.Outbox),
		"parameters": cmp.Diff([]state.Parameter{{Name: "p", Value: "2"}}, w.Params),
		"versions": cmp.Diff([]state.Version{{Number: 2, Digest: "two"}}, w.Versions,
			cmpopts.EquateEmpty()),
		"agents":  cmp.Diff(2, len(w.Agents)),
		"actions": cmp.Diff(1, len(w.Actions)),
		"tickets": cmp.Diff(6, len(w.Schedule.Tickets)),
		"timers":  cmp.Diff(0, len(w.Due)),
		"rev": cmp.Diff([]int64{2, 2, 2},
			[]int64{w.Env.Rev, w.Env.PlanSeq, int64(w.Env.Last)}),
	}
	for what, diff := range checks {
		if diff != "" {
			t.Errorf("point %d: %s (-want +got):\n%s", point, what, diff)
		}
	}
}
