package local

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

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

const limit = 3 * maxInBlock

// TestBlocks compares rows in blocks with a map, while random commits add, change, move and remove
// some, few or many of them, in random order and in that of their ids.
func TestBlocks(t *testing.T) {
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
		row.Lane, row.Ticket = fmt.Sprintf("a%d/%d", n%3, w.rnd.IntN(2)), int64(w.rnd.IntN(3))
		row.Compliance = []state.Compliance{state.Compliant, state.HasUpdate}[w.rnd.IntN(2)]
		row.NextAt = time.Time{}
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
	return state.Row{ID: resource.ID(fmt.Sprintf("std::Null[a%d,name=%d]", n%3, n)),
		LastRun: state.RunNew,
		Blocked: state.NotBlocked, Hash: fmt.Sprint(n)}
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
		if all[i].Ticket != 0 {
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
		if w.rows[id].NextAt.After(w.rows[due[i+1]].NextAt) {
			w.t.Fatal("due in another order")
		}
	}
	dues, later := 0, time.Time{}
	for i := range all {
		if at := all[i].NextAt; !at.IsZero() && at.Unix() <= 5 {
			dues++
		}
		if at := all[i].NextAt; at.Unix() > 5 && (later.IsZero() || at.Before(later)) {
			later = at
		}
	}
	w.same(nil, []any{next, len(due)}, []any{later, dues})
}

func (w *world) lanes(all []state.Row) {
	w.t.Helper()
	for _, lane := range []string{"a0/0", "a0/1", "a1/0", "a1/1", "a2/0", "a2/1"} {
		for _, every := range []bool{true, false} {
			want := slices.DeleteFunc(slices.Clone(all), func(r state.Row) bool {
				return r.Lane != lane || !every && r.Ticket == 0
			})
			got, err := w.h.LaneRows(context.Background(), "e", lane, every)
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

// TestFlippedBits pins that no flipped bit in a block goes unnoticed: one in what is said of its
// rows is Damaged, one in their bodies leaves out a body that is not as it was written.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	recs := make([]record, 3)
	for i := range recs {
		id := resource.ID(fmt.Sprintf("std::Null[a,name=%d]", i))
		row := state.Row{ID: id, Lane: "a/0", Hash: "ab", Reason: "why"}
		recs[i].id = row.ID
		recs[i].set(&row, state.StatusFailed, encodeState(&row))
		recs[i].setBody(fmt.Appendf(nil, "body %d", i))
	}
	rows, bodies := encodeRecords(recs), encodeBodies(recs)
	for i := range 8 * len(rows) {
		bad := bytes.Clone(rows)
		bad[i/8] ^= 1 << (i % 8)
		if _, err := decodeRecords(bad); !fault.Is(err, fault.Damaged) {
			t.Fatalf("bit %d of the rows: %v", i, err)
		}
	}
	for i := range 8 * len(bodies) {
		bad := bytes.Clone(bodies)
		bad[i/8] ^= 1 << (i % 8)
		again, err := decodeRecords(rows)
		if err != nil {
			t.Fatal(err)
		}
		decodeBodies(bad, again)
		lost := 0
		for j := range again {
			row, err := again[j].row()
			if err != nil || row.Body != nil && !bytes.Equal(row.Body, recs[j].body) {
				t.Fatalf("bit %d of the bodies: %v, %q", i, err, row.Body)
			}
			if row.Body == nil {
				lost++
			}
		}
		if lost == 0 {
			t.Fatalf("bit %d of the bodies was not noticed", i)
		}
		rewritten, _ := decodeRecords(rows)
		decodeBodies(encodeBodies(again), rewritten)
		for j := range rewritten { // a block is written anew with what is damaged in it
			row, _ := rewritten[j].row()
			if damaged := sumOf(again[j].body) != again[j].sum; damaged != (row.Body == nil) {
				t.Fatalf("bit %d: writing it again made %q of a damaged body", i, row.Body)
			}
		}
	}
}

// FuzzDecodeRecords: damaged bytes are Damaged, and what decodes encodes to the same records again.
func FuzzDecodeRecords(f *testing.F) {
	f.Add(encodeRecords([]record{{id: "a", lane: "l", status: "deployed"},
		{id: "ab", lane: "m", status: "other", state: []byte("x")}})[sumSize:])
	f.Fuzz(func(t *testing.T, rest []byte) {
		sum := sumOf(rest)
		stored := append([]byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24)},
			rest...)
		recs, err := decodeRecords(stored)
		if err != nil {
			if !fault.Is(err, fault.Damaged) {
				t.Error(err)
			}
			return
		}
		decodeBodies(stored, recs)
		again, err := decodeRecords(encodeRecords(recs))
		decodeBodies(encodeBodies(recs), again)
		if err != nil || len(again) != len(recs) {
			t.Fatal(err, again)
		}
		for i := range recs {
			a, b := recs[i], again[i]
			if a.id != b.id || a.lane != b.lane || a.status != b.status || a.rev != b.rev ||
				!bytes.Equal(a.state, b.state) || !bytes.Equal(a.body, b.body) {
				t.Fatalf("%+v, then %+v", a, b)
			}
		}
	})
}
