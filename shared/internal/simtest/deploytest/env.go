package deploytest

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

func envChecks() []check {
	return []check{
		{"NewHasOnlyItsName", func(f *fixture) {
			got, err := f.A.Env(f.ctx, env)
			f.ok(err)
			f.same(got, state.Env{Name: env}, "an environment that nobody wrote")
		}},
		{"PutStoresAllFields", func(f *fixture) {
			e := wholeEnv()
			got, err := f.putEnv(f.A, e)
			f.ok(err)
			e.Rev = 1
			f.same(got, e, "what the process that wrote it reads")
			got, err = f.B.Env(f.ctx, env)
			f.ok(err)
			f.same(got, e, "what the other process reads")
		}},
		{"PutGrowsRev", func(f *fixture) {
			e := state.Env{Name: env}
			for want := int64(1); want < 4; want++ {
				var err error
				e, err = f.putEnv(f.A, e)
				f.ok(err)
				f.same(e.Rev, want, "Rev")
			}
		}},
		{"PutOfStaleRevConflicts", staleEnvConflicts},
		{"PutNeverWritesPlanSeqNorHalted", func(f *fixture) {
			f.ok(f.A.Halt(f.ctx, env, true))
			got, err := f.putEnv(f.A, state.Env{Name: env, PlanSeq: 99, Halted: false})
			f.ok(err)
			f.same([]any{got.PlanSeq, got.Halted}, []any{int64(1), true}, "PlanSeq and Halted")
			f.ok(f.A.Halt(f.ctx, env, false))
			got.Halted = true
			got, err = f.putEnv(f.A, got)
			f.ok(err)
			f.same([]any{got.PlanSeq, got.Halted}, []any{int64(2), false}, "PlanSeq and Halted")
		}},
		{"PauseAndHaltLeaveRev", func(f *fixture) {
			e, err := f.putEnv(f.A, state.Env{Name: env})
			f.ok(err)
			f.ok(f.B.Pause(f.ctx, env, true, "a"))
			f.ok(f.B.Halt(f.ctx, env, true))
			_, err = f.putEnv(f.A, e)
			f.ok(err)
		}},
		{"EnvsAreSorted", func(f *fixture) {
			for _, name := range []string{"b", "c", "a", "B"} {
				_, err := f.putEnv(f.A, state.Env{Name: name})
				f.ok(err)
			}
			got, err := f.B.Envs(f.ctx)
			f.ok(err)
			f.same(got, []string{"B", "a", "b", "c"}, "names")
		}},
		{"EnvironmentsAreApart", environmentsAreApart},
	}
}

func wholeEnv() state.Env {
	return state.Env{Name: env, Last: 5, Released: 4, Graph: "graph", Releasing: 5, ReleasingFrom: 3<<20 | 1,
		Settings: state.Settings{DeployTimer: "600", RepairTimer: "30 2 * * *",
			RetryBase: time.Second, RetryMax: time.Minute, KeepVersions: 3,
			Strict:      provider.StrictError,
			KeepActions: time.Hour},
		Fingerprint: "print", Wave: state.Wave{Epoch: 3, Priority: state.PriorityUserRepair,
			At: at(0), KeepTerminal: true},
		LastDeploy: at(time.Second), LastRepair: at(time.Minute), Turn: "turn",
		Releases: &[]state.Release{{Version: 3, At: at(0), Author: "ann", Message: "roll back"},
			{Version: 4, At: at(time.Second)}}}
}

