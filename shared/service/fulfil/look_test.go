package fulfil_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/resource"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
)

// counted counts the instances that are read one by one.
type counted struct {
	inventory.Store
	reads atomic.Int64
}

func (c *counted) Instance(ctx context.Context, env, id string) (inventory.Record, error) {
	c.reads.Add(1)
	return c.Store.Instance(ctx, env, id)
}

// countedRows counts the rows that are read.
type countedRows struct {
	*local.Home
	rows atomic.Int64
}

func (c *countedRows) Rows(
	ctx context.Context, env string, ids []resource.ID,
) ([]state.Row, error) {
	out, err := c.Home.Rows(ctx, env, ids)
	c.rows.Add(int64(len(out)))
	return out, err
}

func (c *countedRows) ScanRows(
	ctx context.Context, env string, after resource.ID, limit int,
) ([]state.Row, error) {
	out, err := c.Home.ScanRows(ctx, env, after, limit)
	c.rows.Add(int64(len(out)))
	return out, err
}

// TestLookReadsChanges holds that a look reads the rows that were written since the last one and their
// instances, however many there are and were deployed just before, and that nothing which becomes of
// the others later is missed.
func TestLookReadsChanges(t *testing.T) {
	t.Parallel()
	const bulk = 30
	w := newWorld(t, site)
	store := &counted{Store: w.store}
	worker := w.worker(store)
	worker.Deploy = nil
	rows := &countedRows{Home: w.home}
	worker.Engine = w.over(rows, new(atomic.Int64))
	const each = 3 // rows of an instance: its own by the look, by what is told, and by the next look
	look := func() int64 {
		t.Helper()
		before, first := store.reads.Load(), rows.rows.Load() == 0
		began := rows.rows.Load()
		if err := worker.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := store.reads.Load() - before
		if read := rows.rows.Load() - began; !first && read > each*n {
			t.Errorf("a look at %d instances reads %d rows", n, read)
		}
		return n
	}
	for i := range bulk {
		id := fmt.Sprint("s", i)
		w.order("site", id, map[string]any{"host_name": id})
	}
	w.alone(worker)
	for range 2 { // all were deployed, and it knows so
		look()
	}
	if n := look(); n != 0 {
		t.Errorf("a look at nothing new reads %d instances", n)
	}

	w.order("site", "one", map[string]any{"host_name": "one"})
	w.alone(worker)
	for range 2 {
		if n := look(); n > 2 {
			t.Errorf("a look after one order reads %d instances", n)
		}
	}
	w.update("s3", map[string]any{"text": "other"})
	w.alone(worker)
	if n := look(); n > 2 {
		t.Errorf("a look after one update reads %d instances", n)
	}

	changes(t, w, worker, "s7", "failed", look)
	changes(t, w, worker, "s7", "up", look)
	if n := look() + look(); n > 2 {
		t.Errorf("looks after all is known read %d instances", n)
	}
	if n := look(); n != 0 {
		t.Errorf("a look at nothing new reads %d instances", n)
	}
}

// changes makes a repair of a resource fail, or succeed again, and wants the lifecycle to follow by
// looks alone.
func changes(
	t *testing.T, w *world, worker *fulfil.Worker, id, state string, look func() int64,
) {
	t.Helper()
	path := filepath.Join(w.srv, id)
	err := os.RemoveAll(path)
	if state == "failed" { // a folder with something in it is in the way
		err = errors.Join(err, os.Mkdir(path, 0o700),
			os.WriteFile(filepath.Join(path, "x"), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.engine.Repair(t.Context(), env, deploy.Request{RetryFailed: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	look()
	w.alone(worker)
	w.state(id, state)
}

// alone does rounds of a worker that stays the only one, and deploys after each, until no instance has
// tasks.
func (w *world) alone(worker *fulfil.Worker) {
	w.Helper()
	const most = 1000
	for range most {
		if _, err := worker.Round(w.Context()); err != nil {
			w.Fatal(err)
		}
		if _, err := w.runner.Drain(w.Context(), env, nil); err != nil {
			w.Fatal(err)
		}
		if settled, err := w.settled(w.Context()); settled || err != nil {
			if err != nil {
				w.Fatal(err)
			}
			return
		}
	}
	w.Fatal("it does not settle: " + w.states())
}
