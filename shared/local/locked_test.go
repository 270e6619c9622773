package local

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/fault"
)

// holding makes another connection hold a database, as a suspended process does.
func holding(t *testing.T, dir string, statements ...string) (release func()) {
	t.Helper()
	other := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
	for _, s := range statements {
		if err := query(other, s, nil); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = other.Close() }
}

// whole keeps other processes from reading, too.
var whole = []string{"PRAGMA locking_mode=EXCLUSIVE", "BEGIN EXCLUSIVE",
	"CREATE TABLE other (x)", "COMMIT"}

// TestHeldByAnother pins that whatever waits for another process that holds the database ends with
// its context, changes nothing then, and goes on when the other process does, whenever that is.
func TestHeldByAnother(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	take := func(ctx context.Context, h *Home) error {
		_, err := h.Acquire(ctx, "e", "a", h.Holder(), now, now.Add(time.Minute))
		return err
	}
	for name, c := range map[string]struct {
		open bool // the first process is at work
		hold []string
		do   func(ctx context.Context, h *Home) error
	}{
		"a write": {true, []string{"BEGIN IMMEDIATE"}, take},
		"many writes": {true, []string{"BEGIN IMMEDIATE"}, func(ctx context.Context, h *Home) error {
			many := make(chan error)
			for range 3 * maxGroup {
				go func() { many <- take(ctx, h) }()
			}
			var all []error
			for range 3 * maxGroup {
				all = append(all, <-many)
			}
			return errors.Join(all...)
		}},
		"a new process": {false, whole, func(ctx context.Context, h *Home) error {
			other, err := OpenWaiting(ctx, h.Dir, nil)
			if err != nil {
				return err
			}
			return errors.Join(take(ctx, other), other.Close())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			h := must(Open(dir))(t)
			defer h.Close()
			if !c.open {
				if err := h.Close(); err != nil {
					t.Fatal(err)
				}
			}
			release := holding(t, dir, c.hold...)
			cause := fault.New(fault.Timeout, "", "the time ran out")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(20*time.Millisecond, func() { cancel(cause) })
			if err := c.do(ctx, h); !errors.Is(err, context.Canceled) || !errors.Is(err, cause) {
				t.Errorf("given up: %v", err)
			}
			waits := make(chan error, 1)
			go func() { waits <- c.do(t.Context(), h) }()
			select {
			case err := <-waits:
				t.Errorf("it does not wait: %v", err)
			case <-time.After(20 * time.Millisecond):
			}
			release()
			if err := <-waits; err != nil {
				t.Errorf("released: %v", err)
			}
		})
	}
}

// TestGivenUpIsNotWritten pins that a write that was given up does not happen when the database is
// free again.
func TestGivenUpIsNotWritten(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	release := holding(t, h.Dir, "BEGIN IMMEDIATE")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Halt(ctx, "given-up", true) }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	release()
	if err := h.Halt(t.Context(), "wanted", true); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"given-up": false, "wanted": true} {
		if env, err := h.Env(t.Context(), name); err != nil || env.Halted != want {
			t.Errorf("%s: %+v, %v", name, env, err)
		}
	}
}

// TestSlowIsTold pins that people read why nothing goes on.
func TestSlowIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	told := make(chan struct{}, 2)
	h := must(OpenWaiting(t.Context(), dir, func() { told <- struct{}{} }))(t)
	defer h.Close()
	release := holding(t, dir, "BEGIN IMMEDIATE")
	done := make(chan error)
	go func() { done <- h.Halt(t.Context(), "e", true) }()
	<-told
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
