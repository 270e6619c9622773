package deploytest

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// kept returns the kept states of ids as the other process sees them, sorted.
func (f *fixture) kept(ids ...resource.ID) []state.Kept {
	f.t.Helper()
	out, err := f.B.Kept(f.ctx, env, ids)
	f.ok(err)
	slices.SortFunc(out, func(a, b state.Kept) int { return bytes.Compare([]byte(a.ID), []byte(b.ID)) })
	return out
}

// keeps stores states under a lease, as the call of a handler does: the running rows stay.
func (f *fixture) keeps(l state.Lease, states ...state.Kept) {
	f.t.Helper()
	_, err := f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(l), Keep: states,
		Next: []resource.ID{id(0)}, SeenPlan: -1})
	f.ok(err)
}

func keptChecks() []check {
	one := state.Kept{ID: id(0), Revision: "r1", Sealed: []byte{1, 0, 2}}
	two := state.Kept{ID: id(1), Revision: "r2", Sealed: []byte("two")}
	return []check{
		{"NoneAtFirst", func(f *fixture) {
			f.same(f.kept(id(0)), []state.Kept(nil), "kept")
			ids, err := f.A.KeptIDs(f.ctx, env)
			f.ok(err)
			f.same(len(ids), 0, "ids")
		}},
		{"ReadByTheOther", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			f.keeps(l, two, one)
			f.same(f.kept(id(1), id(2), id(0)), []state.Kept{one, two}, "those that are asked for")
			f.same(f.kept(id(1)), []state.Kept{two}, "one of them")
			ids, err := f.B.KeptIDs(f.ctx, env)
			f.ok(err)
			f.same(ids, []resource.ID{id(0), id(1)}, "sorted")
			ids, err = f.B.KeptIDs(f.ctx, other)
			f.ok(err)
			f.same(len(ids), 0, "of another environment")
		}},
		{"ReplacedWhole", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			f.keeps(l, one)
			again := state.Kept{ID: id(0), Revision: "r3", Sealed: []byte("x")}
			f.keeps(l, again)
			f.same(f.kept(id(0)), []state.Kept{again}, "the last one")
		}},
		{"Outputs", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			outputs := func(of ...resource.ID) map[resource.ID]string {
				got, err := f.B.KeptOutputs(f.ctx, env, of)
				f.ok(err)
				return got
			}
			f.same(len(outputs(id(0), id(1))), 0, "outputs at first")
			with := one
			with.Outputs = "r1"
			f.keeps(l, with, two)
			f.same(outputs(id(1), id(0), id(7)), map[resource.ID]string{id(0): "r1"}, "outputs")
			f.same(f.kept(id(0), id(1)), []state.Kept{with, two}, "states with them")
			with.Revision = "r3"
			f.keeps(l, with)
			f.same(outputs(id(0)), map[resource.ID]string{id(0): "r1"}, "another state, equal outputs")
			f.keeps(l, one)
			f.same(len(outputs(id(0))), 0, "outputs of a state without any")
			f.keeps(l, with)
			f.commit(state.Commit{Guard: guardOf(l), DropKept: []resource.ID{id(0)}})
			f.same(len(outputs(id(0))), 0, "outputs of a removed state")
		}},
		{"RunningStays", func(f *fixture) {
			f.commit(state.Commit{Guard: guardOf(f.lease(f.A, state.PlanKey, f.HolderA())),
				Rows: freshRows(2), Plan: true})
			l := f.lease(f.A, lane, f.HolderA())
			sched, err := f.A.Schedule(f.ctx, env)
			f.ok(err)
			done, err := f.A.Commit(f.ctx, env, state.Commit{Guard: guardOf(l),
				Next: []resource.ID{id(0), id(1)}, SeenPlan: sched.PlanSeq})
			f.ok(err)
			f.same(done.Started, true, "started")
			f.keeps(l, one)
			f.same(f.held(lane).Running, []resource.ID{id(0), id(1)}, "running")
		}},
		{"StaleHolderIsFenced", func(f *fixture) {
			old := f.lease(f.A, lane, f.HolderA())
			f.keeps(old, one)
			now, err := f.B.Acquire(f.ctx, env, lane, f.HolderB(), old.Until, at(3*time.Hour))
			f.ok(err)
			for name, c := range map[string]state.Commit{
				"a write":   {Keep: []state.Kept{{ID: id(0), Revision: "stale", Sealed: []byte("s")}}},
				"a removal": {DropKept: []resource.ID{id(0)}},
			} {
				c.Guard, c.Next, c.SeenPlan = guardOf(old), []resource.ID{id(0)}, -1
				_, err = f.A.Commit(f.ctx, env, c)
				f.is(err, fault.Fenced, name)
			}
			f.same(f.kept(id(0)), []state.Kept{one}, "as it was")
			_, err = f.B.Commit(f.ctx, env, state.Commit{Guard: guardOf(now), Keep: []state.Kept{two}})
			f.ok(err)
			f.same(f.kept(id(1)), []state.Kept{two}, "the new holder writes")
		}},
		{"RemovedWithResults", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			f.keeps(l, one, two)
			f.commit(state.Commit{Guard: guardOf(l), Rows: freshRows(1),
				DropKept: []resource.ID{id(0), id(7)}})
			f.same(f.kept(id(0), id(1)), []state.Kept{two}, "the other one stays")
			f.same(f.row(id(0)).Rev, int64(1), "the row")
		}},
		{"MovedInOneCommit", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			f.keeps(l, one)
			moved := state.Kept{ID: id(3), Revision: "r4", Sealed: []byte("again")}
			f.commit(state.Commit{Guard: guardOf(l), Keep: []state.Kept{moved},
				DropKept: []resource.ID{id(0), id(3)}})
			f.same(f.kept(id(0), id(3)), []state.Kept{moved}, "removals come first")
		}},
		{"Large", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			large := state.Kept{ID: id(0), Revision: "big", Sealed: noise(state.MaxKept + 1024)}
			f.keeps(l, large)
			got := f.kept(id(0))
			f.same(len(got) == 1 && bytes.Equal(got[0].Sealed, large.Sealed), true, "all bytes")
			f.keeps(l, one)
			f.same(f.kept(id(0)), []state.Kept{one}, "replaced by a small one")
			f.keeps(l, large)
			f.commit(state.Commit{Guard: guardOf(l), DropKept: []resource.ID{id(0)}})
			f.same(f.kept(id(0)), []state.Kept(nil), "removed")
		}},
		{"Many", func(f *fixture) {
			l := f.lease(f.A, lane, f.HolderA())
			var all []state.Kept
			var ids []resource.ID
			for i := range 230 {
				ids = append(ids, id(i))
				all = append(all, state.Kept{ID: id(i), Revision: fmt.Sprint(i), Sealed: noise(5000)})
			}
			f.commit(state.Commit{Guard: guardOf(l), Keep: all})
			f.same(len(f.kept(ids...)), len(ids), "all of them")
			f.commit(state.Commit{Guard: guardOf(l), DropKept: ids[1:]})
			f.same(len(f.kept(ids...)), 1, "one is left")
		}},
	}
}

// noise returns n bytes that hardly compress.
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
