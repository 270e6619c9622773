package deploytest

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// everything returns a commit that uses every feature of a commit except starting resources.
func everything(g state.Guard) state.Commit {
	return state.Commit{Guard: g, Rows: freshRows(2), Checked: []resource.ID{id(0)}, Epoch: 1,
		Actions: []state.Action{{ID: "act1", Resource: id(0), Finished: at(0)},
			{ID: "act2", Resource: id(1), Finished: at(0)}},
		AddOutbox: []state.Outbox{{ID: "out1", Kind: state.OutboxEvent, Of: id(0), At: at(0),
			Priority: 2}}, Parameters: []state.Parameter{{Name: "p", Value: "v"}},
		Plan: true, Until: at(5 * time.Hour), WaveDone: 1}
}

// nothingApplied pins that no part of the commit from everything was written.
func (f *fixture) nothingApplied(before state.Env, lease state.Lease) {
	f.t.Helper()
	rows, err := f.B.ScanRows(f.ctx, env, "", 10)
	f.ok(err)
	f.same(len(rows), 0, "rows")
	actions, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
	f.ok(err)
	f.same(len(actions), 0, "actions")
	out, err := f.B.Outbox(f.ctx, env, 10)
	f.ok(err)
	f.same(len(out), 0, "outbox")
	ps, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{})
	f.ok(err)
	f.same(len(ps), 0, "parameters")
	counts, err := f.B.Counts(f.ctx, env)
	f.ok(err)
	f.same(nonZero(counts), map[state.Status]int{}, "counts")
	e, err := f.B.Env(f.ctx, env)
	f.ok(err)
	f.same(e, before, "environment")
	f.same(f.held(lease.Key), lease, "lease")
}

func commitChecks() []check {
	return []check{
		{"FencedAppliesNothing", fencedAppliesNothing},
		{"EnvConflictAppliesNothing", func(f *fixture) {
			e, err := f.putEnv(f.A, state.Env{Name: env, Last: 1})
			f.ok(err)
			l := f.lease(f.A, lane, f.HolderA())
			for _, rev := range []int64{0, 2} {
				c := everything(guardOf(l))
				c.Env = &state.Env{Name: env, Rev: rev, Last: 9}
				_, err = f.A.Commit(f.ctx, env, c)
				f.is(err, fault.Conflict, "an environment that was changed")
				f.nothingApplied(e, l)
			}
		}},
		{"EnvIsReplaced", func(f *fixture) {
			g := f.guard(state.PlanKey)
			e := wholeEnv()
			e.PlanSeq, e.Halted = 77, true
			out := f.commit(state.Commit{Guard: g, Env: &e, Plan: true})
			e.Rev, e.PlanSeq, e.Halted = 1, 1, false
			got, err := f.B.Env(f.ctx, env)
			f.ok(err)
			f.same(got, e, "environment; PlanSeq and Halted are not written by it")
			f.same(out.PlanSeq, int64(1), "PlanSeq returned")
		}},
		{"EverythingAtOnce", everythingAtOnce},
		{"OnlyPlanGrowsPlanSeq", func(f *fixture) {
			g := f.guard(lane)
			before := f.planSeq()
			out := f.commit(state.Commit{Guard: g, Rows: freshRows(1)})
			f.same([]int64{out.PlanSeq, f.planSeq()}, []int64{before, before}, "without Plan")
			out = f.commit(state.Commit{Guard: g, Plan: true})
			f.same(out.PlanSeq > before && out.PlanSeq == f.planSeq(), true,
				"with Plan, also when nothing else is in it")
			before = out.PlanSeq
			out = f.commit(state.Commit{Guard: g, Plan: true, Rows: freshRows(1)})
			f.same(len(out.Conflicts) == 1 && out.PlanSeq > before, true,
				"with Plan, also when its rows conflict")
		}},
		{"ActionsOfConflictingRowsAreStored", func(f *fixture) {
			g := f.guard(lane)
			f.put(g, fresh(0))
			c := everything(g)
			c.Rows, c.Parameters = []state.Row{fresh(0)}, nil
			out := f.commit(c)
			f.same(len(out.Conflicts), 1, "conflicts")
			actions, err := f.B.Actions(f.ctx, env, state.ActionQuery{Resource: id(0)})
			f.ok(err)
			f.same(len(actions), 1, "it did happen")
			left, err := f.B.Outbox(f.ctx, env, 10)
			f.ok(err)
			f.same(len(left), 1, "what follows is kept too")
		}},
		{"RepeatedCommitShowsItself", repeatedCommit},
	}
}

