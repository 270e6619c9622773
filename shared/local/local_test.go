package local

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func open(t *testing.T, dir string) *Home {
	t.Helper()
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// TestLease pins that one of two processes holds a lease, that fences grow, and that a stale holder's commit is refused.
func TestLease(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	a, b := open(t, dir), open(t, dir)
	now := time.Now()
	first, err := a.Acquire(ctx, "e", "l/0", a.Holder()+"#1", now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(ctx, "e", "l/0", b.Holder()+"#1", now, now.Add(time.Minute)); !fault.Is(err, fault.Busy) {
		t.Fatalf("second holder: %v", err)
	}
	late := now.Add(2 * time.Minute)
	second, err := b.Acquire(ctx, "e", "l/0", b.Holder()+"#1", late, late.Add(time.Minute))
	if err != nil || second.Fence <= first.Fence {
		t.Fatalf("after expiry: %v, fence %d after %d", err, second.Fence, first.Fence)
	}
	row := deploy.Row{ID: "std::Null[a,name=x]", Lane: "l/0", Body: []byte("{}")}
	if _, err := a.Commit(ctx, "e", deploy.Commit{Guard: deploy.Guard{Key: "l/0", Fence: first.Fence}, Rows: []deploy.Row{row}}); !fault.Is(err, fault.Fenced) {
		t.Errorf("a stale holder's commit: %v", err)
	}
	if err := a.Release(ctx, "e", first); err != nil {
		t.Fatal(err)
	}
	if rows, _ := b.LaneRows(ctx, "e", "l/0", true); len(rows) != 0 {
		t.Error("the refused commit left a row")
	}
	if _, err := b.Commit(ctx, "e", deploy.Commit{Guard: deploy.Guard{Key: "l/0", Fence: second.Fence}, Rows: []deploy.Row{row}}); err != nil {
		t.Errorf("the holder's commit after a stale release: %v", err)
	}
}

// TestDeadHolder pins that the lease of a process that has ended is free at once.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := a.Acquire(ctx, "e", "l/0", a.Holder()+"#1", now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	b := open(t, dir)
	if _, err := b.Acquire(ctx, "e", "l/0", b.Holder()+"#1", now, now.Add(time.Hour)); err != nil {
		t.Errorf("the lease of a closed home: %v", err)
	}
}

// TestCommit pins revisions, conflicts, refusals of Next, and that the whole row comes back.
func TestCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := open(t, t.TempDir())
	now := time.Now().UTC()
	l, err := h.Acquire(ctx, "e", "a/0", h.Holder(), now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	g := deploy.Guard{Key: l.Key, Fence: l.Fence}
	row := deploy.Row{ID: `std::Null[a,name=x\,y]`, Lane: "a/0", Version: 3, Hash: "h", Body: []byte(`{"a":1}`), Removing: true, Ticket: 7, Priority: 2,
		NotBefore: now, Compliance: deploy.HasUpdate, LastRun: deploy.RunFailed, Blocked: deploy.BlockedTemp, Missing: []string{"m"}, Deployed: "d",
		LastAt: now, LastAction: "act", Reason: "why", Causes: []resource.ID{"x"}, Class: deploy.ClassTerminal, Attempts: 4, NextAt: now, Checked: 9,
		Waiting: []byte("w"), Creating: "tok", ChangedAt: now, SucceededAt: now, WantFacts: true}
	if _, err := h.Commit(ctx, "e", deploy.Commit{Guard: g, Rows: []deploy.Row{row}, Plan: true}); err != nil {
		t.Fatal(err)
	}
	row.Rev = 1
	got, err := h.Rows(ctx, "e", []resource.ID{row.ID, "std::Null[a,name=none]"})
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], row) {
		t.Fatalf("%v: got %+v\nwant %+v", err, got, row)
	}
	stale := row
	stale.Rev, stale.Reason = 5, "stale"
	fresh := deploy.Row{ID: "std::Null[a,name=z]", Lane: "a/0", Body: []byte("{}")}
	out, err := h.Commit(ctx, "e", deploy.Commit{Guard: g, Rows: []deploy.Row{stale, fresh}, Actions: []deploy.Action{{ID: "1", Resource: row.ID, Finished: now}},
		Next: []resource.ID{row.ID}, SeenPlan: 1})
	if err != nil || len(out.Conflicts) != 1 || out.Conflicts[0].Reason != "why" || !out.Started {
		t.Fatalf("%v: %+v", err, out)
	}
	if acts, _ := h.Actions(ctx, "e", deploy.ActionQuery{Resource: row.ID}); len(acts) != 1 {
		t.Errorf("the action of a conflicting row: %v", acts)
	}
	if rows, _ := h.LaneRows(ctx, "e", "a/0", true); len(rows) != 2 {
		t.Errorf("%d rows, want the fresh one beside the other", len(rows))
	}
	if err := h.Pause(ctx, "e", true, "a"); err != nil {
		t.Fatal(err)
	}
	out, err = h.Commit(ctx, "e", deploy.Commit{Guard: g, Next: []resource.ID{row.ID}, SeenPlan: 2})
	if err != nil || out.Started || !out.Paused {
		t.Errorf("a start on a paused agent: %v, %+v", err, out)
	}
	if err := h.Pause(ctx, "e", false, "a"); err != nil {
		t.Fatal(err)
	}
	if out, _ = h.Commit(ctx, "e", deploy.Commit{Guard: g, Next: []resource.ID{row.ID}, SeenPlan: 2}); out.Started {
		t.Error("a start on an outdated schedule was accepted")
	}
	if _, err := h.Commit(ctx, "e", deploy.Commit{Guard: g, Rows: []deploy.Row{fresh}, Env: &deploy.Env{Name: "e", Rev: 99}}); !fault.Is(err, fault.Conflict) {
		t.Errorf("an outdated environment: %v", err)
	}
}