// environmentsAreApart writes one record of each kind in one environment and looks for it in
// another.
func environmentsAreApart(f *fixture) {
	g := f.guard(lane)
	r := fresh(1)
	r.Generation, r.NextAt = 1, at(0)
	f.commit(state.Commit{Guard: g, Rows: []state.Row{r}, Plan: true,
		Env:        &state.Env{Name: env, Last: 1},
		Actions:    []state.Action{{ID: "1", Resource: r.ID, Finished: at(0)}},
		AddOutbox:  []state.Outbox{{ID: "o", Of: r.ID}},
		Parameters: []state.Parameter{{Name: "p"}}, Next: []resource.ID{r.ID}, SeenPlan: 1})
	f.ok(f.write(f.A, state.Commit{Version: &state.Version{Number: 1}}))
	f.ok(f.A.Pause(f.ctx, env, true, "a"))

	e, err := f.B.Env(f.ctx, other)
	f.ok(err)
	f.same(e, state.Env{Name: other}, "environment")
	versions, err := f.B.Versions(f.ctx, other)
	f.ok(err)
	f.same(len(versions), 0, "versions")
	agents, err := f.B.Agents(f.ctx, other)
	f.ok(err)
	f.same(agents["a"].Paused, false, "pause")
	leases, err := f.B.Leases(f.ctx, other)
	f.ok(err)
	f.same(len(leases), 0, "leases")
	rows, err := f.B.Rows(f.ctx, other, []resource.ID{r.ID})
	f.ok(err)
	more, err := f.B.AgentRows(f.ctx, other, lane, true)
	f.ok(err)
	scanned, err := f.B.ScanRows(f.ctx, other, "", 10)
	f.ok(err)
	f.same(len(rows)+len(more)+len(scanned), 0, "rows")
	s, err := f.B.Schedule(f.ctx, other)
	f.ok(err)
	f.same(s, state.Schedule{}, "schedule")
	due, next, err := f.B.Due(f.ctx, other, at(time.Hour), 10)
	f.ok(err)
	f.same(len(due) == 0 && next.IsZero(), true, "nothing is due")
	out, err := f.B.Outbox(f.ctx, other, 10)
	f.ok(err)
	f.same(len(out), 0, "outbox")
	ps, err := f.B.Parameters(f.ctx, other, state.ParameterQuery{})
	f.ok(err)
	f.same(len(ps), 0, "parameters")
	actions, err := f.B.Actions(f.ctx, other, state.ActionQuery{})
	f.ok(err)
	f.same(len(actions), 0, "actions")
	_, err = f.B.Commit(f.ctx, other, state.Commit{Guard: g})
	f.is(err, fault.Fenced, "a commit under the lease of another environment")
	n, err := f.B.DropActions(f.ctx, other, at(time.Hour))
	f.ok(err)
	f.same(n, 0, "dropped actions")
	f.same(f.row(r.ID).Rev, int64(1), "the row is still there")
}

func versionChecks() []check {
	return []check{
		{"WholeVersionComesBack", func(f *fixture) {
			v := state.Version{Number: 3, At: at(0), Resources: 2, Digest: "d",
				Chunks: []string{"c1", "c2"},
				Agents: []resource.Agent{wholeAgent()}, Sets: []string{"s"}, Base: 2, Pack: "p",
				Files: []string{"f"}, Places: []string{"all", "edit"},
				Contents: &state.Contents{By: "p", Sums: []byte{0, 1, 255}, Base: "b",
					More: []byte{2}, Less: []byte{3, 0}}}
			f.ok(f.write(f.A, state.Commit{Version: &v}))
			got, err := f.B.Versions(f.ctx, env, 3)
			f.ok(err)
			f.same(got, []state.Version{v}, "version")
		}},
		{"ExistingNumberConflicts", func(f *fixture) {
			f.ok(f.write(f.A, state.Commit{Version: &state.Version{Number: 1, Digest: "first"}}))
			f.is(f.write(f.B, state.Commit{Version: &state.Version{Number: 1, Digest: "second"}}),
				fault.Conflict, "the same number")
			got, err := f.A.Versions(f.ctx, env)
			f.ok(err)
			f.same(got, []state.Version{{Number: 1, Digest: "first"}}, "versions are never changed")
		}},
		{"ListsAscendingAndSome", func(f *fixture) {
			for _, n := range []int{10, 2, 1} {
				f.ok(f.write(f.A, state.Commit{Version: &state.Version{Number: n}}))
			}
			got, err := f.B.Versions(f.ctx, env)
			f.ok(err)
			f.same(got, []state.Version{{Number: 1}, {Number: 2}, {Number: 10}}, "all, ascending")
			got, err = f.B.Versions(f.ctx, env, 10, 7)
			f.ok(err)
			f.same(got, []state.Version{{Number: 10}}, "unknown ones are left out")
		}},
		{"DropForgetsAndMindsNoUnknown", func(f *fixture) {
			for n := range 3 {
				f.ok(f.write(f.A, state.Commit{Version: &state.Version{Number: n + 1}}))
			}
			f.ok(f.write(f.A, state.Commit{Forget: []int{1, 2, 99}}))
			got, err := f.B.Versions(f.ctx, env)
			f.ok(err)
			f.same(got, []state.Version{{Number: 3}}, "what is left")
		}},
	}
}

// wholeAgent returns an agent that has options of every kind of value that a document can contain.
func wholeAgent() resource.Agent {
	return resource.Agent{Name: "web/1", Transport: "ssh", Lanes: 4,
		Options: map[string]any{"host": "10.0.0.7", "port": int64(22), "ratio": 2.5,
			"deep":     []any{map[string]any{"k": nil}, true, int64(1) << 60},
			"password": resource.Secret{Source: "env:PASSWORD", Version: "v"}}}
}

