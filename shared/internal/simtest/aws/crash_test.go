package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

const env = "e"

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// small are limits with which a transaction has two rows, and each value is stored in items of its
// own.
func small() *dynamo.Limits { return &dynamo.Limits{Page: 3, Bytes: 1 << 20, Value: 100} }

func id(agent string, n int) resource.ID {
	return resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: fmt.Sprintf("n%05d", n)})
}

// row is a scheduled row of an agent.
func row(agent string, n int) state.Row {
	return state.Row{
		ID: id(agent, n),
		Intent: state.Intent{Agent: agent, Version: 1, Hash: fmt.Sprintf("%064x", n),
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

func snapshot(t *testing.T, s *dynamo.State) world {
	t.Helper()
	var w world
	ctx := context.Background()
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

// before makes an environment with rows in three lanes, and returns the lease under which it is
// planned.
func before(t *testing.T, s *dynamo.State) state.Guard {
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
			r.Ran, r.NextAt = r.Hash, start.Add(time.Duration(n)*time.Minute)
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
func change(g state.Guard) state.Commit {
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
		written.Observed, moved.Agent, gone.Gone = written.Generation, agent+"/1", true
		c.Rows = append(c.Rows, written, moved, gone, added)
	}
	return c
}

// repeated is change as a process repeats it after a crash: without the rows that are written.
func repeated(t *testing.T, s *dynamo.State, g state.Guard) state.Commit {
	t.Helper()
	c := change(g)
	var ids []resource.ID
	for i := range c.Rows {
		ids = append(ids, c.Rows[i].ID)
	}
	rows, err := s.Rows(t.Context(), env, ids)
	if err != nil {
		t.Fatal(err)
	}
	c.Rows = slices.DeleteFunc(c.Rows, func(r state.Row) bool {
		i := slices.IndexFunc(rows, func(now state.Row) bool { return now.ID == r.ID })
		return i < 0 && r.Gone || i >= 0 && rows[i].Rev != r.Rev
	})
	return c
}

// TestCrashAnywhere cuts the connection at every request of a commit, with and without an effect of
// the last one. A commit of one page is then whole or undone. Of a commit of several pages a prefix
// is there, and the rest fits when it is repeated.
func TestCrashAnywhere(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*dynamo.Limits{"page": nil, "pages": small()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, last := range []Fate{Dropped, Unknown, Twice, Lost} {
				done, undone := 0, 0
				for point := 1; ; point++ {
					whole, reached := crash(t, limits, point, last)
					if !reached {
						break
					}
					if whole {
						done++
					} else {
						undone++
					}
				}
				if last == Unknown && done == 0 || last == Dropped && undone == 0 {
					t.Errorf("fate %d: %d times done, %d undone", last, done, undone)
				}
			}
		})
	}
}

// crash crashes at one request. It reports whether the commit took effect, and whether the request
// was reached.
func crash(t *testing.T, limits *dynamo.Limits, point int, last Fate) (whole, reached bool) {
	t.Helper()
	about := fmt.Sprintf("request %d, fate %d", point, last)
	table := NewTable("t")
	fresh := func() *dynamo.State { return stateOn(t, table, limits) }
	g := before(t, fresh())
	was := snapshot(t, fresh())
	n := 0
	wire := &Wire{To: table, Fate: func(string) Fate {
		switch n++; {
		case n < point:
			return Arrives
		case n == point:
			return last
		case last == Twice || last == Lost:
			return Arrives
		}
		return Dropped
	}}
	_, err := stateOn(t, wire, limits).Commit(t.Context(), env, change(g))
	if reached = n >= point; !reached || last == Twice || last == Lost {
		if err != nil {
			t.Fatalf("%s: %v", about, err)
		}
	}
	now := snapshot(t, fresh())
	whole = now.Env.Rev != was.Env.Rev
	if !whole {
		if limits == nil && !cmp.Equal(was, now, cmpopts.EquateEmpty()) {
			t.Errorf("%s: neither whole nor undone (-was +now):\n%s", about,
				deploytest.Diff(was, now, cmpopts.EquateEmpty()))
		}
		out, err := fresh().Commit(t.Context(), env, repeated(t, fresh(), g))
		if err != nil || len(out.Conflicts) > 0 {
			t.Errorf("%s: repeated: %v, conflicts %+v", about, err, out.Conflicts)
		}
	}
	wantWhole(t, about, g, snapshot(t, fresh()))
	if left := orphans(table); len(left) > 0 {
		t.Errorf("%s: nothing names the parts %v", about, left)
	}
	return whole, reached
}

// orphans returns parts of values that no item names.
func orphans(t *Table) []string {
	named := map[string]bool{}
	var out []string
	each := func(f func(part, sort string, i item)) {
		for part, p := range t.parts {
			for _, sort := range p.sorts {
				if i := t.at(part, sort, t.writes); i != nil {
					f(part, sort, i)
				}
			}
		}
	}
	each(func(part, _ string, i item) {
		for _, attr := range []string{"w", "uw"} {
			named["p"+part+" "+attributevalue.TextOf(i, attr)] = true
		}
	})
	each(func(part, sort string, _ item) {
		name, _, _ := strings.Cut(sort, "/")
		if part[0] == 'p' && !named[part+" "+name] {
			out = append(out, part+" "+sort)
		}
	})
	return out
}

// wantWhole pins that all of change is there. The revisions of rows are counted from the first one.
func wantWhole(t *testing.T, about string, g state.Guard, w world) {
	t.Helper()
	var rows []string
	for _, r := range w.Rows {
		rows = append(rows, fmt.Sprintf("%s %d %s", r.Agent, r.Rev-firstRev(g)+1,
			strings.TrimSuffix(string(r.ID)[strings.Index(string(r.ID), "name=")+5:], "]")))
	}
	want := []string{"a 2 n00000", "a/1 2 n00001", "a 1 n00003", "b 2 n00010", "b/1 2 n00011",
		"b 1 n00013", "c 2 n00020", "c/1 2 n00021", "c 1 n00023"}
	checks := map[string]string{
		"rows":       cmp.Diff(want, rows),
		"counts":     cmp.Diff(map[state.Status]int{state.StatusAvailable: 9}, w.Counts),
		"outbox":     cmp.Diff([]state.Outbox{{ID: "o2", At: start}, {ID: "o3", At: start}}, w.Outbox),
		"parameters": cmp.Diff([]state.Parameter{{Name: "p", Value: "2"}}, w.Params),
		"versions": cmp.Diff([]state.Version{{Number: 2, Digest: "two"}}, w.Versions,
			cmpopts.EquateEmpty()),
		"agents":  cmp.Diff(2, len(w.Agents)),
		"actions": cmp.Diff(1, len(w.Actions)),
		"tickets": cmp.Diff(6, len(w.Schedule.Tickets)),
		"timers":  cmp.Diff(0, len(w.Due)),
		"rev":     cmp.Diff([]int64{2, 2}, []int64{w.Env.Rev, int64(w.Env.Last)}),
	}
	for what, diff := range checks {
		if diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", about, what, diff)
		}
	}
}

// TestLargerThanItems pins that nothing in a commit makes an item too large: a body, the list of
// running resources, an action, a version, agents, parameters.
func TestLargerThanItems(t *testing.T) {
	t.Parallel()
	const large = 600 << 10 // an item holds 400 KB
	table := NewTable("t")
	s, other := stateOn(t, table, nil), stateOn(t, table, nil)
	plan := before(t, s)
	big := row("a", 7)
	big.Body = noise(large)
	text := fmt.Sprintf("%x", noise(large/2))
	var running []resource.ID
	for n := range 300 {
		running = append(running, resource.NewID("std::Null", "a",
			resource.Key{Name: "name", Value: fmt.Sprintf("%d%x", n, noise(n + 1000)[n:])}))
	}
	lease, err := s.Acquire(t.Context(), env, "a", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	in := state.Commit{Guard: plan, Plan: true, Env: &state.Env{Name: env, Rev: 1},
		Rows:       []state.Row{big},
		Version:    &state.Version{Number: 2, Digest: text},
		Agents:     []resource.Agent{{Name: "z", Options: map[string]any{"x": text}}},
		Parameters: []state.Parameter{{Name: "big", Value: text}},
		Actions:    []state.Action{{ID: "1", Resource: big.ID, Reason: text, Finished: start}}}
	out, err := s.Commit(t.Context(), env, in)
	if err != nil || len(out.Conflicts) > 0 {
		t.Fatalf("%v: %+v", err, out.Conflicts)
	}
	out, err = s.Commit(t.Context(), env, state.Commit{
		Guard: state.Guard{Key: "a", Fence: lease.Fence}, Next: running, SeenPlan: out.PlanSeq})
	if err != nil || !out.Started {
		t.Fatalf("%v: %+v", err, out)
	}
	w := snapshot(t, other)
	i := slices.IndexFunc(w.Rows, func(r state.Row) bool { return r.ID == big.ID })
	if i < 0 || string(w.Rows[i].Body) != string(big.Body) || w.Versions[1].Digest != text ||
		w.Agents["z"].Options["x"] != text || w.Params[0].Value != text ||
		w.Actions[0].Reason != text {
		t.Error("a large value did not come back")
	}
	now, err := other.Acquire(t.Context(), env, "a", "worker#2", start.Add(2*time.Hour),
		start.Add(3*time.Hour))
	if err != nil || !slices.Equal(now.Running, running) {
		t.Errorf("%v: %d ids were running, want %d", err, len(now.Running), len(running))
	}
	if left := orphans(table); len(left) > 0 {
		t.Errorf("nothing names the parts %v", left)
	}
}

// noise returns bytes that do not compress.
func noise(n int) []byte {
	out, x := make([]byte, n), uint32(1)
	for i := range out {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		out[i] = byte(x)
	}
	return out
}

// TestManyActions pins that a commit of many actions, of which some are very large, is stored in
// pages. An action that does not fit in a transaction loses its changes, and then messages.
func TestManyActions(t *testing.T) {
	t.Parallel()
	table := NewTable("t")
	s := stateOn(t, table, nil)
	lease, err := s.Acquire(t.Context(), env, "a", "worker#1", start, start.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	c := state.Commit{Guard: state.Guard{Key: "a", Fence: lease.Fence}}
	for n := range 3000 {
		a := state.Action{ID: fmt.Sprintf("%08d", n), Resource: id("a", n), Finished: start}
		if n%1000 == 0 {
			a.Reason = fmt.Sprintf("%x", noise(2<<20)) // 4 MiB of text
		}
		c.Actions = append(c.Actions, a)
	}
	if _, err := s.Commit(t.Context(), env, c); err != nil {
		t.Fatal(err)
	}
	got, err := s.Actions(t.Context(), env, state.ActionQuery{})
	if err != nil || len(got) != len(c.Actions) {
		t.Fatalf("%v: %d actions", err, len(got))
	}
}
