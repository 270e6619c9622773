package deploytest

import (
	"fmt"
	"sync/atomic"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const racers = 8

// raceChecks pins that one of several concurrent callers wins, and that the others get an error or
// a conflict.
func raceChecks() []check {
	return []check{
		{"Lease", func(f *fixture) {
			for round := range 5 {
				key := fmt.Sprintf("a/%d", round)
				f.oneWins(fault.Busy, func(i int, s state.State) error {
					holder := f.HolderA
					if i%2 == 1 {
						holder = f.HolderB
					}
					_, err := s.Acquire(f.ctx, env, key, holder(), epoch, at(time.Hour))
					return err
				})
			}
		}},
		{"Env", func(f *fixture) {
			f.planning(env)
			for round := range 5 {
				f.oneWins(fault.Conflict, func(i int, s state.State) error {
					return f.write(s,
						state.Commit{Env: &state.Env{Name: env, Rev: int64(round), Last: i}})
				})
			}
		}},
		{"Version", func(f *fixture) {
			f.planning(env)
			for round := range 5 {
				f.oneWins(fault.Conflict, func(i int, s state.State) error {
					return f.write(s,
						state.Commit{Version: &state.Version{Number: round + 1, Resources: i}})
				})
			}
		}},
		{"NewRow", func(f *fixture) { f.rowRace(func(r *state.Row) { r.Rev = 0 }) }},
		{"Row", func(f *fixture) {
			f.put(f.guard(lane), fresh(0))
			f.rowRace(func(r *state.Row) { r.Rev = 1 })
		}},
		{"CommitsOfManyLanes", manyLanes},
		{"NothingStartsAfterPause", nothingStartsAfterPause},
		{"ScheduleIsOfOneInstant", scheduleOfOneInstant},
	}
}

// oneWins calls f concurrently; one call must succeed and the others fail with kind.
func (f *fixture) oneWins(kind fault.Kind, call func(i int, s state.State) error) {
	f.t.Helper()
	errs := make([]error, racers)
	f.together(racers, func(i int, s state.State) { errs[i] = call(i, s) })
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, kind) {
			f.t.Errorf("a loser got %v, want kind %q", err, kind)
		}
	}
	f.same(won, 1, "how many won")
}

// rowRace writes one row concurrently at the same revision. The winner's row is stored, and the
// other callers get it back as a conflict.
func (f *fixture) rowRace(at func(r *state.Row)) {
	outs, errs := make([]state.Committed, racers), make([]error, racers)
	guards := make([]state.Guard, racers)
	for i := range guards {
		guards[i] = f.guard(fmt.Sprintf("r/%d", i))
	}
	f.together(racers, func(i int, s state.State) {
		r := fresh(0)
		at(&r)
		r.Reason = fmt.Sprint(i)
		outs[i], errs[i] = s.Commit(f.ctx, env,
			state.Commit{Guard: guards[i], Rows: []state.Row{r}})
	})
	now, won := f.row(id(0)), 0
	for i, out := range outs {
		f.ok(errs[i])
		if len(out.Conflicts) == 0 {
			won++
			f.same(now.Reason, fmt.Sprint(i), "the row is the winner's")
			continue
		}
		f.same(out.Conflicts, []state.Row{now}, "losers get the row as it is now")
	}
	f.same(won, 1, "how many won")
}

// manyLanes commits concurrently from many lanes, and then reads all results.
func manyLanes(f *fixture) {
	const commits, rows = 6, 5
	guards := make([]state.Guard, racers)
	for i := range guards {
		guards[i] = f.guard(fmt.Sprintf("a/%d", i))
	}
	errs := make([]error, racers)
	f.together(racers, func(i int, s state.State) {
		for n := range commits {
			c := state.Commit{Guard: guards[i], Plan: true,
				Actions: []state.Action{{ID: fmt.Sprintf("%d-%d", i, n), Resource: id(n)}}}
			for k := range rows {
				r := fresh((i*commits+n)*rows + k)
				r.Agent, r.Generation = guards[i].Key, 1
				c.Rows = append(c.Rows, r)
			}
			out, err := s.Commit(f.ctx, env, c)
			if err == nil && len(out.Conflicts) > 0 {
				err = fmt.Errorf("conflicts: %+v", out.Conflicts)
			}
			if err != nil {
				errs[i] = err
				return
			}
		}
	})
	for _, err := range errs {
		f.ok(err)
	}
	s, err := f.B.Schedule(f.ctx, env)
	f.ok(err)
	f.same(len(s.Tickets), racers*commits*rows, "tickets")
	f.same(s.PlanSeq >= racers*commits, true, "each plan counted, by a page or more")
	counts, err := f.A.Counts(f.ctx, env)
	f.ok(err)
	f.same(nonZero(counts), map[state.Status]int{state.StatusAvailable: racers * commits * rows},
		"counts")
	actions, err := f.A.Actions(f.ctx, env, state.ActionQuery{})
	f.ok(err)
	f.same(len(actions), racers*commits, "actions")
}

// nothingStartsAfterPause pauses while workers claim as fast as they can. A claim that begins after
// Pause has returned is refused, whatever schedule the worker has read.
func nothingStartsAfterPause(f *fixture) {
	guards, agents := make([]state.Guard, racers), make([]string, racers)
	for i := range guards {
		agents[i] = fmt.Sprintf("a%d", i)
		guards[i] = f.guard(agents[i])
	}
	var paused atomic.Bool
	errs := make([]error, racers)
	f.together(racers, func(i int, s state.State) {
		if i == 0 {
			errs[i] = s.Pause(f.ctx, env, true, agents...)
			paused.Store(true)
			return
		}
		for range 50 {
			before := paused.Load()
			e, err := s.Env(f.ctx, env)
			if err != nil {
				errs[i] = err
				return
			}
			out, err := s.Commit(f.ctx, env,
				state.Commit{Guard: guards[i], Next: []resource.ID{id(i)}, SeenPlan: e.PlanSeq})
			if err == nil && before && out.Started {
				err = fmt.Errorf("agent %d started after the pause", i)
			}
			if err != nil || out.Paused {
				errs[i] = err
				return
			}
		}
	})
	for _, err := range errs {
		f.ok(err)
	}
}

// scheduleOfOneInstant moves the only ticket between two rows in single commits. Concurrent readers
// must always see exactly one ticket.
func scheduleOfOneInstant(f *fixture) {
	const moves = 30
	g := f.guard(lane)
	rows := freshRows(2)
	rows[0].Generation = 1
	f.put(g, rows...)
	errs := make([]error, 4)
	f.together(4, func(i int, s state.State) {
		for n := range moves {
			if i == 0 {
				c := state.Commit{Guard: g, Plan: true, Rows: freshRows(2)}
				for k := range c.Rows {
					c.Rows[k].Rev, c.Rows[k].Generation = int64(n+1), int64((n+k+1)%2)
				}
				if _, err := s.Commit(f.ctx, env, c); err != nil {
					errs[i] = err
					return
				}
				continue
			}
			sched, err := s.Schedule(f.ctx, env)
			if err == nil && len(sched.Tickets) != 1 {
				err = fmt.Errorf("%d tickets are seen at PlanSeq %d, want 1", len(sched.Tickets),
					sched.PlanSeq)
			}
			if err != nil {
				errs[i] = err
				return
			}
		}
	})
	for _, err := range errs {
		f.ok(err)
	}
}
