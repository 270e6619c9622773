package deploytest

import (
	"fmt"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// acts stores ten actions in four commits, not in order of age, and returns them by number. Action
// n belongs to resource n%3 and ended n seconds after the start.
func (f *fixture) acts() []state.Action {
	f.t.Helper()
	g := f.guard(lane)
	all := make([]state.Action, 10)
	for n := range all {
		all[n] = state.Action{ID: fmt.Sprintf("a%02d", n), Resource: id(n % 3), Version: 1 + n/5,
			Action: state.ActionDeploy, Outcome: state.StatusDeployed,
			Change: diff.Created, Started: at(time.Duration(n)*time.Second - time.Millisecond),
			Finished: at(time.Duration(n) * time.Second), Pack: "p",
			Messages: []provider.Line{{At: at(0), Level: provider.LevelDebug,
				Msg: fmt.Sprintf("began %d", n)}}}
	}
	all[3].Action, all[3].Outcome = state.ActionRepair, state.StatusFailed
	all[3].Messages = append(all[3].Messages,
		provider.Line{At: at(1), Level: provider.LevelError, Msg: "it's 100% \"broken\""})
	all[0].Change, all[3].Change, all[5].Change = diff.NoChange, diff.NoChange, diff.NoChange
	all[7].Action = state.ActionDryRun
	all[7].Messages = append(all[7].Messages,
		provider.Line{At: at(1), Level: provider.LevelWarning, Msg: "slow"})
	for _, part := range [][]state.Action{all[4:7], all[7:], all[1:4], all[:1]} {
		f.commit(state.Commit{Guard: g, Actions: part})
	}
	return all
}

func actionChecks() []check {
	checks := []check{
		{"WholeActionComesBack", func(f *fixture) {
			a := state.Action{ID: "1", Resource: id(1), Version: 3, Action: state.ActionDeploy,
				Outcome: state.StatusFailed, Change: diff.Updated,
				Started: at(0), Finished: at(1),
				Changes: map[string]diff.Diff{"mode": {Current: "0600", Desired: "0644"},
					"extra": {Current: nil, Desired: true},
					"id":    {Current: int64(1<<53 + 1), Desired: []any{int64(1<<53 + 2), 0.5}}},
				Messages: []provider.Line{{At: at(2), Level: provider.LevelError,
					Msg: "<no & \n“such” file>", Kwargs: map[string]any{"path": "/x",
						"tries": []any{"a", true, int64(1<<53 + 1)}, "took": 1.5}}},
				Reason: "why", Stale: true, Pack: "pack"}
			f.commit(state.Commit{Guard: f.guard(lane), Actions: []state.Action{a}})
			got, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
			f.ok(err)
			f.same(got, []state.Action{a}, "action")
		}},
		{"PagesByBeforeAndAfter", func(f *fixture) {
			all := f.acts()
			var got []state.Action
			q := state.ActionQuery{Limit: 3}
			for {
				page, err := f.B.Actions(f.ctx, env, q)
				f.ok(err)
				if len(page) == 0 {
					break
				}
				got = append(got, page...)
				q.Before = page[len(page)-1].ID
			}
			f.same(names(got), backwards(0, 1, 2, 3, 4, 5, 6, 7, 8, 9),
				"all, newest first, each once")
			newer, err := f.B.Actions(f.ctx, env, state.ActionQuery{After: all[7].ID})
			f.ok(err)
			f.same(names(newer), backwards(8, 9), "only newer ones: what follows a log asks for")
		}},
		{"KeptOnceEach", func(f *fixture) {
			g := f.guard(lane)
			one, two, three := state.Action{ID: "1", Resource: id(1)},
				state.Action{ID: "2", Resource: id(2)}, state.Action{ID: "3", Resource: id(3)}
			f.commit(state.Commit{Guard: g, Actions: []state.Action{one, two}})
			f.commit(state.Commit{Guard: g, Actions: []state.Action{two, three}})
			got, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
			f.ok(err)
			f.same(got, []state.Action{three, two, one},
				"an action that is stored again, with others")
		}},
		{"StaleIsSaidAfterwards", func(f *fixture) {
			g := f.guard(lane)
			a := state.Action{ID: "1", Resource: id(1)}
			f.commit(state.Commit{Guard: g, Actions: []state.Action{a}})
			a.Stale = true
			f.commit(state.Commit{Guard: g, Actions: []state.Action{a}})
			got, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
			f.ok(err)
			f.same(got, []state.Action{a}, "an action stored again as stale is stale")
		}},
		{"DropForgetsWhatEndedBefore", dropActions},
	}
	return append(checks, filterChecks()...)
}

// filterChecks pins each filter of an ActionQuery, and that filters are combined by AND.
func filterChecks() []check {
	var checks []check
	for _, c := range []struct {
		name string
		q    state.ActionQuery
		want []int
	}{
		{"None", state.ActionQuery{}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"Resource", state.ActionQuery{Resource: id(1)}, []int{1, 4, 7}},
		{"UnknownResource", state.ActionQuery{Resource: "std::Null[a,name=n0000"}, nil},
		{"IDs", state.ActionQuery{IDs: []string{"a08", "a01", "a05", "zzz"}}, []int{1, 5, 8}},
		{"Version", state.ActionQuery{Version: 2}, []int{5, 6, 7, 8, 9}},
		{"Action", state.ActionQuery{Action: state.ActionRepair}, []int{3}},
		{"Outcome", state.ActionQuery{Outcome: state.StatusFailed}, []int{3}},
		{"After", state.ActionQuery{After: "a05"}, []int{6, 7, 8, 9}},
		{"Before", state.ActionQuery{Before: "a02"}, []int{0, 1}},
		{"Notable", state.ActionQuery{Notable: true}, []int{1, 2, 3, 4, 6, 7, 8, 9}},
		{"Between", state.ActionQuery{After: "a02", Before: "a05"}, []int{3, 4}},
		{"Since", state.ActionQuery{Since: at(8 * time.Second)}, []int{8, 9}},
		{"Until", state.ActionQuery{Until: at(2 * time.Second)}, []int{0, 1}},
		{"SinceUntil", state.ActionQuery{Since: at(3 * time.Second), Until: at(5 * time.Second)},
			[]int{3, 4}},
		{"Agent", state.ActionQuery{Agent: "a"}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"UnknownAgent", state.ActionQuery{Agent: "ab"}, nil},
		{"LevelAndTextOfOneLine", state.ActionQuery{Level: provider.LevelWarning, Text: "began"},
			nil},
		{"LevelDebug", state.ActionQuery{Level: provider.LevelDebug},
			[]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"LevelWarning", state.ActionQuery{Level: provider.LevelWarning}, []int{3, 7}},
		{"LevelError", state.ActionQuery{Level: provider.LevelError}, []int{3}},
		{"Text", state.ActionQuery{Text: "100% \"bro"}, []int{3}},
		{"TextOfMany", state.ActionQuery{Text: "began"}, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"Limit", state.ActionQuery{Limit: 2}, []int{8, 9}},
		{"LimitIsOfWhatMatches", state.ActionQuery{Resource: id(0), Limit: 3}, []int{3, 6, 9}},
		{"LimitWithText", state.ActionQuery{Text: "slow", Limit: 1}, []int{7}},
		{"AllNarrow", state.ActionQuery{Resource: id(1), Agent: "a", Version: 2,
			Action: state.ActionDryRun, Outcome: state.StatusDeployed, After: "a00", Before: "a09",
			Since: at(time.Second), Until: at(time.Minute), Level: provider.LevelWarning, Limit: 5},
			[]int{7}},
	} {
		checks = append(checks, check{"FilterBy" + c.name, func(f *fixture) {
			f.acts()
			got, err := f.B.Actions(f.ctx, env, c.q)
			f.ok(err)
			f.same(names(got), backwards(c.want...), "newest first")
		}})
	}
	return checks
}

func names(actions []state.Action) []string {
	var out []string
	for i := range actions {
		out = append(out, actions[i].ID)
	}
	return out
}

// backwards returns the ids of actions by their numbers, the last first.
func backwards(numbers ...int) []string {
	var out []string
	for _, n := range slices.Backward(numbers) {
		out = append(out, fmt.Sprintf("a%02d", n))
	}
	return out
}

func parameterChecks() []check {
	p := func(name string, of resource.ID) state.Parameter {
		return state.Parameter{Name: name, Of: of, Value: "value\n“" + name + "”", Source: "user",
			Updated: at(0)}
	}
	a, b, fact1, fact2, fact3 := p("a", ""), p("b", ""), p("a", id(1)), p("b", id(1)), p("a", id(2))
	checks := []check{
		{"WrittenWholeAndReplaced", func(f *fixture) {
			f.ok(f.write(f.A, state.Commit{Parameters: []state.Parameter{a, b}}))
			now := state.Parameter{Name: "a", Value: "", Source: "fact", Updated: at(1)}
			f.ok(f.write(f.B, state.Commit{Parameters: []state.Parameter{now}}))
			got, err := f.A.Parameters(f.ctx, env, state.ParameterQuery{})
			f.ok(err)
			f.same(got, []state.Parameter{now, b}, "parameters")
		}},
		{"DeletedByKey", func(f *fixture) {
			f.ok(f.write(f.A, state.Commit{Parameters: []state.Parameter{a, b, fact1, fact2}}))
			f.ok(f.write(f.A, state.Commit{DropParameters: []state.ParameterKey{{Name: "a"},
				{Name: "b", Of: id(1)}, {Name: "none"}}}))
			left, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{})
			f.ok(err)
			facts, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{Facts: true})
			f.ok(err)
			f.same(append(left, facts...), []state.Parameter{b, fact1}, "what is left")
		}},
		{"CommitWritesThem", func(f *fixture) {
			g := f.guard(lane)
			f.commit(state.Commit{Guard: g, Parameters: []state.Parameter{fact1}})
			now := fact1
			now.Value = "new"
			f.commit(state.Commit{Guard: g, Parameters: []state.Parameter{now}})
			got, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{Facts: true})
			f.ok(err)
			f.same(got, []state.Parameter{now}, "facts")
		}},
	}
	checks = append(checks, check{"FactsKeepTheirJSON", func(f *fixture) {
		typed, text := fact1, fact2
		typed.Value, typed.JSON = `{"a":[1,2.0,null,true,{"secret":"env:X"}],"b":"\u0000<&\u2028"}`, true
		text.Value = `{"a":1}` // a text that looks like JSON
		f.ok(f.write(f.A, state.Commit{Parameters: []state.Parameter{typed, text}}))
		got, err := f.B.Parameters(f.ctx, env, state.ParameterQuery{Facts: true})
		f.ok(err)
		f.same(got, []state.Parameter{typed, text}, "facts")
		again := fact1 // a text
		f.ok(f.write(f.B, state.Commit{Parameters: []state.Parameter{again}}))
		got, err = f.A.Parameters(f.ctx, env, state.ParameterQuery{Facts: true})
		f.ok(err)
		f.same(got, []state.Parameter{again, text}, "facts after one became a text")
	}})
	for _, c := range []struct {
		name string
		q    state.ParameterQuery
		want []state.Parameter
	}{
		{"Parameters", state.ParameterQuery{}, []state.Parameter{a, b}},
		{"Facts", state.ParameterQuery{Facts: true}, []state.Parameter{fact1, fact2, fact3}},
		{"FactsOf", state.ParameterQuery{Facts: true, Of: id(1)}, []state.Parameter{fact1, fact2}},
		{"Keys", state.ParameterQuery{Keys: []state.ParameterKey{{Name: "a", Of: id(2)},
			{Name: "none"}, {Name: "b"}, {Name: "a"}}}, []state.Parameter{a, b, fact3}},
	} {
		checks = append(checks, check{"Query" + c.name, func(f *fixture) {
			f.ok(f.write(f.A,
				state.Commit{Parameters: []state.Parameter{fact3, b, fact2, a, fact1}}))
			got, err := f.B.Parameters(f.ctx, env, c.q)
			f.ok(err)
			f.same(got, c.want, "sorted by Of, then Name")
		}})
	}
	return checks
}

// dropActions pins that actions are removed by their end time, even if they share a commit with
// later ones.
func dropActions(f *fixture) {
	all := f.acts()
	for _, c := range []struct {
		reason string
		before time.Time
		n      int
		left   []int
	}{
		{"none that old", at(0), 0, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		{"some of one commit", all[2].Finished, 2, []int{2, 3, 4, 5, 6, 7, 8, 9}},
		{"the rest of it and another", all[8].Finished, 6, []int{8, 9}},
		{"all", at(time.Hour), 2, nil},
		{"none is left", at(time.Hour), 0, nil},
	} {
		n, err := f.A.DropActions(f.ctx, env, c.before)
		f.ok(err)
		f.same(n, c.n, c.reason+": how many")
		got, err := f.B.Actions(f.ctx, env, state.ActionQuery{})
		f.ok(err)
		f.same(names(got), backwards(c.left...), c.reason)
	}
}