// repeatedCommit pins the result of a commit that is repeated because its answer was lost. Rows
// conflict and are returned as they were written, and no other record is stored twice.
func repeatedCommit(f *fixture) {
	g := f.guard(lane)
	old := fresh(0)
	f.put(g, old, fresh(2))
	c := everything(g)
	c.Rows[0].Rev, c.Rows[0].LastAction = 1, "act1"
	c.Rows = append(c.Rows, state.Row{ID: id(2), Rev: 1, Gone: true})
	first := f.commit(c)
	f.same(len(first.Conflicts), 0, "the first time")
	again := f.commit(c)
	one, two := c.Rows[0], c.Rows[1]
	one.Rev, two.Rev = 2, 1
	f.same(byID(again.Conflicts), []state.Row{one, two, {ID: id(2)}},
		"the second time: as they were written")
	actions, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
	f.ok(err)
	f.same(len(actions), 2, "actions are there once")
	out, err := f.B.Outbox(f.ctx, env, 10)
	f.ok(err)
	f.same(out, c.AddOutbox, "the outbox is the same")
	counts, err := f.B.Counts(f.ctx, env)
	f.ok(err)
	f.same(nonZero(counts), map[state.Status]int{state.StatusAvailable: 2}, "so are the counts")
	n, err := f.B.DropActions(f.ctx, env, at(time.Hour))
	f.ok(err)
	f.same(n, 2, "each action is counted once when it is dropped")

	// If the commit contains an environment, the repetition is refused as a whole. The revision of
	// the environment shows that the commit was applied.
	e := state.Env{Name: env, Last: 1}
	f.commit(state.Commit{Guard: g, Env: &e, Plan: true})
	_, err = f.A.Commit(f.ctx, env, state.Commit{Guard: g, Env: &e, Plan: true})
	f.is(err, fault.Conflict, "repeated with its environment")
}

func nextChecks() []check {
	start := func(seen int64,
		ids ...resource.ID) state.Commit {
		return state.Commit{Next: ids, SeenPlan: seen}
	}
	return []check{
		{"AcceptedAndCleared", func(f *fixture) {
			g := f.guard(lane)
			f.put(g, freshRows(3)...)
			c := start(f.planSeq(), id(2), id(0))
			c.Guard = g
			out := f.commit(c)
			f.same(out, state.Committed{Started: true, PlanSeq: f.planSeq()}, "accepted")
			f.same(f.held(lane).Running, []resource.ID{id(2), id(0)}, "what runs, in order")
			out = f.commit(state.Commit{Guard: g})
			f.same(out.Started, false, "nothing was asked for")
			f.same(len(f.held(lane).Running), 0, "with none, what runs is cleared")
		}},
		{"WhatConflictsIsNotCleared", stillRunning},
		{"BesideOtherLanes", besideOthers},
		{"RefusedWhilePausedOrHaltedOrOutdated", nextRefused},
		{"PausedOtherAgentDoesNotMatter", func(f *fixture) {
			f.ok(f.A.Pause(f.ctx, env, true, "b", "a/0", "A"))
			c := start(f.planSeq(), id(0))
			c.Guard = f.guard(lane)
			f.same(f.commit(c), state.Committed{Started: true, PlanSeq: f.planSeq()},
				"agent a is not paused")
		}},
		{"PausedByTheWholeName", func(f *fixture) {
			f.ok(f.A.Pause(f.ctx, env, true, "net/core"))
			for key, paused := range map[string]bool{"net/core": true, "net/core/12": false,
				"net": false, "core": false} {
				c := start(f.planSeq(), id(0))
				c.Guard = f.guard(key)
				out := f.commit(c)
				f.same([]bool{out.Started, out.Paused}, []bool{!paused, paused}, key)
			}
		}},
		{"PausedIsToldWithoutNextToo", func(f *fixture) {
			g := f.guard(lane)
			f.same(f.commit(state.Commit{Guard: g}).Paused, false, "not paused")
			f.ok(f.B.Pause(f.ctx, env, true, "a"))
			f.same(f.commit(state.Commit{Guard: g}).Paused, true, "paused")
			f.ok(f.B.Pause(f.ctx, env, false, "a"))
			f.ok(f.B.Halt(f.ctx, env, true))
			f.same(f.commit(state.Commit{Guard: g}).Paused, true, "halted")
		}},
	}
}

// stillRunning pins that a row in conflict stays in the list of running resources until another
// commit records it, since a crash may come before that commit.
func stillRunning(f *fixture) {
	g, other := f.guard(lane), f.guard("a/1")
	f.put(g, freshRows(5)...)
	var read []state.Row
	for i := range 5 {
		read = append(read, f.row(id(i)))
	}
	f.commit(state.Commit{Guard: g, Next: []resource.ID{id(4), id(3), id(2), id(0), id(9)},
		SeenPlan: f.planSeq()})
	gone := read[4]
	gone.Gone = true
	f.put(other, read[0], read[1], read[3], gone) // concurrent writes by another holder
	out := f.commit(state.Commit{Guard: g, Rows: read})
	f.same(len(out.Conflicts), 4, "what others have written or removed conflicts")
	f.same(f.held(lane).Running, []resource.ID{id(4), id(3), id(0)},
		"what was run and conflicts stays, in order, and nothing comes to it")

	again := f.row(id(0))
	f.put(other, again)
	out = f.commit(state.Commit{Guard: g, Rows: []state.Row{again, f.row(id(3))}})
	f.same(len(out.Conflicts), 1, "one was written again")
	f.same(f.held(lane).Running, []resource.ID{id(0)}, "what conflicts once more")

	out = f.commit(state.Commit{Guard: g, Rows: []state.Row{again}, Next: []resource.ID{id(3)},
		SeenPlan: f.planSeq()})
	f.same(len(out.Conflicts), 1, "it conflicts")
	f.same(f.held(lane).Running, []resource.ID{id(3)},
		"what is started takes the place of all that ran")
	f.commit(state.Commit{Guard: g, Rows: []state.Row{f.row(id(3))}})
	f.same(len(f.held(lane).Running), 0, "what is recorded is cleared")
}

