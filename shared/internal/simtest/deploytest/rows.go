package deploytest

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

func rowChecks() []check {
	return []check{
		{"WholeRowComesBack", func(f *fixture) {
			r, plain := full(1), state.Row{ID: id(2), Intent: state.Intent{Agent: lane}}
			f.put(f.guard(lane), r, plain)
			r.Rev, plain.Rev = 1, 1
			rows, err := f.B.Rows(f.ctx, env, []resource.ID{r.ID, plain.ID})
			f.ok(err)
			f.same(byID(rows), []state.Row{r, plain}, "by id")
			rows, err = f.B.AgentRows(f.ctx, env, lane, true)
			f.ok(err)
			f.same(byID(rows), []state.Row{r, plain}, "by lane")
			rows, err = f.B.ScanRows(f.ctx, env, "", 10)
			f.ok(err)
			f.same(rows, []state.Row{r, plain}, "by scan")
		}},
		{"LooksAsItIsAsked", looksAsItIsAsked},
		{"ChangesAreLogged", changesAreLogged},
		{"EveryFieldComesBack", everyFieldComesBack},
		{"AnyIDIsKept", anyIDIsKept},
		{"UnknownIDsAreLeftOut", func(f *fixture) {
			f.put(f.guard(lane), freshRows(3)...)
			rows, err := f.B.Rows(f.ctx, env, []resource.ID{id(2), id(99), id(0)})
			f.ok(err)
			f.same(idsOf(rows), []resource.ID{id(0), id(2)}, "known ones")
			rows, err = f.B.Rows(f.ctx, env, nil)
			f.ok(err)
			f.same(len(rows), 0, "of no ids")
		}},
		{"RevGrowsWithEveryWrite", func(f *fixture) {
			g := f.guard(lane)
			r := fresh(1)
			for want := int64(1); want < 4; want++ {
				f.put(g, r)
				r = f.row(r.ID)
				f.same(r.Rev, want, "Rev")
			}
		}},
		{"WrittenWhole", func(f *fixture) {
			g := f.guard(lane)
			f.put(g, full(1))
			r := fresh(1)
			r.Rev, r.Body, r.Agent = 1, []byte("another body"), "b"
			f.commit(state.Commit{Guard: g, Rows: []state.Row{r}, Plan: true})
			r.Rev = 2
			f.same(f.row(r.ID), r, "nothing of the row before is left")
		}},
		{"BodyIsWrittenOnlyWithPlan", func(f *fixture) {
			g := f.guard(lane)
			r := fresh(1)
			f.put(g, r)
			want := r.Body
			r.Rev, r.Body, r.Reason = 1, nil, "it failed"
			f.commit(state.Commit{Guard: g, Rows: []state.Row{r}})
			r.Rev, r.Body = 2, want
			f.same(f.row(r.ID), r, "a result keeps the body")
		}},
		{"ConflictsAreReturnedWhileOthersApply", conflictsAreReturned},
		{"GoneRemoves", goneRemoves},
		{"ComesBackAsAnother", comesBackAsAnother},
	}
}

// everyFieldComesBack writes one row for each field of a row, with only that field set. The fields
// come from the type by reflection, so that no field can be forgotten.
func everyFieldComesBack(f *fixture) {
	whole, want := reflect.ValueOf(full(0)), []state.Row{}
	for i, field := range reflect.VisibleFields(whole.Type()) {
		if field.Anonymous || slices.Contains([]string{"ID", "Rev", "Lane", "Gone"}, field.Name) {
			continue // ID, Rev and Lane are in every row; Gone is not stored
		}
		if whole.FieldByIndex(field.Index).IsZero() {
			f.t.Errorf("full sets no %s; set one", field.Name)
		}
		r := state.Row{ID: id(i), Intent: state.Intent{Agent: lane}}
		reflect.ValueOf(&r).Elem().FieldByIndex(field.Index).Set(whole.FieldByIndex(field.Index))
		want = append(want, r)
	}
	f.put(f.guard(lane), want...)
	for i := range want {
		want[i].Rev = 1
	}
	got, err := f.B.ScanRows(f.ctx, env, "", len(want))
	f.ok(err)
	f.same(got, byID(want), "by scan")
	got, err = f.B.AgentRows(f.ctx, env, lane, true)
	f.ok(err)
	f.same(byID(got), byID(want), "by lane")
}

