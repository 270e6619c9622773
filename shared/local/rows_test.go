package local

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// world is what a home should say of the rows of one environment.
type world struct {
	t    *testing.T
	h    *Home
	g    state.Guard
	rnd  *rand.Rand
	rows map[resource.ID]state.Row
}

const limit = 200 // rows

// TestRows compares stored rows with a map, while random commits add, change, move and remove few or
// many of them, in random order.
func TestRows(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		h, g := openWithLane(t)
		w := &world{t, h, g, rand.New(rand.NewPCG(seed, 1)), map[resource.ID]state.Row{}}
		for range 20 {
			w.step()
			w.compare()
		}
	}
}

func (w *world) step() {
	c := state.Commit{Guard: w.g, Plan: w.rnd.IntN(2) == 0}
	removes := w.rnd.IntN(3)
	some := min(limit, w.rnd.IntN(2)*w.rnd.IntN(limit)+w.rnd.IntN(4))
	for _, n := range w.rnd.Perm(limit)[:some] {
		row := w.rows[resource.ID(fmt.Sprintf("std::Null[a%d,name=%d]", n%3, n))]
		if row.ID == "" && removes > 0 {
			row = w.fresh(n)
		}
		if row.ID == "" {
			continue
		}
		row.Gone = row.Rev > 0 && w.rnd.IntN(3) < 2-removes
		row.Agent = fmt.Sprintf("a%d/%d", n%3, w.rnd.IntN(2))
		row.Generation, row.Observed = int64(w.rnd.IntN(3)), int64(w.rnd.IntN(3))
		row.Compliance = []state.Compliance{state.Compliant, state.HasUpdate}[w.rnd.IntN(2)]
		row.Ran, row.NextAt = row.Hash, time.Time{}
		if w.rnd.IntN(3) == 0 {
			row.NextAt = time.Unix(int64(1+w.rnd.IntN(10)), 0).UTC()
		}
		if c.Plan || row.Rev == 0 {
			row.Body = fmt.Appendf(nil, "%d", w.rnd.Uint64())
		}
		c.Rows = append(c.Rows, row)
	}
	done, err := w.h.Commit(context.Background(), "e", c)
	if err != nil || len(done.Conflicts) > 0 {
		w.t.Fatal(err, done.Conflicts)
	}
	for _, row := range c.Rows {
		if row.Gone {
			delete(w.rows, row.ID)
			continue
		}
		row.Rev++
		w.rows[row.ID] = row
	}
}

func (w *world) fresh(n int) state.Row {
	return state.Row{
		ID:      resource.ID(fmt.Sprintf("std::Null[a%d,name=%d]", n%3, n)),
		Intent:  state.Intent{Hash: fmt.Sprint(n)},
		Outcome: state.Outcome{LastRun: state.RunNew, Blocked: state.NotBlocked},
	}
}

func (w *world) timer(id resource.ID) time.Time {
	row := w.rows[id]
	return row.Timer()
}

func (w *world) compare() {
	w.t.Helper()
	ctx := context.Background()
	byID := func(a, b state.Row) int { return cmp.Compare(a.ID, b.ID) }
	all := slices.SortedFunc(maps.Values(w.rows), byID)
	for i, want := range map[int][]state.Row{0: all, len(all) / 2: all[len(all)/2:]} {
		after := resource.ID("")
		if i > 0 {
			after = all[i-1].ID
		}
		got, err := w.h.ScanRows(ctx, "e", after, 1000)
		w.same(err, got, want)
		some, err := w.h.ScanRows(ctx, "e", after, len(want)/2+1)
		w.same(err, some, want[:min(len(want), len(want)/2+1)])
	}
	ids := make([]resource.ID, 0, len(all))
	var tickets, finished []resource.ID
	counts := map[state.Status]int{}
	for i := range all {
		ids = append(ids, all[i].ID)
		counts[all[i].Status()]++
		if all[i].Ticket() != 0 {
			tickets = append(tickets, all[i].ID)
		} else {
			finished = append(finished, all[i].ID)
		}
	}
	got, err := w.h.Rows(ctx, "e", append(ids, "none", ""))
	w.same(err, got, all)
	w.lanes(all)
	s, err := w.h.Schedule(ctx, "e")
	scheduled := []resource.ID{}
	for _, x := range s.Tickets {
		scheduled = append(scheduled, x.ID)
	}
	slices.Sort(scheduled)
	w.same(err, scheduled, append([]resource.ID{}, tickets...))
	there, err := w.h.Finished(ctx, "e", ids, 0)
	w.same(err, there, finished)
	have, err := w.h.Counts(ctx, "e")
	w.same(err, have, counts)
	w.due(all)
}

func (w *world) due(all []state.Row) {
	w.t.Helper()
	due, next, err := w.h.Due(context.Background(), "e", time.Unix(5, 0), 1000)
	w.same(err, nil, nil)
	for i, id := range due[:max(0, len(due)-1)] {
		if w.timer(id).After(w.timer(due[i+1])) {
			w.t.Fatal("due in another order")
		}
	}
	dues, later := 0, time.Time{}
	for i := range all {
		if at := all[i].Timer(); !at.IsZero() && at.Unix() <= 5 {
			dues++
		}
		if at := all[i].Timer(); at.Unix() > 5 && (later.IsZero() || at.Before(later)) {
			later = at
		}
	}
	w.same(nil, []any{next, len(due)}, []any{later, dues})
}

