//go:build servers

package logs_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
)

// TestManyActions pins what ten thousand actions cost, of one resource and of as many, and some
// that were committed alone: to log, and to find, page by page.
func TestManyActions(t *testing.T) {
	t.Parallel()
	const page = 400
	for _, c := range []struct {
		name      string
		n         int
		resources int
		some      int     // committed at once
		calls     float64 // of the log function, at most
		wcu       float64
	}{
		{"of one resource", 10000, 1, 500, 20, 250},
		{"of as many resources", 10000, 10000, 500, 30, 700},
		{"each committed alone", 1000, 1000, 1, 60, 1400},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, number := c.n, c.n-258 // which is in no other number
			w := newWorld(t, server.DynamoDB)
			m := &maker{every: 50 * time.Millisecond}
			actions := m.actions("a", c.resources, n)
			actions[n/2].Outcome, actions[n/2].Version = state.StatusFailed, 77
			actions[n/2].Messages = append(actions[n/2].Messages,
				provider.Line{At: start, Level: provider.LevelError, Msg: "the disk is full"})
			commits(t, w.process(), "a", actions, c.some)
			w.meter.Take()
			began := time.Now()
			l := w.process()
			if failed := l.Take(t.Context(), notice("a")); len(failed) > 0 {
				t.Fatalf("failed: %+v", failed)
			}
			counts := w.meter.Take()
			sum := counts.Sum()
			t.Logf("logged in %v: %.4f requests and %.4f WCU an action\n%s", time.Since(began),
				float64(sum.Calls)/float64(n), sum.WCU/float64(n), counts)
			if float64(sum.Calls) > c.calls || sum.WCU > c.wcu {
				t.Errorf("%d requests and %.0f WCU, want at most %.0f and %.0f", sum.Calls, sum.WCU,
					c.calls, c.wcu)
			}
			logged(t, l, "all")
			all := newestFirst(actions)
			pages(t, w, state.ActionQuery{Limit: page}, all, "of the environment")
			pages(t, w, state.ActionQuery{Limit: page, Resource: id("a", 0)},
				ofResource(all, id("a", 0)), "of the resource")
			for _, q := range []struct {
				name  string
				q     state.ActionQuery
				want  []state.Action
				limit int // requests
			}{
				{"newest", state.ActionQuery{Limit: 20}, all[:20], 12},
				{"newest of a resource", state.ActionQuery{Resource: id("a", 0), Limit: 1},
					ofResource(all, id("a", 0))[:1], 6},
				{"outcome", state.ActionQuery{Outcome: state.StatusFailed}, actions[n/2 : n/2+1],
					12},
				{"version", state.ActionQuery{Version: 77}, actions[n/2 : n/2+1], 12},
				{"level and text", state.ActionQuery{Level: provider.LevelError, Text: "disk"},
					actions[n/2 : n/2+1], 12},
				{"agent", state.ActionQuery{Agent: "a", Limit: 1}, all[:1], 12},
				{"another agent", state.ActionQuery{Agent: "b"}, nil, 12},
				{"text", state.ActionQuery{Text: fmt.Sprint("number ", number)},
					actions[number-1 : number], 30},
				{"by id", state.ActionQuery{IDs: []string{actions[3].ID, actions[n-3].ID}},
					newestFirst(actions[3:4], actions[n-3:n-2]), 30},
				{"since and until", state.ActionQuery{Since: actions[100].Finished,
					Until: actions[110].Finished}, newestFirst(actions[100:110]), 30},
				{"all", state.ActionQuery{}, all, 30},
			} {
				p := w.process()
				w.meter.Take()
				want(t, p, q.q, q.want, q.name)
				got := w.meter.Take().Sum()
				if got.Calls > q.limit {
					t.Errorf("%s: %d requests, want at most %d", q.name, got.Calls, q.limit)
				}
				t.Logf("%-22s %3d requests, %6.1f RCU", q.name, got.Calls, got.RCU)
			}
		})
	}
}

// pages pins what a query returns page by page, in one process.
func pages(t *testing.T, w *world, q state.ActionQuery, all []state.Action, reason string) {
	t.Helper()
	p := w.process()
	w.meter.Take()
	n := 0
	for from := 0; ; from += q.Limit {
		to := min(from+q.Limit, len(all))
		from = min(from, len(all))
		want(t, p, q, all[from:to], fmt.Sprintf("%s, from %d on", reason, from))
		n++
		if from == len(all) {
			break
		}
		q.Before = all[to-1].ID
	}
	sum := w.meter.Take().Sum()
	t.Logf("%d pages %s: %.1f requests and %.1f RCU a page", n, reason,
		float64(sum.Calls)/float64(n), sum.RCU/float64(n))
}