func conflictsAreReturned(f *fixture) {
	g := f.guard(lane)
	f.put(g, freshRows(3)...)
	stale, exists, unknown, good, added := fresh(0), fresh(1), fresh(50), fresh(2), fresh(60)
	stale.Rev, unknown.Rev, good.Rev = 9, 4, 1
	for _, r := range []*state.Row{&stale, &exists, &unknown, &good, &added} {
		r.Reason = "second"
	}
	out, err := f.B.Commit(f.ctx, env,
		state.Commit{Guard: g, Rows: []state.Row{stale, good, exists, unknown, added}})
	f.ok(err)
	first0, first1 := fresh(0), fresh(1)
	first0.Rev, first1.Rev = 1, 1
	f.same(byID(out.Conflicts), []state.Row{first0, first1, {ID: unknown.ID}},
		"the rows as they are now; a row that is not there has Rev 0")
	good.Rev, added.Rev = 2, 1
	f.same(f.row(good.ID), good, "the row that fits")
	f.same(f.row(added.ID), added, "the new row")
	f.same(f.row(stale.ID), first0, "the conflicting row is not written")
}

func listChecks() []check {
	return []check{
		{"LaneRows", laneRows}, {"FoundRows", foundRows},
		{"ScanPages", func(f *fixture) {
			rows := freshRows(10)
			slices.Reverse(rows)
			f.put(f.guard(lane), rows...)
			var got []resource.ID
			for after := resource.ID(""); ; {
				page, err := f.B.ScanRows(f.ctx, env, after, 3)
				f.ok(err)
				if len(page) == 0 {
					break
				}
				for i := range page {
					got = append(got, page[i].ID)
				}
				f.same(len(page) <= 3, true, "no more than the limit")
				after = page[len(page)-1].ID
			}
			f.same(got, idsOf(rows), "all, ascending, each once")
		}},
		{"ScheduleShowsTickets", func(f *fixture) {
			g := f.guard(lane)
			rows := freshRows(3)
			rows[1].Generation, rows[2].Generation, rows[2].Agent = 5, 6, "b"
			e := wholeEnv()
			f.commit(state.Commit{Guard: g, Rows: rows, Plan: true, Env: &e})
			s, err := f.B.Schedule(f.ctx, env)
			f.ok(err)
			slices.SortFunc(s.Tickets, func(a, b state.Ticket) int { return int(a.N - b.N) })
			f.same(s.Tickets, []state.Ticket{{ID: id(1), Agent: lane, N: 5},
				{ID: id(2), Agent: "b", N: 6}}, "tickets")
			f.same([]any{s.PlanSeq, s.Graph, s.Wave, s.Halted},
				[]any{f.planSeq(), e.Graph, e.Wave, false}, "the rest")
			done := rows[1]
			done.Rev, done.Observed = 1, done.Generation
			f.commit(state.Commit{Guard: g, Rows: []state.Row{done}})
			s, err = f.B.Schedule(f.ctx, env)
			f.ok(err)
			f.same(s.Tickets, []state.Ticket{{ID: id(2), Agent: "b", N: 6}}, "after one is done")
		}},
		{"ScheduleOfSomeAgents", scheduleOfSome},
		{"DueInOrderOfTime", dueInOrder},
		{"CountsByStatus", countsByStatus},
		{"LargeBatches", func(f *fixture) {
			const n = 3000
			g := f.guard(lane)
			rows := freshRows(n)
			for i := range rows {
				rows[i].Generation = int64(i + 1)
			}
			f.put(g, rows...)
			s, err := f.B.Schedule(f.ctx, env)
			f.ok(err)
			f.same(len(s.Tickets), n, "tickets")
			got, err := f.B.Rows(f.ctx, env, idsOf(rows))
			f.ok(err)
			f.same(len(got), n, "rows by id")
			got, err = f.B.AgentRows(f.ctx, env, lane, false)
			f.ok(err)
			f.same(len(got), n, "rows by lane")
		}},
	}
}

