package deploytest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

func feedChecks() []check {
	return []check{
		{"UnknownTokens", unknownTokens},
		{"KindsOfCommits", kindsOfCommits},
		{"ResourcesOfCommits", resourcesOfCommits},
		{"OtherProcess", feedOfOtherProcess},
		{"ManyResources", feedOfManyResources},
		{"ManyCommits", feedOfManyCommits},
		{"OtherEnvironment", feedOfOtherEnvironment},
		{"WaitingEnds", feedWaitEnds},
	}
}

// feedOf returns the feed of a state, or ends the subtest: a model may have none.
func (f *fixture) feedOf(s state.State) state.Feed {
	f.t.Helper()
	feed, is := s.(state.Feed)
	if !is {
		f.t.Skip("this state has no feed")
	}
	return feed
}

// changes returns the changes since a token.
func (f *fixture) changes(feed state.Feed, after string) state.Changes {
	f.t.Helper()
	c, err := feed.Changes(f.ctx, env, after, 0)
	f.ok(err)
	if c.Token == "" || len(c.Resources) > state.MaxChanged || !slices.IsSorted(c.Resources) {
		f.t.Errorf("changes are out of form: %+v", c)
	}
	return c
}

// reports compares the changes since a token, and returns the new token. A home may report more
// than the wanted kinds, and More in place of ids.
func (f *fixture) reports(
	feed state.Feed, after, reason string, kinds state.ChangeKind, ids ...resource.ID,
) string {
	f.t.Helper()
	c := f.changes(feed, after)
	if c.Token == after {
		f.t.Errorf("%s: the token is the same", reason)
	}
	if c.Kinds&kinds != kinds {
		f.t.Errorf("%s: kinds %b, want at least %b", reason, c.Kinds, kinds)
	}
	for _, id := range ids {
		if !c.More && !slices.Contains(c.Resources, id) {
			f.t.Errorf("%s: %s is not among %v", reason, id, c.Resources)
		}
	}
	return c.Token
}

// unchanged checks that nothing has changed since a token.
func (f *fixture) unchanged(feed state.Feed, after, reason string) {
	f.t.Helper()
	f.same(f.changes(feed, after), state.Changes{Token: after}, reason)
}

// unknownTokens pins that a token that is not known, for whatever reason, means that everything may
// have changed.
func unknownTokens(f *fixture) {
	feed := f.feedOf(f.A)
	f.same(f.changes(feed, ""), state.Everything(state.NothingYet), "an environment that does not exist")
	f.unchanged(feed, state.NothingYet, "nothing was written yet")
	f.put(f.guard(lane), freshRows(1)...)
	now := f.changes(feed, "").Token
	f.unchanged(feed, now, "nothing was written since")
	for _, token := range []string{"", "x", "-1", "00", now + "0", now + " ", "9999999999999999999999"} {
		f.same(f.changes(feed, token), state.Everything(now), fmt.Sprintf("the token %q", token))
	}
}

// kindsOfCommits pins which kinds of changes the writes of the port report.
func kindsOfCommits(f *fixture) {
	feed, plan := f.feedOf(f.A), f.planning(env)
	g := f.guard(lane)
	f.put(g, freshRows(1)...)
	for _, c := range []struct {
		reason string
		write  func() error
		kinds  state.ChangeKind
	}{
		{"a pause", func() error { return f.A.Pause(f.ctx, env, true, "a") }, state.ChangedAgents},
		{"a resumption", func() error { return f.A.Pause(f.ctx, env, false, "a") }, state.ChangedAgents},
		{"a halt", func() error { return f.A.Halt(f.ctx, env, true) }, state.ChangedSettings},
		{"the end of a halt", func() error { return f.A.Halt(f.ctx, env, false) }, state.ChangedSettings},
		{"a version", f.writes(state.Commit{Guard: plan, Plan: true, Version: &state.Version{Number: 1}}),
			state.ChangedVersions},
		{"a release", func() error {
			e, err := f.A.Env(f.ctx, env)
			e.Released, e.Settings.KeepVersions = 1, 7
			f.commit(state.Commit{Guard: plan, Plan: true, Env: &e})
			return err
		}, state.ChangedVersions | state.ChangedSettings},
		{"an agent", f.writes(state.Commit{Guard: plan, Plan: true, Agents: []resource.Agent{{Name: "b"}}}),
			state.ChangedAgents},
		{"no agent", f.writes(state.Commit{Guard: plan, Plan: true, DropAgents: []string{"b"}}),
			state.ChangedAgents},
		{"a parameter", f.writes(state.Commit{Guard: plan,
			Parameters: []state.Parameter{{Name: "p", Value: "v"}}}),
			state.ChangedParameters},
		{"no parameter", f.writes(state.Commit{Guard: plan,
			DropParameters: []state.ParameterKey{{Name: "p"}}}), state.ChangedParameters},
		{"an action", f.writes(state.Commit{Guard: g,
			Actions: []state.Action{{ID: "1", Resource: id(0), Finished: epoch}}}),
			state.ChangedActions},
	} {
		before := f.changes(feed, "").Token
		f.ok(c.write())
		after := f.reports(feed, before, c.reason, c.kinds)
		f.unchanged(feed, after, c.reason+" was reported")
	}
}

