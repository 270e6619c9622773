package deploytest

import (
	"fmt"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// changesAreLogged pins that a log of changes contains the written rows of every writer. A log
// that does not go back far enough must report this. The rule does not apply to a home without a
// log.
func changesAreLogged(f *fixture) {
	log, is := f.B.(state.ChangeLog)
	if !is {
		return
	}
	read := func(since int64, want ...resource.ID) state.Changed {
		f.t.Helper()
		c, err := log.Changed(f.ctx, env, since)
		f.ok(err)
		f.same(c.Known, true, fmt.Sprint("it is known since ", since))
		f.same(slices.Compact(slices.Sorted(slices.Values(c.IDs))), want, "the rows that were written")
		return c
	}
	none, err := log.Changed(f.ctx, env, 0)
	f.ok(err)
	f.same([]any{none.Known, none.Last}, []any{false, int64(0)}, "before any commit")
	g := f.guard(lane)
	f.put(g, freshRows(3)...)
	first, err := log.Changed(f.ctx, env, 0)
	f.ok(err)
	f.same(first.Known, false, "all rows may be new to a reader that has read none")
	at := read(first.Last).Last
	f.same(at, first.Last, "nothing was written")

	one := f.row(id(1))
	f.put(g, one)
	f.commit(state.Commit{Guard: g}) // without rows
	plan := f.planning(env)
	two, gone := f.row(id(2)), f.row(id(0))
	gone.Gone = true
	f.commit(state.Commit{Guard: plan, Plan: true, Rows: []state.Row{two, gone}})
	after := read(at, id(0), id(1), id(2)).Last
	f.same(after > at, true, "numbers grow")
	read(after)
	one = f.row(id(1))
	f.put(g, one)
	read(after, id(1))
	read(at, id(0), id(1), id(2))
	ahead, err := log.Changed(f.ctx, env, after+1000)
	f.ok(err)
	f.same(ahead.Known, false, "of a commit that never was")
	other, err := log.Changed(f.ctx, "another", after)
	f.ok(err)
	f.same([]any{other.Known, other.Last}, []any{false, int64(0)}, "of another environment")

	// A log is bounded: it returns either all rows written since, or that it does not know.
	const many = 1200 // more than the log of any home holds
	var rows []state.Row
	for n := range many {
		rows = append(rows, fresh(1000+n))
	}
	f.put(g, rows...)
	c, err := log.Changed(f.ctx, env, after)
	f.ok(err)
	f.same(c.Last > after, true, "the commit of many rows counts")
	f.same(!c.Known || len(c.IDs) == many+1, true, "known whole, or not at all")
}