func dueInOrder(f *fixture) {
	g := f.guard(lane)
	rows := freshRows(6)
	for i, seconds := range []int{3, 1, 2, 10, 12} {
		rows[i].Ran, rows[i].NextAt = rows[i].Hash, at(time.Duration(seconds)*time.Second)
	}
	f.put(g, rows...)
	for _, c := range []struct {
		reason string
		at     time.Duration
		limit  int
		want   []resource.ID
		next   time.Time
	}{
		{"none yet", time.Second - 1, 9, nil, at(time.Second)},
		{"exactly then", time.Second, 9, []resource.ID{id(1)}, at(2 * time.Second)},
		{"earliest first", 5 * time.Second, 9, []resource.ID{id(1), id(2), id(0)},
			at(10 * time.Second)},
		{"no more than the limit; the next is after the time asked for all the same",
			5 * time.Second, 2, []resource.ID{id(1), id(2)}, at(10 * time.Second)},
		{"nothing after", time.Hour, 9, []resource.ID{id(1), id(2), id(0), id(3), id(4)},
			time.Time{}},
	} {
		got, next, err := f.B.Due(f.ctx, env, at(c.at), c.limit)
		f.ok(err)
		f.same(got, c.want, c.reason)
		f.same(next, c.next, c.reason+": the next time")
	}
	again := rows[1]
	for _, c := range []struct {
		reason string
		change func(r *state.Row)
		due    int
	}{
		{"a scheduled row has no timer", func(r *state.Row) { r.Generation = 1 }, 0},
		{"it has when its run has ended", func(r *state.Row) { r.Observed = 1 }, 1},
		{"an orphaned row has no timer", func(r *state.Row) { r.Orphaned = true }, 0},
		{"it has when it is managed again", func(r *state.Row) { r.Orphaned = false }, 1},
		{"a row whose time was taken away", func(r *state.Row) { r.NextAt = time.Time{} }, 0},
	} {
		again.Rev++
		c.change(&again)
		f.put(g, again)
		got, _, err := f.B.Due(f.ctx, env, at(time.Second), 9)
		f.ok(err)
		f.same(len(got), c.due, c.reason)
	}
}

// countsByStatus pins that Counts agrees with Row.Status through inserts, changes, moves and
// removals.
func countsByStatus(f *fixture) {
	deployed := func(n int) state.Row {
		r := fresh(n)
		r.Ran, r.Compliance, r.LastRun, r.Deployed = r.Hash, state.Compliant, state.RunSuccess, r.Hash
		return r
	}
	rows := freshRows(2)
	for n, change := range []func(r *state.Row){
		func(*state.Row) {},
		func(r *state.Row) { r.Orphaned = true },
		func(r *state.Row) { r.Missing = []string{"parameter x"} },
		func(r *state.Row) { r.BlockedBy = id(1) },
		func(r *state.Row) { r.Blocked = state.NeedsDecision },
		func(r *state.Row) { r.Blocked = state.BlockedTemp },
		func(r *state.Row) { r.LastRun, r.Compliance = state.RunFailed, state.NonCompliant },
		func(r *state.Row) { r.LastRun, r.Class = state.RunFailed, state.ClassUnavailable },
		func(r *state.Row) { r.LastRun, r.Compliance = state.RunSkipped, state.NonCompliant },
		func(r *state.Row) { r.Compliance = state.NonCompliant },
		func(r *state.Row) { r.Hash = "other" },
		func(r *state.Row) { r.LastRun, r.Class = state.RunFailed, provider.Class("retryable") },
	} {
		r := deployed(n + 2)
		change(&r)
		rows = append(rows, r)
	}
	agree := func(reason string, rows []state.Row) {
		f.t.Helper()
		want := map[state.Status]int{}
		for i := range rows {
			want[rows[i].Status()]++
		}
		got, err := f.B.Counts(f.ctx, env)
		f.ok(err)
		f.same(nonZero(got), want, reason)
	}
	g := f.guard(lane)
	agree("of nothing", nil)
	f.put(g, rows...)
	agree("after inserts", rows)
	for i := range rows {
		rows[i].Rev, rows[i].Agent = 1, "b"
		if i%2 == 0 {
			rows[i].Compliance, rows[i].LastRun = state.HasUpdate, state.RunNew
		}
	}
	f.put(g, rows...)
	agree("after changes", rows)
	stale := rows[0]
	stale.Orphaned = true
	f.commit(state.Commit{Guard: g, Rows: []state.Row{stale}})
	agree("after a conflict", rows)
	for i := range rows {
		rows[i].Rev, rows[i].Gone = 2, i >= 4
	}
	f.put(g, rows...)
	agree("after removals", rows[:4])
}

func nonZero(counts map[state.Status]int) map[state.Status]int {
	out := map[state.Status]int{}
	for status, n := range counts {
		if n != 0 {
			out[status] = n
		}
	}
	return out
}