func (w *world) lanes(all []state.Row) {
	w.t.Helper()
	for _, lane := range []string{"a0", "a0/1", "a1", "a1/1", "a2", "a2/1"} {
		for _, every := range []bool{true, false} {
			want := slices.DeleteFunc(slices.Clone(all), func(r state.Row) bool {
				return r.Agent != lane || !every && r.Ticket() == 0
			})
			got, err := w.h.AgentRows(context.Background(), "e", lane, every)
			slices.SortFunc(got, func(a, b state.Row) int { return cmp.Compare(a.ID, b.ID) })
			w.same(err, got, want)
		}
	}
}

func (w *world) same(err error, got, want any) {
	w.t.Helper()
	g, x := reflect.ValueOf(got), reflect.ValueOf(want)
	if g.Kind() == reflect.Slice && g.Len() == 0 && x.Len() == 0 {
		got = want
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		w.t.Fatalf("%v: got %+v\nwant %+v", err, got, want)
	}
}

// TestChangedRows changes a value of a stored row, as a flipped bit may: reads of the row return
// Damaged, or the row without its body if only the body has changed.
func TestChangedRows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for _, c := range []struct{ name, sql string }{
		{"Revision", "UPDATE resources SET rev = rev + 1"},
		{"Lane", "UPDATE resources SET lane = 'a/1'"},
		{"Ticket", "UPDATE resources SET ticket = 8"},
		{"DueTime", "UPDATE resources SET next_at = next_at + 1"},
		{"Check", "UPDATE resources SET checked = 9"},
		{"Status", "UPDATE resources SET status = 'deployed'"},
		{"State", "UPDATE resources SET state = CAST(replace(state, 'broken', 'spoken') AS BLOB)"},
		{"Length", "UPDATE resources SET state = substr(state, 1, 9)"},
		{"Body", "UPDATE intents SET body = CAST(replace(body, 'path', 'past') AS BLOB)"},
		{"Intent", "DELETE FROM intents"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, g := openWithLane(t)
			row := state.Row{
				ID:      "t::T[a,name=x]",
				Intent:  state.Intent{Agent: "a", Generation: 7, Hash: "h", Body: []byte(`{"path":1}`)},
				Outcome: state.Outcome{Reason: "it is broken", NextAt: time.Unix(9, 0).UTC()},
			}
			must(h.Commit(ctx, "e", state.Commit{Guard: g, Rows: []state.Row{row}}))(t)
			conn := must(sqlite.OpenConn(filepath.Join(h.Dir, dbName), sqlite.OpenReadWrite))(t)
			if err := query(conn, c.sql, nil); err != nil || conn.Changes() != 1 {
				t.Fatal(err)
			}
			_ = conn.Close()
			rows, err := h.Rows(ctx, "e", []resource.ID{row.ID})
			if c.name != "Body" && c.name != "Intent" {
				if !fault.Is(err, fault.Damaged) || !strings.Contains(err.Error(), string(row.ID)) {
					t.Errorf("%+v, %v", rows, err)
				}
				return
			}
			if err != nil || !rows[0].Damaged() || rows[0].Reason != row.Reason {
				t.Fatalf("%+v, %v", rows, err)
			}
			result := rows[0]
			result.Body = row.Body
			must(h.Commit(ctx, "e", state.Commit{Guard: g, Rows: []state.Row{result}}))(t)
			if rows = must(h.Rows(ctx, "e", []resource.ID{row.ID}))(t); !rows[0].Damaged() {
				t.Error("a result has replaced a damaged body")
			}
			rows[0].Body = row.Body
			must(h.Commit(ctx, "e", state.Commit{Guard: g, Plan: true, Rows: rows}))(t)
			if rows = must(h.Rows(ctx, "e", []resource.ID{row.ID}))(t); rows[0].Damaged() {
				t.Error("a plan has not replaced a damaged body")
			}
		})
	}
}

// TestPlans pins that a read of one lane does not scan all resources, also if the statistics of
// SQLite are of an environment with one lane.
func TestPlans(t *testing.T) {
	t.Parallel()
	h, g := openWithLane(t)
	c := state.Commit{Guard: g}
	for n := range 1000 {
		c.Rows = append(c.Rows, state.Row{
			ID:     resource.ID(fmt.Sprintf("t::T[a,name=%d]", n)),
			Intent: state.Intent{Agent: "a", Generation: 1},
		})
	}
	must(h.Commit(t.Context(), "e", c))(t)
	conn := must(sqlite.OpenConn(filepath.Join(h.Dir, dbName), sqlite.OpenReadWrite))(t)
	defer conn.Close()
	if err := query(conn, "ANALYZE", nil); err != nil {
		t.Fatal(err)
	}
	for sql, index := range map[string]string{selectRow: "resources_id",
		selectAfter: "resources_id", selectLane: "resources_lane",
		selectScheduled: "resources_scheduled"} {
		plan := ""
		if err := query(conn, "EXPLAIN QUERY PLAN "+sql, func(s *sqlite.Stmt) error {
			plan += s.ColumnText(3) + "\n"
			return nil
		}); err != nil || !strings.Contains(plan, index) || strings.Contains(plan, "SCAN") {
			t.Errorf("%s: %v\n%s", sql, err, plan)
		}
	}
}
