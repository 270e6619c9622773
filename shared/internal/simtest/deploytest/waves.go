package deploytest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// wave puts two rows each into lanes a/0 and b/0, and begins a check of everything.
func (f *fixture) wave(epoch int64) (a, b state.Guard) {
	f.t.Helper()
	a, b = f.guard("a"), f.guard("b")
	rows := freshRows(4)
	rows[2].Agent, rows[3].Agent = "b", "b"
	f.put(a, rows...)
	f.beginWave(epoch)
	return a, b
}

func (f *fixture) beginWave(epoch int64) {
	f.t.Helper()
	e, err := f.A.Env(f.ctx, env)
	f.ok(err)
	e.Wave = state.Wave{Epoch: epoch, Priority: state.PriorityUserRepair, At: at(0)}
	_, err = f.putEnv(f.A, e)
	f.ok(err)
}

// unfinished returns the Unfinished lanes of the schedule, with sorted ids.
func (f *fixture) unfinished() map[string][]resource.ID {
	f.t.Helper()
	s, err := f.B.Schedule(f.ctx, env)
	f.ok(err)
	for _, ids := range s.Unfinished {
		slices.Sort(ids)
	}
	return s.Unfinished
}

func waveChecks() []check {
	none := []resource.ID{}
	return []check{
		{"NoWaveNothingUnfinished", func(f *fixture) {
			f.put(f.guard(lane), freshRows(1)...)
			f.same(len(f.unfinished()), 0, "there was no wave")
		}},
		{"EveryLaneWithRowsIsUnfinished", func(f *fixture) {
			f.wave(1)
			f.same(f.unfinished(), map[string][]resource.ID{"a": none, "b": none}, "lanes")
		}},
		{"OrphansAreNotWaitedFor", func(f *fixture) {
			rows := freshRows(4)
			rows[2].Agent, rows[3].Agent = "b", "b"
			for i := 1; i < 4; i++ {
				rows[i].Orphaned = true
			}
			f.put(f.guard("a"), rows...)
			f.beginWave(1)
			f.same(f.unfinished(), map[string][]resource.ID{"a": none},
				"a lane in which all rows are orphaned has nothing to check")
			back := f.row(id(2))
			back.Orphaned = false
			f.put(f.guard("b"), back)
			f.same(f.unfinished(), map[string][]resource.ID{"a": none, "b": none},
				"one came back")
		}},
		{"CheckedShows", func(f *fixture) {
			a, b := f.wave(1)
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(1)}, Epoch: 1})
			f.commit(state.Commit{Guard: b, Checked: []resource.ID{id(2)}, Epoch: 1})
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(0), id(1)}, Epoch: 1})
			f.same(f.unfinished(), map[string][]resource.ID{"a": {id(0), id(1)}, "b": {id(2)}},
				"each once")
			f.same(f.row(id(0)).Rev, int64(1), "a check is not a write of the row")
		}},
		{"CheckedInManyLanes", func(f *fixture) {
			const n = 105 // more than one read returns
			g := f.guard(lane)
			rows := freshRows(n)
			for i := range rows {
				rows[i].Agent = fmt.Sprintf("agent%d", i)
			}
			f.put(g, rows...)
			f.beginWave(1)
			want := map[string][]resource.ID{}
			for i := range rows {
				want[rows[i].Agent] = none
			}
			for _, i := range []int{3, 103} {
				f.commit(state.Commit{Guard: f.guard(rows[i].Agent),
					Checked: []resource.ID{rows[i].ID}, Epoch: 1})
				want[rows[i].Agent] = []resource.ID{rows[i].ID}
			}
			f.commit(state.Commit{Guard: f.guard(rows[5].Agent), WaveDone: 1})
			delete(want, rows[5].Agent)
			f.same(f.unfinished(), want, "lanes")
		}},
		{"CheckedWaitsForItsRow", func(f *fixture) {
			a, _ := f.wave(1)
			r := f.row(id(0))
			f.put(a, r)
			r.Checked = 1
			out := f.commit(state.Commit{Guard: a, Rows: []state.Row{r},
				Checked: []resource.ID{id(0)}, Epoch: 1})
			f.same(len(out.Conflicts), 1, "the row conflicts")
			f.same(f.unfinished()["a"], none, "what the check led to is not recorded yet")
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(0)}, Epoch: 1})
			f.same(f.unfinished()["a"], []resource.ID{id(0)},
				"a check that is to write nothing counts though the row has changed")
		}},
		{"WaveDoneFinishesTheLane", func(f *fixture) {
			a, b := f.wave(1)
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(0)}, Epoch: 1, WaveDone: 1})
			f.same(f.unfinished(), map[string][]resource.ID{"b": none}, "one lane left")
			f.same(f.held("a").Wave, int64(1), "the lease says so")
			f.commit(state.Commit{Guard: b, WaveDone: 1})
			f.same(len(f.unfinished()), 0, "the wave is finished")
		}},
		{"NextWaveBeginsAnew", func(f *fixture) {
			a, b := f.wave(1)
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(0), id(1)}, Epoch: 1,
				WaveDone: 1})
			// overtaken by the next check of everything
			f.commit(state.Commit{Guard: b, Checked: []resource.ID{id(2)}, Epoch: 1})
			f.beginWave(2)
			f.same(f.unfinished(), map[string][]resource.ID{"a": none, "b": none},
				"checks of the wave before do not count")
			f.commit(state.Commit{Guard: a, Checked: []resource.ID{id(1)}, Epoch: 1})
			f.same(f.unfinished()["a"], none, "nor do late ones")
			f.commit(state.Commit{Guard: a, WaveDone: 2})
			f.commit(state.Commit{Guard: a, WaveDone: 1})
			f.same(f.held("a").Wave, int64(2), "a late WaveDone takes nothing back")
			f.commit(state.Commit{Guard: b, WaveDone: 1})
			f.same(f.unfinished(), map[string][]resource.ID{"b": none},
				"one that finishes the wave before")
		}},
		{"WaveOutlivesTheHolder", func(f *fixture) {
			l := f.lease(f.A, "a", f.HolderA())
			f.commit(state.Commit{Guard: guardOf(l), WaveDone: 3})
			f.ok(f.A.Release(f.ctx, env, l))
			f.same(f.held("a").Wave, int64(3), "released")
			f.same(f.lease(f.B, "a", f.HolderB()).Wave, int64(3), "taken again")
		}},
		{"EmptyLanesAreNotWaitedFor", func(f *fixture) {
			_, b := f.wave(1)
			f.lease(f.A, "c", f.HolderA())
			f.lease(f.A, "pla", f.HolderA())
			f.same(len(f.unfinished()), 2, "a lease makes no lane")
			moved, gone := f.row(id(2)), f.row(id(3))
			moved.Agent, gone.Gone = "a", true
			f.put(b, moved, gone)
			f.same(f.unfinished(), map[string][]resource.ID{"a": none},
				"a lane that lost all its rows")
		}},
	}
}