// TestFiles pins that bytes are kept by their hash and others refused.
func TestFiles(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	h := open(t, t.TempDir())
	f := h.Files()
	sum := sha256.Sum256([]byte("x"))
	hash := hex.EncodeToString(sum[:])
	if err := f.Put(ctx, []deploy.Blob{{Hash: hash, Size: 1, Data: []byte("y")}}); !fault.Is(err, fault.Invalid) {
		t.Errorf("wrong bytes: %v", err)
	}
	if missing, err := f.Missing(ctx, []string{hash}); err != nil || len(missing) != 1 {
		t.Errorf("missing: %v, %v", missing, err)
	}
	for range 2 {
		if err := f.Put(ctx, []deploy.Blob{{Hash: hash, Size: 1, Data: []byte("x")}}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := f.Get(ctx, []string{hash}); err != nil || string(got[0]) != "x" {
		t.Errorf("get: %q, %v", got, err)
	}
	if err := os.WriteFile(f.path(hash), []byte("z"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Get(ctx, []string{hash}); !fault.Is(err, fault.Damaged) {
		t.Errorf("damaged bytes: %v", err)
	}
	if _, err := f.Get(ctx, []string{"../../etc/passwd"}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a path for a hash: %v", err)
	}
}

// TestForeign pins that what is not ours is left alone.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		make   func(dir string) error
		kind   fault.Kind
	}{
		"OtherFiles": {"a directory with somebody's files", func(dir string) error { return os.WriteFile(filepath.Join(dir, "thesis.txt"), []byte("x"), 0o600) }, fault.Foreign},
		"Garbage": {"a database file that is none", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, dbName), []byte("this is no database, it is text that is long enough"), 0o600)
		}, fault.Damaged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			before, _ := os.ReadDir(dir)
			h, err := Open(dir)
			if !fault.Is(err, c.kind) {
				t.Errorf("%s: %v", c.reason, err)
			}
			if h != nil {
				_ = h.Close()
			}
			if after, _ := os.ReadDir(dir); len(after) != len(before) {
				t.Errorf("%s: something was made: %v", c.reason, after)
			}
		})
	}
}

// TestCaller pins that a panic and a hang are errors.
func TestCaller(t *testing.T) {
	t.Parallel()
	if err := (Caller{}).Call(context.Background(), time.Minute, func(context.Context) { panic("boom") }); !fault.Is(err, fault.Internal) {
		t.Errorf("panic: %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	if err := (Caller{}).Call(context.Background(), time.Millisecond, func(context.Context) { <-hang }); !fault.Is(err, fault.Timeout) {
		t.Errorf("hang: %v", err)
	}
}
