package work

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// logged is a home that has nothing but actions.
type logged struct {
	api.Home
	actions []api.Action
}

// Actions implements api.Home.
func (l *logged) Actions(_ context.Context, _ string, q api.ActionQuery) ([]api.Action, error) {
	var out []api.Action
	for _, x := range l.actions {
		if x.ID > q.After {
			out = append(out, x)
		}
	}
	slices.Reverse(out) // newest first
	return out, nil
}

// TestFixed pins that a command over a server counts what came of its own asking, and a resource
// once.
func TestFixed(t *testing.T) {
	t.Parallel()
	at := func(id, name string, version int, change diff.Change) api.Action {
		return api.Action{ID: id, Resource: resource.ID("std::Null[a,name=" + name + "]"),
			Version: version, Action: state.ActionRepair, Outcome: state.StatusDeployed,
			Change: change}
	}
	a := testWaiter(&output.Console{})
	a.Home = &logged{actions: []api.Action{at("1", "old", 1, diff.Updated),
		at("2", "x", 1, diff.Updated), at("3", "x", 1, diff.Created),
		at("4", "y", 1, diff.NoChange),
		at("5", "z", 1, diff.Purged), at("6", "w", 2, diff.Updated)}}
	for _, c := range []struct {
		reason string
		of     Request
		want   int
	}{
		{"all since, each resource once", Request{Since: "1"}, 3},
		{"those that the filter selects",
			Request{Since: "1", Filter: Matching([]string{"std::Null[a,name=w]", "status=failed"})},
			1},
		{"an export without a comparison repairs nothing, whoever else does",
			Request{Since: "1", Nothing: true}, 0},
	} {
		if d, err := a.did(t.Context(), c.of); err != nil || d.Fixed != c.want {
			t.Errorf("%s: %d, want %d; %v", c.reason, d.Fixed, c.want, err)
		}
	}
}

// TestWaitsFor pins that a command that waits for an agent that nobody serves says so, and says
// nothing of it before or while somebody works.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	work := api.Progress{Scheduled: 3, Lanes: []string{"web1", "db1"}}
	held, runs, done := work, work, api.Progress{}
	held.Held, runs.Running = []string{"db1"}, []resource.ID{"std::Null[web1,name=x]"}
	many := api.Progress{Lanes: []string{"a", "b", "c", "d", "e"}}
	for _, c := range []struct {
		reason string
		now    api.Progress
		still  time.Duration
		want   string
	}{
		{"nothing has moved for a while", work, stuckAfter,
			", waits for a process that serves db1, web1"},
		{"it has only begun", work, stuckAfter - 1, ""},
		{"somebody serves a lane", held, time.Hour, ""},
		{"something runs", runs, time.Hour, ""},
		{"nothing is left", done, time.Hour, ""},
		{"more than fit in a line", many, time.Hour,
			", waits for a process that serves a, b, c and 2 more"},
	} {
		if got := waitsFor(c.now, c.still); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}

// throttled is a home of which the progress cannot be asked for, until it can.
type throttled struct {
	api.Home
	until time.Time
}

// Progress implements api.Home.
func (h *throttled) Progress(context.Context, string) (api.Progress, error) {
	if time.Now().Before(h.until) {
		return api.Progress{}, fault.New(fault.Unavailable, "ask x", "429 Too Many Requests")
	}
	return api.Progress{}, nil
}

// TestWaitOutlivesThrottling wants a command to go on waiting while a server cannot answer for a
// moment, as what it has asked for goes on, too, and to end when that takes long.
func TestWaitOutlivesThrottling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lasts time.Duration
		kind  fault.Kind
	}{{30 * time.Second, fault.Unknown}, {time.Hour, fault.Unavailable}} {
		synctest.Test(t, func(t *testing.T) {
			a := testWaiter(&output.Console{})
			began := time.Now()
			a.Home = &throttled{until: began.Add(c.lasts)}
			_, err := a.poll(t.Context(), Request{Idle: true}, a.Progress())
			if fault.KindOf(err) != c.kind || time.Since(began) > 3*time.Minute {
				t.Errorf("of %v without an answer, after %v: %v", c.lasts, time.Since(began), err)
			}
		})
	}
}

// TestNextPoll pins how often a server is asked while a command waits: soon when things are quick,
// and a number of times that hardly grows when they are slow.
func TestNextPoll(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takes time.Duration
		limit int
	}{{time.Second, 7}, {2 * time.Second, 11}, {10 * time.Second, 24}, {140 * time.Second, 48},
		{time.Hour, 394}} {
		asked, at := 0, time.Duration(0)
		for ; at < c.takes; asked++ {
			at += NextPoll(at)
		}
		if late := at - c.takes; asked > c.limit || late > max(c.takes/pollEvery, quickPoll) {
			t.Errorf("in %v a server is asked %d times, want at most %d; the end is seen %v late",
				c.takes, asked, c.limit, late)
		}
	}
}

// TestChangedTwice wants what was changed twice, and of no attribute, to have a list of attributes.
func TestChangedTwice(t *testing.T) {
	t.Parallel()
	at := func(id string) api.Action {
		return api.Action{ID: id, Resource: "exec::Run[a,name=x]", Outcome: state.StatusDeployed,
			Action: state.ActionDeploy, Change: diff.Updated}
	}
	h := &logged{actions: []api.Action{at("2"), at("3")}}
	w := &Waiter{Location: &home.Location{}, Session: &home.Session{Home: h}}
	got, err := w.did(t.Context(), Request{Since: "1"})
	if err != nil || len(got.Changes) != 1 || got.Changes[0].Attributes == nil {
		t.Errorf("%+v, %v", got, err)
	}
}
