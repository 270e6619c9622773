package deploytest

import (
	"cmp"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

func tallyChecks() []check {
	return []check{{"Counts", tallyCounts}, {"RowsWith", rowsWithStatus}}
}

// tallies returns the counters of the environment, sorted. They have to agree with the rows.
func (f *fixture) tallies(of state.Tallier) []state.Tally {
	f.t.Helper()
	got, err := of.Tally(f.ctx, env)
	f.ok(err)
	order := func(a, b state.Tally) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Type, b.Type),
			cmp.Compare(a.Status, b.Status))
	}
	slices.SortFunc(got, order)
	rows, err := f.A.ScanRows(f.ctx, env, "", 1000)
	f.ok(err)
	counts := map[state.Tally]int{}
	for i := range rows {
		counts[state.Tally{Agent: rows[i].Agent, Type: rows[i].ID.Type(), Status: rows[i].Status()}]++
	}
	var want []state.Tally
	for t, n := range counts {
		t.Count = n
		want = append(want, t)
	}
	slices.SortFunc(want, order)
	f.same(got, want, "counters of rows")
	return got
}

// typed returns a new row of a type and an agent.
func typed(kind, agent string, n int) state.Row {
	r := fresh(n)
	r.ID = resource.NewID(kind, agent, resource.Key{Name: "name", Value: string(r.ID)})
	r.Agent = agent
	return r
}

// tallyCounts pins that counters agree with the rows after each way of writing them.
func tallyCounts(f *fixture) {
	of, is := f.A.(state.Tallier)
	if !is {
		f.t.Skip("this state keeps no counters")
	}
	f.same(f.tallies(of), []state.Tally(nil), "an empty environment")
	plan := f.planning(env)
	rows := []state.Row{typed("t::One", "a", 1), typed("t::One", "a", 2), typed("t::Two", "a", 3),
		typed("t::One", "b", 4)}
	f.commit(state.Commit{Guard: plan, Plan: true, Rows: rows})
	f.same(len(f.tallies(of)), 3, "two types of one agent, and one of another")
	failed := f.row(rows[0].ID)
	failed.Ran, failed.LastRun, failed.Compliance = failed.Hash, state.RunFailed, state.NonCompliant
	f.commit(state.Commit{Guard: f.guard(lane), Rows: []state.Row{failed}})
	f.same(len(f.tallies(of)), 4, "one has failed")
	moved := f.row(rows[2].ID)
	moved.Agent = "b"
	f.commit(state.Commit{Guard: plan, Plan: true, Rows: []state.Row{moved}})
	f.tallies(of)
	gone := f.row(rows[0].ID)
	gone.Gone = true
	f.commit(state.Commit{Guard: plan, Plan: true, Rows: []state.Row{gone}})
	f.tallies(of)
	if b, is := f.B.(state.Tallier); is {
		f.tallies(b)
	}
}

// rowsWithStatus pins that rows are found by their status, in pages.
func rowsWithStatus(f *fixture) {
	of, is := f.A.(state.Tallier)
	if !is {
		f.t.Skip("this state does not find rows by status")
	}
	plan := f.planning(env)
	var rows []state.Row
	for n := range 12 {
		r := typed("t::One", []string{"a", "b", "c"}[n%3], n)
		r.Ran = r.Hash
		switch n % 4 {
		case 0:
			r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant
		case 1:
			r.Blocked = state.BlockedTemp
		case 2:
			r.Compliance, r.Deployed = state.Compliant, r.Hash
		}
		rows = append(rows, r)
	}
	f.commit(state.Commit{Guard: plan, Plan: true, Rows: rows})
	for _, status := range []state.Status{state.StatusFailed, state.StatusSkipped,
		state.StatusDeployed, state.StatusAvailable, state.StatusUndefined} {
		var want, got []resource.ID
		for i := range rows {
			if rows[i].Status() == status {
				want = append(want, rows[i].ID)
			}
		}
		slices.Sort(want)
		for after, limit := resource.ID(""), 2; ; {
			page, err := of.RowsWith(f.ctx, env, status, after, limit)
			f.ok(err)
			for i := range page {
				f.same(page[i].Status(), status, "its status")
				got = append(got, page[i].ID)
			}
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].ID
		}
		f.same(got, want, "rows that are "+string(status))
	}
	other, err := of.RowsWith(f.ctx, other, state.StatusFailed, "", 10)
	f.ok(err)
	f.same(len(other), 0, "in another environment")
}