// TestCostOfLogging pins what it costs to log what one run of an agent committed, by how much that
// was.
func TestCostOfLogging(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n, agents   int
		calls       int
		wcu, rcu    float64 // in all
		writes, put int
	}{
		{n: 1, agents: 1, calls: 5, wcu: 3, rcu: 6, writes: 2},
		{n: 10, agents: 1, calls: 5, wcu: 14, rcu: 6, writes: 2},
		{n: 10, agents: 10, calls: 12, wcu: 24, rcu: 15, writes: 11},
		{n: 64, agents: 1, calls: 7, wcu: 74, rcu: 20, writes: 4},
		{n: 500, agents: 1, calls: 7, wcu: 75, rcu: 20, writes: 5, put: 1},
		{n: 4000, agents: 1, calls: 10, wcu: 250, rcu: 20, writes: 8, put: 2},
	} {
		t.Run(fmt.Sprintf("%d actions of %d agents", c.n, c.agents), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, server.DynamoDB)
			m := &maker{every: time.Second / 10}
			var notices []string
			for n := range c.agents {
				agent := fmt.Sprintf("web%02d", n)
				commits(t, w.process(), agent, m.actions(agent, math.MaxInt32, c.n/c.agents),
					512)
				notices = append(notices, agent)
			}
			l := w.process()
			w.meter.Take()
			if failed := l.Take(t.Context(), notice(notices...)); len(failed) > 0 {
				t.Fatalf("failed: %+v", failed)
			}
			counts := w.meter.Take()
			sum, put := counts.Sum(), w.log.(*objects).Puts
			wrote := counts.Sum("DynamoDB.Put", "DynamoDB.BatchWrite").Calls
			t.Logf("%d requests (%d writes, and %d PUTs of objects), %.0f WCU, %.1f RCU: %.3f "+
				"requests and %.3f WCU an action", sum.Calls, wrote, put, sum.WCU, sum.RCU,
				float64(sum.Calls+put)/float64(c.n), sum.WCU/float64(c.n))
			if sum.Calls > c.calls || sum.WCU > c.wcu || sum.RCU > c.rcu || wrote > c.writes ||
				put != c.put {
				t.Errorf("%d requests, %d writes, %d PUTs, %.0f WCU and %.0f RCU, want at most "+
					"%+v\n%s", sum.Calls, wrote, put, sum.WCU, sum.RCU, c, counts)
			}
			// The same messages again cost a read of the agent, and one of the planners.
			if failed := w.process().Take(t.Context(), notice(notices...)); len(failed) > 0 {
				t.Fatalf("failed: %+v", failed)
			}
			if again := w.meter.Take(); again.Sum().Calls > 2 || again.Sum().WCU != 0 {
				t.Errorf("a doubled message:\n%s", again)
			}
			if err := w.process().CatchUp(t.Context(), env); err != nil {
				t.Fatal(err)
			}
			if swept := w.meter.Take(); swept.Sum().Calls > 3 || swept.Sum().WCU != 0 {
				t.Errorf("a sweep with nothing to log:\n%s", swept)
			}
		})
	}
}

// TestLargeBodies pins that log lines of a MiB come back, and that no item gets large by them.
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	for _, kind := range []server.Kind{server.DynamoDB, server.MiniStack} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, kind)
			l := w.process()
			m := &maker{every: time.Second}
			var actions []state.Action
			for n, size := range []int{100, 5 << 10, 600 << 10, 1 << 20} {
				a := m.action(id("a", n))
				a.Messages = append(a.Messages,
					provider.Line{At: start, Level: provider.LevelError, Msg: noise(size)})
				actions = append(actions, a)
			}
			commits(t, l, "a", actions, 2)
			if failed := l.Take(t.Context(), notice("a")); len(failed) > 0 {
				t.Fatalf("failed: %+v", failed)
			}
			logged(t, l, "large")
			want(t, w.process(), state.ActionQuery{}, newestFirst(actions), "large bodies")
			for n := range actions {
				want(t, w.process(), state.ActionQuery{Resource: id("a", n),
					Level: provider.LevelError}, actions[n:n+1], "one of a resource")
			}
			for part, items := range w.items() {
				if n := len(fmt.Sprint(items)); strings.ContainsAny(part[:1], "TIG") &&
					n > 40<<10*len(items) {
					t.Errorf("items of %s take about %d bytes", part, n)
				}
			}
		})
	}
}