// writes returns a function that commits c.
func (f *fixture) writes(c state.Commit) func() error {
	return func() error {
		f.commit(c)
		return nil
	}
}

// resourcesOfCommits pins that rows are reported that are written, removed, checked, started, and
// no longer running.
func resourcesOfCommits(f *fixture) {
	feed, g := f.feedOf(f.A), f.guard(lane)
	f.put(g, freshRows(4)...)
	at := f.changes(feed, "").Token
	f.put(g, f.row(id(1)))
	at = f.reports(feed, at, "a row was written", 0, id(1))
	gone := f.row(id(2))
	gone.Gone = true
	f.commit(state.Commit{Guard: g, Rows: []state.Row{gone}})
	at = f.reports(feed, at, "a row was removed", 0, id(2))
	f.commit(state.Commit{Guard: g, Checked: []resource.ID{id(3)}, Epoch: 1})
	at = f.reports(feed, at, "a row was checked", 0, id(3))
	e, err := f.A.Env(f.ctx, env)
	f.ok(err)
	out := f.commit(state.Commit{Guard: g, Next: []resource.ID{id(0)}, SeenPlan: e.PlanSeq})
	f.same(out.Started, true, "it may start")
	at = f.reports(feed, at, "a resource was started", 0, id(0))
	f.ok(f.A.Release(f.ctx, env, state.Lease{Key: g.Key, Fence: g.Fence}))
	at = f.reports(feed, at, "a running resource was given up", 0, id(0))
	f.unchanged(feed, at, "all was reported")
}

// feedOfOtherProcess pins that each process reports the writes of the other one.
func feedOfOtherProcess(f *fixture) {
	a, b, g := f.feedOf(f.A), f.feedOf(f.B), f.guard(lane)
	f.put(g, freshRows(2)...)
	at := f.changes(b, "").Token
	f.unchanged(a, at, "tokens are the same in all processes")
	f.put(g, f.row(id(0)))
	at = f.reports(b, at, "a commit of the other process", 0, id(0))
	f.ok(f.B.Pause(f.ctx, env, true, "a"))
	f.reports(a, at, "a pause of the other process", state.ChangedAgents)
}

// feedOfManyResources pins that a commit of more rows than an answer may have reports More.
func feedOfManyResources(f *fixture) {
	feed, g := f.feedOf(f.A), f.guard(lane)
	f.put(g, fresh(9999))
	at := f.changes(feed, "").Token
	var rows []state.Row
	for n := range state.MaxChanged + 1 {
		rows = append(rows, fresh(n))
	}
	f.put(g, rows...)
	c := f.changes(feed, at)
	f.same([]any{c.More, len(c.Resources) <= state.MaxChanged}, []any{true, true}, "more than it may list")
}

// feedOfManyCommits pins that the changes since any earlier token are complete: either all
// resources that were written since, or More.
func feedOfManyCommits(f *fixture) {
	feed, g := f.feedOf(f.A), f.guard(lane)
	f.put(g, freshRows(1)...)
	const commits = 60
	tokens := []string{f.changes(feed, "").Token}
	for n := range commits {
		f.put(g, fresh(1000+n))
		tokens = append(tokens, f.changes(feed, tokens[n]).Token)
	}
	for n, token := range tokens[:commits] {
		c := f.changes(feed, token)
		for m := n; m < commits && !c.More; m++ {
			if !slices.Contains(c.Resources, id(1000+m)) {
				f.t.Fatalf("since commit %d: commit %d is left out of %v", n, m, c.Resources)
			}
		}
		f.same(c.Token, tokens[commits], "the newest token")
	}
}

// feedOfOtherEnvironment pins that environments have feeds of their own.
func feedOfOtherEnvironment(f *fixture) {
	feed := f.feedOf(f.A)
	f.put(f.guard(lane), freshRows(1)...)
	at := f.changes(feed, "").Token
	f.ok(f.A.Pause(f.ctx, other, true, "a"))
	f.unchanged(feed, at, "a write in another environment")
}

// feedWaitEnds pins that a waiting call ends with a change, with its context, and without a change
// when the wait is over.
func feedWaitEnds(f *fixture) {
	feed := f.feedOf(f.A)
	f.put(f.guard(lane), freshRows(1)...)
	at := f.changes(feed, "").Token
	c, err := feed.Changes(f.ctx, env, at, time.Millisecond)
	f.ok(err)
	f.same(c, state.Changes{Token: at}, "nothing has changed")
	got := make(chan state.Changes)
	go func() {
		c := state.Changes{Token: at}
		for c.Token == at && f.ctx.Err() == nil { // a home may wait less
			if c, _ = feed.Changes(f.ctx, env, at, time.Hour); c.Token == "" {
				break
			}
		}
		got <- c
	}()
	f.ok(f.A.Halt(f.ctx, env, true))
	f.same((<-got).Kinds.Has(state.ChangedSettings), true, "a change ends the wait")
	ended, cancel := context.WithCancel(f.ctx)
	cancel()
	if _, err = feed.Changes(ended, env, at, time.Hour); err == nil {
		f.t.Error("the context has ended, and Changes has not failed")
	}
}