// anyIDIsKept pins that ids are read back unchanged, whatever characters they contain.
func anyIDIsKept(f *fixture) {
	g := f.guard(lane)
	var want []resource.ID
	for _, name := range []string{"plain", "a b", "it's", `back\slash`, `"quoted"`, "line\nbreak",
		"Ünïcode ☃ 𝄞", "%_*?[x]", "a,b=c]", "\x01", "e\u0301", "é"} {
		r := fresh(0)
		r.ID = resource.NewID("std::Null", "a", resource.Key{Name: "name", Value: name})
		r.Generation, r.NextAt, r.Causes = 1, at(0), []resource.ID{r.ID}
		f.put(g, r)
		want = append(want, r.ID)
		r.Rev = 1
		f.same(f.row(r.ID), r, "by id")
	}
	slices.Sort(want)
	rows, err := f.B.ScanRows(f.ctx, env, "", 100)
	f.ok(err)
	f.same(idsOf(rows), want, "by scan")
	f.commit(state.Commit{Guard: g, Next: want, SeenPlan: f.planSeq()})
	f.same(f.held(lane).Running, want, "what runs")
}

// goneRemoves pins that a row is removed only at its revision, and can be created again.
func goneRemoves(f *fixture) {
	g := f.guard(lane)
	f.put(g, freshRows(2)...)
	r := fresh(0)
	r.Rev, r.Gone = 7, true
	out := f.commit(state.Commit{Guard: g, Rows: []state.Row{r}})
	f.same(len(out.Conflicts) == 1 && out.Conflicts[0].Rev == 1, true,
		"removed at a stale Rev: a conflict")
	f.same(f.row(r.ID).Rev, int64(1), "and it stays")
	r.Rev = 1
	f.put(g, r)
	f.same(f.row(r.ID).Rev, int64(0), "removed")
	f.same(f.row(id(1)).Rev, int64(1), "the other stays")
	f.put(g, fresh(0))
	f.same(f.row(r.ID).Rev, int64(1), "it can come back")
}

// comesBackAsAnother pins that a row that was removed and created again has no revision of the
// first row. A change of the first row therefore conflicts.
func comesBackAsAnother(f *fixture) {
	var l state.Lease
	plans := func() state.Guard {
		f.ok(f.A.Release(f.ctx, env, l))
		l = f.lease(f.A, state.PlanKey, f.HolderA())
		return guardOf(l)
	}
	c := state.Commit{Guard: plans(), Plan: true, Rows: []state.Row{fresh(0)}}
	f.commit(c)
	first := f.row(id(0))
	f.same(first.Rev, c.FirstRev(), "the first revision")
	gone := first
	gone.Gone = true
	f.commit(state.Commit{Guard: plans(), Plan: true, Rows: []state.Row{gone}})
	again := state.Commit{Guard: plans(), Plan: true, Rows: []state.Row{fresh(0)}}
	f.commit(again)
	now := f.row(id(0))
	f.same(now.Rev, again.FirstRev(), "it has come back")
	f.same(now.Rev > first.Rev, true, "and has another revision")
	first.LastAction = "of the one before"
	out := f.commit(state.Commit{Guard: f.guard(lane), Rows: []state.Row{first}})
	f.same(byID(out.Conflicts), []state.Row{now}, "what was read before does not fit")
}

// laneRows pins which rows belong to a lane.
func laneRows(f *fixture) {
	g := f.guard(lane)
	rows := freshRows(4)
	rows[1].Generation, rows[2].Generation, rows[2].Agent, rows[3].Agent = 5, 6, "a/1", "a/1"
	f.put(g, rows...)
	for _, c := range []struct {
		lane string
		all  bool
		want []resource.ID
	}{
		{lane, true, []resource.ID{id(0), id(1)}}, {lane, false, []resource.ID{id(1)}},
		{"a/1", true, []resource.ID{id(2), id(3)}},
		{"a/1", false, []resource.ID{id(2)}}, {"a0", true, nil}, {"", true, nil},
	} {
		got, err := f.B.AgentRows(f.ctx, env, c.lane, c.all)
		f.ok(err)
		f.same(idsOf(got), c.want, fmt.Sprintf("lane %q, all %v", c.lane, c.all))
	}
	moved := rows[1]
	moved.Rev, moved.Agent, moved.Observed = 1, "a/1", moved.Generation
	f.put(g, moved)
	got, err := f.B.AgentRows(f.ctx, env, "a/1", true)
	f.ok(err)
	f.same(idsOf(got), []resource.ID{id(1), id(2), id(3)}, "after a row moved")
	got, err = f.B.AgentRows(f.ctx, env, lane, false)
	f.ok(err)
	f.same(len(got), 0, "and lost its ticket")
}