func followChecks() []check {
	entry := func(n string, d time.Duration) state.Outbox {
		return state.Outbox{ID: n, Kind: state.OutboxRecovered, Of: id(1), To: id(2), At: at(d),
			Priority: state.PriorityNewVersion, Ticket: 7}
	}
	return []check{
		{"OutboxIsOldestFirst", func(f *fixture) {
			g := f.guard(lane)
			one, two, three := entry("1", 1), entry("2", 2), entry("3", 3)
			f.commit(state.Commit{Guard: g, AddOutbox: []state.Outbox{two, one}})
			f.commit(state.Commit{Guard: g, AddOutbox: []state.Outbox{three}})
			got, err := f.B.Outbox(f.ctx, env, 10)
			f.ok(err)
			f.same(got, []state.Outbox{one, two, three}, "all")
			got, err = f.B.Outbox(f.ctx, env, 2)
			f.ok(err)
			f.same(got, []state.Outbox{one, two}, "no more than the limit")
		}},
		{"OutboxDrops", func(f *fixture) {
			g := f.guard(lane)
			f.commit(state.Commit{Guard: g,
				AddOutbox: []state.Outbox{entry("1", 1), entry("2", 2), entry("3", 3)}})
			f.commit(state.Commit{Guard: g, DropOutbox: []string{"1", "3", "unknown"},
				AddOutbox: []state.Outbox{entry("4", 4)}})
			got, err := f.B.Outbox(f.ctx, env, 10)
			f.ok(err)
			f.same(got, []state.Outbox{entry("2", 2), entry("4", 4)}, "what is left")
		}},
		{"DropsWaitForAllRows", func(f *fixture) {
			g, other := f.guard(lane), f.guard("a/1")
			f.put(g, freshRows(2)...)
			read := []state.Row{f.row(id(0)), f.row(id(1))}
			f.commit(state.Commit{Guard: g, AddOutbox: []state.Outbox{entry("1", 1)}})
			f.put(other, read[1])
			c := state.Commit{Guard: g, Rows: read,
				AddOutbox:  []state.Outbox{entry("2", 2), entry("3", 3)},
				DropOutbox: []string{"1", "3"}}
			f.same(len(f.commit(c).Conflicts), 1, "one conflicts")
			got, err := f.B.Outbox(f.ctx, env, 10)
			f.ok(err)
			f.same(got, []state.Outbox{entry("1", 1), entry("2", 2), entry("3", 3)},
				"what they ask for is not all written")
			c.Rows = []state.Row{f.row(id(1))}
			f.same(len(f.commit(c).Conflicts), 0, "nothing conflicts")
			got, err = f.B.Outbox(f.ctx, env, 10)
			f.ok(err)
			f.same(got, []state.Outbox{entry("2", 2)},
				"now they are dropped, and one that is added at once is never there")
		}},
		{"ManyFollow", func(f *fixture) {
			var add []state.Outbox
			var drop []string
			for i := range 1000 {
				o := entry(strings.Repeat("x", 30)+string(id(i)), time.Duration(i))
				add, drop = append(add, o), append(drop, o.ID)
			}
			g := f.guard(lane)
			f.commit(state.Commit{Guard: g, AddOutbox: add})
			got, err := f.B.Outbox(f.ctx, env, 2000)
			f.ok(err)
			f.same(got, add, "all, oldest first")
			f.commit(state.Commit{Guard: g, DropOutbox: drop})
			got, err = f.B.Outbox(f.ctx, env, 1)
			f.ok(err)
			f.same(len(got), 0, "none is left")
		}},
	}
}