func agentChecks() []check {
	return []check{
		{"WholeAgentComesBack", func(f *fixture) {
			a, b := wholeAgent(), resource.Agent{Name: "plain", Transport: "local", Lanes: 1}
			f.ok(f.write(f.A, state.Commit{Agents: []resource.Agent{a, b}}))
			got, err := f.B.Agents(f.ctx, env)
			f.ok(err)
			f.same(got, map[string]state.Agent{a.Name: {Agent: a}, b.Name: {Agent: b}}, "agents")
			got, err = f.B.Agents(f.ctx, env, "plain", "none", "plain")
			f.ok(err)
			f.same(got, map[string]state.Agent{b.Name: {Agent: b}}, "some agents")
		}},
		{"PutReplacesWholeAndKeepsPause", func(f *fixture) {
			f.ok(f.write(f.A, state.Commit{Agents: []resource.Agent{wholeAgent(), {Name: "kept"}}}))
			f.ok(f.A.Pause(f.ctx, env, true, "web/1"))
			now := resource.Agent{Name: "web/1", Transport: "local", Lanes: 1}
			f.ok(f.write(f.B, state.Commit{Agents: []resource.Agent{now}}))
			got, err := f.A.Agents(f.ctx, env)
			f.ok(err)
			f.same(got["web/1"], state.Agent{Agent: now, Paused: true},
				"the agent that was put again")
			f.same(got["kept"], state.Agent{Agent: resource.Agent{Name: "kept"}}, "the other")
		}},
		{"DropLeavesThePause", func(f *fixture) {
			f.ok(f.write(f.A, state.Commit{Agents: []resource.Agent{wholeAgent(),
				{Name: "paused", Transport: "local"}, {Name: "kept"}}}))
			f.ok(f.A.Pause(f.ctx, env, true, "paused"))
			f.ok(f.write(f.B, state.Commit{DropAgents: []string{"web/1", "paused", "unknown"}}))
			got, err := f.A.Agents(f.ctx, env)
			f.ok(err)
			f.same(got, map[string]state.Agent{"kept": {Agent: resource.Agent{Name: "kept"}},
				"paused": {Agent: resource.Agent{Name: "paused"}, Paused: true}},
				"agents that are left")
			f.ok(f.write(f.A, state.Commit{DropAgents: []string{"kept"},
				Agents: []resource.Agent{{Name: "kept", Transport: "ssh"}}}))
			got, err = f.B.Agents(f.ctx, env, "kept")
			f.ok(err)
			f.same(got["kept"].Transport, "ssh", "one that is dropped and written")
		}},
		{"PauseWaitsForTheAgent", func(f *fixture) {
			f.ok(f.A.Pause(f.ctx, env, true, "later", "never"))
			f.ok(f.write(f.B,
				state.Commit{Agents: []resource.Agent{{Name: "later", Transport: "local"}}}))
			got, err := f.A.Agents(f.ctx, env)
			f.ok(err)
			f.same(got["later"], state.Agent{Agent: resource.Agent{Name: "later",
				Transport: "local"}, Paused: true}, "paused before it came")
			f.ok(f.B.Pause(f.ctx, env, false, "later"))
			got, err = f.A.Agents(f.ctx, env)
			f.ok(err)
			f.same(got["later"].Paused, false, "resumed")
		}},
		{"PauseAndHaltGrowPlanSeq", func(f *fixture) {
			last := f.planSeq()
			for i, change := range []func() error{
				func() error { return f.A.Pause(f.ctx, env, true, "a") },
				func() error { return f.A.Pause(f.ctx, env, true, "a") },
				func() error { return f.A.Pause(f.ctx, env, false, "a", "b") },
				func() error { return f.A.Halt(f.ctx, env, true) },
				func() error { return f.A.Halt(f.ctx, env, false) },
			} {
				f.ok(change())
				now := f.planSeq()
				if now <= last {
					f.t.Errorf("change %d: PlanSeq %d after %d", i, now, last)
				}
				last = now
			}
		}},
		{"HaltShowsInEnvAndSchedule", func(f *fixture) {
			for _, halted := range []bool{true, false} {
				f.ok(f.A.Halt(f.ctx, env, halted))
				e, err := f.B.Env(f.ctx, env)
				f.ok(err)
				s, err := f.B.Schedule(f.ctx, env)
				f.ok(err)
				f.same([]any{e.Halted, s.Halted, s.PlanSeq}, []any{halted, halted, e.PlanSeq},
					"halted in both")
			}
		}},
	}
}

// staleEnvConflicts pins that an environment is written only if its stored revision is the one that
// was read.
func staleEnvConflicts(f *fixture) {
	first, err := f.putEnv(f.A, state.Env{Name: env, Last: 1})
	f.ok(err)
	second := first
	second.Last = 2
	second, err = f.putEnv(f.B, second)
	f.ok(err)
	for _, stale := range []int64{0, first.Rev, second.Rev + 1} {
		_, err = f.putEnv(f.A, state.Env{Name: env, Rev: stale, Last: 3})
		f.is(err, fault.Conflict, "a Rev that is not the stored one")
	}
	got, err := f.A.Env(f.ctx, env)
	f.ok(err)
	f.same(got, second, "after refused writes")
}