// besideOthers pins that the rows that other lanes of the holder run stay in the list of running
// resources, with the rows that start, or without them.
func besideOthers(f *fixture) {
	g, seen := f.guard(lane), f.planSeq()
	both := state.Commit{Guard: g, Next: []resource.ID{id(1)}, SeenPlan: seen, Beside: []resource.ID{id(0)}}
	f.same(f.commit(both).Started, true, "a second lane starts")
	f.same(f.held(lane).Running, []resource.ID{id(0), id(1)}, "both lanes run")
	f.commit(state.Commit{Guard: g, Beside: []resource.ID{id(1)}})
	f.same(f.held(lane).Running, []resource.ID{id(1)}, "one is recorded")
	both.SeenPlan = seen - 1
	f.same(f.commit(both).Started, false, "another schedule")
	f.same(f.held(lane).Running, []resource.ID{id(1)}, "a refused start changes nothing")
}

func nextRefused(f *fixture) {
	g := f.guard(lane)
	f.put(g, freshRows(1)...)
	for _, c := range []struct {
		reason    string
		stop, out func() error
		seen      int64 // added to the current PlanSeq
		paused    bool
	}{
		{"the agent is paused", func() error { return f.B.Pause(f.ctx, env, true, "a") },
			func() error { return f.B.Pause(f.ctx, env, false, "a") }, 0, true},
		{"the environment is halted", func() error { return f.B.Halt(f.ctx, env, true) },
			func() error { return f.B.Halt(f.ctx, env, false) }, 0, true},
		{"the schedule has changed", nil, nil, -1, false},
		{"a schedule to come", nil, nil, 1, false},
	} {
		if out := f.commit(state.Commit{Guard: g, Next: []resource.ID{id(0)},
			SeenPlan: f.planSeq()}); !out.Started {
			f.t.Fatalf("%s: not started before", c.reason)
		}
		if c.stop != nil {
			f.ok(c.stop())
		}
		row := f.row(id(0))
		row.Reason = c.reason
		out := f.commit(state.Commit{Guard: g, Rows: []state.Row{row}, Next: []resource.ID{id(1)},
			SeenPlan: f.planSeq() + c.seen})
		f.same(out, state.Committed{Paused: c.paused, PlanSeq: f.planSeq()}, c.reason)
		f.same(f.row(id(0)).Reason, c.reason, "the rest applies")
		f.same(f.held(lane).Running, []resource.ID{id(0)}, c.reason+": what runs stays as it was")
		if c.out != nil {
			f.ok(c.out())
		}
	}
}

// fencedAppliesNothing pins that a commit without the lease that it names changes nothing.
func fencedAppliesNothing(f *fixture) {
	e, err := f.putEnv(f.A, state.Env{Name: env})
	f.ok(err)
	old := f.lease(f.A, lane, f.HolderA())
	now, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), old.Until, at(4*time.Hour))
	f.ok(err)
	for reason, g := range map[string]state.Guard{
		"an old fence": guardOf(old), "a fence to come": {Key: lane, Fence: now.Fence + 1},
		"no fence":          {Key: lane},
		"a key nobody took": {Key: "x", Fence: now.Fence}, "no guard": {},
	} {
		c := everything(g)
		next := e
		next.Last = 9
		c.Env = &next
		_, err := f.A.Commit(f.ctx, env, c)
		f.is(err, fault.Fenced, reason)
		f.nothingApplied(e, now)
	}
}

// everythingAtOnce pins that a commit is applied completely.
func everythingAtOnce(f *fixture) {
	l := f.lease(f.A, lane, f.HolderA())
	c := everything(guardOf(l))
	f.commit(c)
	rows, err := f.B.ScanRows(f.ctx, env, "", 10)
	f.ok(err)
	f.same(len(rows), 2, "rows")
	actions, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
	f.ok(err)
	f.same(len(actions), 2, "actions")
	out, err := f.B.Outbox(f.ctx, env, 10)
	f.ok(err)
	f.same(out, c.AddOutbox, "outbox")
	ps, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{})
	f.ok(err)
	f.same(ps, c.Parameters, "parameters")
	l.Until, l.Wave = c.Until, 1
	f.same(f.held(lane), l, "lease")
}
