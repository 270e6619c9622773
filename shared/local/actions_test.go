package local

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

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
