package local

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestActions pins that actions are returned as they were recorded, found by their resource, and
// dropped by their age.
func TestActions(t *testing.T) {
	t.Parallel()
	h, ctx, id := open(t, t.TempDir()), t.Context(), resource.ID("std::Null[web1,name=bad]")
	now := time.Now().UTC()
	l := must(h.Acquire(ctx, "e", "web1", h.Holder(), now, now.Add(time.Minute)))(t)
	plain := state.Action{ID: h.NewID(), Resource: id, Version: 2, Action: state.ActionRepair,
		Outcome: state.StatusDeployed, Change: diff.NoChange, Started: now,
		Finished: now.Add(time.Second), Pack: "p"}
	full := plain
	full.ID, full.Change, full.Stale, full.Reason = h.NewID(), diff.Updated, true, "why"
	full.Replaced, full.Provider, full.ProviderWhy = true, "apt", "it is installed"
	full.Changes = map[string]diff.Diff{"value": {Current: "a", Desired: "b", Unified: "u"}}
	full.Messages = []provider.Line{{At: now, Level: provider.LevelInfo, Msg: "m",
		Kwargs: map[string]any{"k": "v", "n": 1.5, "list": []any{true, nil}}}}
	other, old := plain, plain
	other.ID, other.Resource = h.NewID(), "std::Null[web1,name=n001]"
	old.ID, old.Finished = h.NewID(), now
	must(h.Commit(ctx, "e", state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence},
		Actions: []state.Action{plain, full, other, old}}))(t)
	q := state.ActionQuery{Resource: id}
	got := must(h.Actions(ctx, "e", q))(t)
	if diff := gocmp.Diff([]state.Action{old, full, plain}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := must(h.DropActions(ctx, "e", plain.Finished))(t); n != 1 {
		t.Errorf("%d actions were dropped", n)
	}
	got = must(h.Actions(ctx, "e", q))(t)
	if diff := gocmp.Diff([]state.Action{full, plain}, got); diff != "" {
		t.Errorf("after the drop (-want +got):\n%s", diff)
	}
}

// TestDropDamagedActions pins that actions that cannot be read go when they are old enough, and
// keep nothing else from going; until then whoever asks for them is told.
func TestDropDamagedActions(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	h := must(Open(dir))(t)
	now := time.Now()
	l := must(h.Acquire(ctx, "e", state.PlanKey, h.Holder(), now, now.Add(time.Minute)))(t)
	guard := state.Guard{Key: l.Key, Fence: l.Fence}
	for i, id := range []string{"1", "2"} {
		at := now.Add(time.Duration(i) * time.Second)
		must(h.Commit(ctx, "e", state.Commit{Guard: guard, Actions: []state.Action{{ID: id,
			Resource: "t::T[a,name=x]", Started: at, Finished: at}}}))(t)
	}
	_ = h.Close()
	conn := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
	if err := query(conn, "UPDATE actions SET record = CAST(substr(record, 1, 9) AS BLOB) WHERE "+
		"k = (SELECT min(k) FROM actions)", nil); err != nil || conn.Changes() != 1 {
		t.Fatal(err)
	}
	_ = conn.Close()
	h = must(Open(dir))(t)
	t.Cleanup(func() { _ = h.Close() })
	for _, before := range []time.Time{now.Add(-time.Second), now} {
		_, err := h.Actions(ctx, "e", state.ActionQuery{})
		if !fault.Is(err, fault.Damaged) ||
			!strings.Contains(fault.HintOf(err), "only a part of a history") {
			t.Errorf("damaged actions: %v, %s", err, fault.HintOf(err))
		}
		must(h.DropActions(ctx, "e", before))(t)
	}
	must(h.DropActions(ctx, "e", now.Add(time.Second)))(t)
	if all := must(h.Actions(ctx, "e", state.ActionQuery{}))(t); len(all) != 1 || all[0].ID != "2" {
		t.Errorf("then there are %+v", all)
	}
}

// TestNewestActions pins that of a long history no more is read than is asked for: here what is
// older is damaged. Whatever stands where, and twice, the newest are the newest of all.
func TestNewestActions(t *testing.T) {
	t.Parallel()
	dir, ctx := t.TempDir(), t.Context()
	h := must(Open(dir))(t)
	now, rng := time.Now(), rand.New(rand.NewPCG(1, 2))
	l := must(h.Acquire(ctx, "e", state.PlanKey, h.Holder(), now, now.Add(time.Minute)))(t)
	ids := rng.Perm(200) // of those below 100 all in the first rows
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(a/100, b/100) })
	for some := range slices.Chunk(append(ids, ids[150:]...), 7) {
		c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}}
		for _, n := range some {
			c.Actions = append(c.Actions, state.Action{ID: fmt.Sprintf("%03d", n), Started: now,
				Finished: now, Resource: "t::T[a,name=x]", Stale: n%3 == 0})
		}
		must(h.Commit(ctx, "e", c))(t)
	}
	all := must(h.Actions(ctx, "e", state.ActionQuery{}))(t)
	if len(all) != 200 {
		t.Fatalf("%d actions", len(all))
	}
	for limit := 1; limit <= 200; limit += 9 {
		got := must(h.Actions(ctx, "e", state.ActionQuery{Limit: limit}))(t)
		if !reflect.DeepEqual(got, all[:limit]) {
			t.Errorf("the newest %d are %v", limit, got)
		}
	}
	page := must(h.Actions(ctx, "e", state.ActionQuery{Limit: 10, Before: "150"}))(t)
	if !reflect.DeepEqual(page, all[50:60]) {
		t.Errorf("the newest 10 before 150 are %v", page)
	}
	_ = h.Close()
	conn := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
	if err := query(conn, "UPDATE actions SET record = CAST('x' AS BLOB) WHERE last < '100'",
		nil); err != nil || conn.Changes() == 0 {
		t.Fatal(err)
	}
	_ = conn.Close()
	h = open(t, dir)
	if got := must(h.Actions(ctx, "e", state.ActionQuery{Limit: 50}))(t); len(got) != 50 {
		t.Errorf("%d of a history whose beginning is lost", len(got))
	}
}
