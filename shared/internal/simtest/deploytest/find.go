package deploytest

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// foundRows pins that the pages of a query are the rows that match, in their order, each once, and
// that a page is short only at the end: after rows were written, changed by a result, moved to
// another agent's lane, removed and added again.
func foundRows(f *fixture) {
	r := rand.New(rand.NewPCG(1, 2))
	g := f.guard(lane)
	var rows []state.Row
	for i := range 60 {
		rows = append(rows, foundRow(r, i))
	}
	f.put(g, rows...)
	f.findAll()
	for i := range rows {
		if rows[i].Rev = 1; r.IntN(2) == 0 {
			anyVector(r, &rows[i])
		}
	}
	f.commit(state.Commit{Guard: g, Rows: rows})
	f.findAll()
	for i := range rows[:30] {
		row := &rows[i]
		row.Rev = 2
		switch r.IntN(3) {
		case 0:
			row.Gone = true
		case 1:
			row.Agent, row.Body = "elsewhere", bodyIn("late")
		default:
			anyVector(r, row)
		}
	}
	f.put(g, rows[:30]...)
	f.findAll()
	again := slices.DeleteFunc(slices.Clone(rows[:30]), func(r state.Row) bool { return !r.Gone })
	for i := range again {
		again[i].Gone, again[i].Rev = false, 0
	}
	f.put(g, again...)
	f.findAll()
}

// foundRow is a row of one of a few types, agents and sets.
func foundRow(r *rand.Rand, n int) state.Row {
	agents := []string{"web1", "web10", "a,b]", "ünï %_", `c\d`}
	agent := agents[r.IntN(len(agents))]
	id := resource.NewID([]string{"fs::File", "fs::FileX", "std::Null", "Svc"}[r.IntN(4)], agent,
		resource.Key{Name: "name", Value: fmt.Sprintf("/etc/Web%02d_%%", n)})
	row := fresh(n)
	row.ID, row.Agent = id, agent
	row.Body = bodyIn([]string{"", "", "site", "late"}[r.IntN(4)])
	anyVector(r, &row)
	return row
}

// bodyIn is the body of a resource of a set.
func bodyIn(set string) []byte {
	r := resource.Resource{ID: "fs::File[a,name=x]", Type: "fs::File", Agent: "a", Set: set}
	b, err := r.Encode()
	if err != nil {
		panic(err)
	}
	return b
}

// anyVector sets the parts of a row's state that decide its status.
func anyVector(r *rand.Rand, row *state.Row) {
	row.Orphaned = r.IntN(10) == 0
	row.Compliance = []state.Compliance{state.HasUpdate, state.Compliant,
		state.NonCompliant}[r.IntN(3)]
	row.Missing = [][]string{nil, nil, nil, {"parameter x"}}[r.IntN(4)]
	row.LastRun = []state.LastRun{state.RunNew, state.RunSuccess, state.RunFailed,
		state.RunSkipped}[r.IntN(4)]
	row.Blocked = []state.Blocked{state.NotBlocked, state.NotBlocked, state.BlockedTemp}[r.IntN(3)]
	row.BlockedBy = []resource.ID{"", "", "", id(1)}[r.IntN(4)]
	row.Reason = []string{"", "no room on the DISK", "it is gone"}[r.IntN(3)]
	if r.IntN(2) == 0 {
		row.Deployed = row.Hash
	}
	if r.IntN(4) > 0 {
		row.Ran = row.Hash
	}
}

// findAll compares the pages of many queries with all rows.
func (f *fixture) findAll() {
	f.t.Helper()
	c := &state.Client{State: f.B, Page: 50}
	var all []state.Row
	f.ok(c.EachRow(f.ctx, env, func(r *state.Row) error {
		all = append(all, *r)
		return nil
	}))
	for n, terms := range [][]string{
		nil, {"type=fs::File"}, {"type=Sv"}, {"agent=web1"}, {"agent=a,b]", "agent=ünï %_"},
		{"agent=nobody"}, {"status=failed"}, {"status=undefined"}, {"status=deployed", "status=orphaned"},
		{"status=skipped", "agent=web10", "type=std::Null"}, {"set=site"}, {"set="}, {"set=site", "set=late"},
		{"set=site", "set=", "set=nothing"}, {"set=late", "set=site", "reason~=disk", "agent=web1"},
		{"set=late", "status=available"}, {"set=nothing"}, {"set=site", "id~=web", "agent=web1"},
		{"set=site", "reason~=disk"}, {"set=", "reason~=gone", "status=failed"}, {"reason~="},
		{"reason~=", "reason~=is"}, {"reason~=nowhere"}, {"reason~=not known"}, {"compliance=non_compliant"},
		{"compliance=undefined", "compliance=compliant", "blocked=no"}, {"last_run=failed"},
		{"blocked=temporary", "agent=web1"}, {"reason~=disk"}, {"reason~=room", "reason~=DISK"},
		{"id~=web1"}, {"id~=WEB0", "id~=file"}, {"id~=_%"}, {"id~=x["}, {"id~=nowhere"}, {"id~=ü"},
		{"id~=web", "status=failed"}, {"id~=web1", "agent=web1", "type=fs::File"},
		{"fs::File[*"}, {"*web1*", "status=available"}, {"fs::File[web1,name=/etc/Web0?_%]"},
		{string(all[len(all)/2].ID)}, {"fs::Fi*", "type=fs::FileX"},
	} {
		filter, err := state.ParseFilter(terms)
		f.ok(err)
		order := []state.Order{state.ByID, state.ByIDDescending, state.WorstFirst}
		for _, o := range order {
			f.findPages(c, all, state.RowQuery{Filter: filter, Order: o, Limit: 3 + 4*(n%4),
				Count: []int{0, 3, 1000}[n%3], Without: []resource.ID{all[n%len(all)].ID}})
		}
	}
}

// findPages reads all pages of a query.
func (f *fixture) findPages(c *state.Client, all []state.Row, q state.RowQuery) {
	f.t.Helper()
	var want []state.Row
	for i := range all {
		if q.Filter.Live(&all[i], false) && !slices.Contains(q.Without, all[i].ID) {
			want = append(want, all[i])
		}
	}
	slices.SortFunc(want, func(a, b state.Row) int {
		return q.Order.Compare(state.PlaceOf(&a), state.PlaceOf(&b))
	})
	about := fmt.Sprintf("%q in order %d", q.Filter.Terms(), q.Order)
	var got []state.Row
	for {
		page, err := c.FindRows(f.ctx, env, q)
		f.ok(err)
		f.same([]any{page.Count, page.More},
			[]any{min(len(want), q.Count), q.Count > 0 && len(want) > q.Count}, "count of "+about)
		got = append(got, page.Rows...)
		if len(page.Rows) < q.Limit || len(got) > len(want) {
			break
		}
		at := state.PlaceOf(&page.Rows[len(page.Rows)-1])
		q.After = &at
	}
	if d := Diff(idsIn(want), idsIn(got)); d != "" {
		f.t.Errorf("pages of %s (-want +got):\n%s", about, d)
	}
	f.same(got, want, "rows of "+about)
}

// idsIn returns the ids of rows, in their order.
func idsIn(rows []state.Row) []resource.ID {
	out := make([]resource.ID, len(rows))
	for i := range rows {
		out[i] = rows[i].ID
	}
	return out
}