// scheduleOfSome pins that a schedule can be read for selected agents. This includes agents whose
// name is a prefix of another agent's name.
func scheduleOfSome(f *fixture) {
	g := f.guard(lane)
	lanes := []string{"a", "a/1", "a/1/0", "a0", "a-", "b"}
	rows := freshRows(len(lanes))
	for i := range rows {
		rows[i].Agent, rows[i].Generation = lanes[i], int64(i+1)
	}
	rows[1].Generation = 0
	e := wholeEnv()
	e.Wave = state.Wave{Epoch: 1, Priority: state.PriorityUserRepair, At: at(0)}
	f.commit(state.Commit{Guard: g, Rows: rows, Plan: true, Env: &e})
	f.commit(state.Commit{Guard: g, Checked: []resource.ID{id(0)}, Epoch: 1})
	other := f.guard("b")
	f.commit(state.Commit{Guard: other, WaveDone: 1})
	all, err := f.B.Schedule(f.ctx, env)
	f.ok(err)
	many := []string{"b"}
	for i := range 300 {
		many = append(many, fmt.Sprintf("none%d", i))
	}
	for _, agents := range [][]string{nil, {"a"}, {"a/1"}, {"a", "a"}, {"b", "a0"}, {"none"},
		many} {
		s, err := f.B.Schedule(f.ctx, env, agents...)
		f.ok(err)
		var tickets []state.Ticket
		open := map[string][]resource.ID{}
		for i, l := range lanes {
			if len(agents) > 0 && !slices.Contains(agents, l) {
				continue
			}
			if n := rows[i].Ticket(); n != 0 {
				tickets = append(tickets, state.Ticket{ID: rows[i].ID, Agent: l, N: n})
			}
			if l != "b" {
				open[l] = []resource.ID{}
			}
			if l == lane {
				open[l] = []resource.ID{id(0)}
			}
		}
		slices.SortFunc(s.Tickets, func(a, b state.Ticket) int { return int(a.N - b.N) })
		f.same(s.Tickets, tickets, fmt.Sprintf("tickets of %q", agents))
		f.same(len(s.Unfinished), len(open), fmt.Sprintf("unfinished lanes of %q", agents))
		for l, ids := range s.Unfinished {
			f.same(append([]resource.ID{}, ids...), open[l], "checked in "+l)
		}
		f.same([]any{s.PlanSeq, s.Graph, s.Wave, s.Halted},
			[]any{all.PlanSeq, all.Graph, all.Wave, all.Halted}, "the rest")
	}
}

// looksAsItIsAsked pins that a state with combined reads returns the same results as the separate
// reads.
func looksAsItIsAsked(f *fixture) {
	rows := freshRows(4)
	rows[1].Generation, rows[3].Agent = 7, "other"
	f.put(f.planning(env), rows...)
	f.commit(state.Commit{Guard: f.planning(env), Plan: true, Env: &state.Env{Name: env, Last: 3},
		Agents: []resource.Agent{{Name: lane, Transport: "local", Lanes: 2}}})
	f.ok(f.A.Pause(f.ctx, env, true, lane))
	s, is := f.B.(state.Looker)
	if !is {
		return
	}
	ids := []resource.ID{id(0), id(3), id(99)}
	wantRows, err := f.A.Rows(f.ctx, env, ids)
	f.ok(err)
	wantCounts, err := f.A.Counts(f.ctx, env)
	f.ok(err)
	gotRows, gotCounts, err := s.Look(f.ctx, env, ids)
	f.ok(err)
	f.same(byID(gotRows), byID(wantRows), "rows")
	f.same(gotCounts, wantCounts, "counts")
	for _, all := range []bool{true, false} {
		var want state.AgentWork
		want.Schedule, err = f.A.Schedule(f.ctx, env, lane)
		f.ok(err)
		want.Env, err = f.A.Env(f.ctx, env)
		f.ok(err)
		agents, err := f.A.Agents(f.ctx, env, lane)
		f.ok(err)
		want.Agent = agents[lane]
		want.Rows, err = f.A.AgentRows(f.ctx, env, lane, all)
		f.ok(err)
		got, err := s.AgentWork(f.ctx, env, lane, func(state.Schedule, state.Env) bool { return all })
		f.ok(err)
		got.Rows, want.Rows = byID(got.Rows), byID(want.Rows)
		f.same(got, want, fmt.Sprintf("all rows: %v", all))
	}
}
