package fulfil_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/service/bundle"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// visitor returns a worker that is notified, in a process that knows nothing.
func (w *world) visitor(store inventory.Store, change func(*fulfil.Config)) *fulfil.Worker {
	c := fulfil.Config{
		Env: env, Instances: store, Definitions: w.home.Definitions(), Engine: w.engine,
		Types: w.types, Dir: filepath.Join(w.home.Dir, "models"), Notified: true,
	}
	if change != nil {
		change(&c)
	}
	return fulfil.New(c)
}

// notified visits an instance that a notice names, deploys what it needs, and visits it once more,
// as whoever ran its resources sends a notice. It reports whether the first visit has ended well.
func (w *world) notified(store inventory.Store, id string) bool {
	w.Helper()
	_, first := w.visitor(store, nil).Visit(w.Context(), []string{id}, false, time.Time{})
	for range 2 { // a visit that has ended in the middle comes again
		if _, err := w.runner.Drain(w.Context(), env, nil); err != nil {
			w.Fatal(err)
		}
		if _, err := w.visitor(w.store, nil).Visit(w.Context(), []string{id}, false,
			time.Time{}); err != nil {
			w.Fatal(err)
		}
	}
	return first == nil
}

// TestVisit takes an order through its life by visits alone, each by a process that knows nothing,
// which is ended at each of its writes, before and after it is done.
func TestVisit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	n := 0
	crashed := true
	for at := 1; crashed; at++ {
		crashed = false
		for _, written := range []bool{false, true} {
			n++
			id, name := fmt.Sprintf("i%d", n), fmt.Sprintf("f%d", n)
			visit := func() {
				store := &crash{Store: w.store, at: at, written: written, end: func() {}}
				crashed = !w.notified(store, id) || crashed
			}
			w.order("site", id, map[string]any{"host_name": name})
			visit()
			r := w.state(id, "up")
			if len(r.Tasks) > 0 || len(r.Resources) != 1 {
				t.Errorf("%v is left, of %v", r.Tasks, r.Resources)
			}
			text := fmt.Sprint(r.Active["port"])
			w.file(name, "hello "+text)
			w.update(id, map[string]any{"text": "more"})
			visit()
			w.state(id, "up")
			w.file(name, "more "+text)
			w.remove(id)
			visit()
			w.state(id, "terminated")
			w.nothingLeft()
			w.file(name, "")
			w.once(id)
		}
		if at > 30 {
			t.Fatal("there is no end of writes")
		}
	}
	if n < 6 {
		t.Errorf("it has ended %d visits", n)
	}
}

// TestVisitOutcome breaks what is deployed, and wants the instance to know when its resources were
// run and a notice follows.
func TestVisitOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.notified(w.store, "one")
	w.state("one", "up")
	if err := os.Remove(filepath.Join(w.srv, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(w.srv, "a", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	repair := func() {
		t.Helper()
		if _, err := w.engine.Repair(t.Context(), env, deploy.Request{}); err != nil {
			t.Fatal(err)
		}
		w.notified(w.store, "one")
	}
	repair()
	w.state("one", "failed")
	if err := os.RemoveAll(filepath.Join(w.srv, "a")); err != nil {
		t.Fatal(err)
	}
	repair()
	w.state("one", "up")
	if _, err := w.visitor(w.store, nil).Visit(t.Context(), []string{"none"}, false,
		time.Time{}); err != nil {
		t.Errorf("a set of something else: %v", err)
	}
}

// TestVisitAgain loses the notices of repairs, and wants a visit of all to tell the instances what
// has become of them, and none that has come too soon.
func TestVisitAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.notified(w.store, "one")
	path := filepath.Join(w.srv, "a")
	repair := func() {
		t.Helper()
		if _, err := w.engine.Repair(t.Context(), env, deploy.Request{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
			t.Fatal(err)
		}
	}
	worker := w.visitor(w.store, func(c *fulfil.Config) { c.Again = time.Hour })
	visit := func(by *fulfil.Worker, want string) {
		t.Helper()
		if _, err := by.Visit(t.Context(), nil, true, time.Time{}); err != nil {
			t.Fatal(err)
		}
		w.state("one", want)
	}
	visit(worker, "up")
	if err := errors.Join(os.Remove(path),
		os.MkdirAll(filepath.Join(path, "full"), 0o700)); err != nil {
		t.Fatal(err)
	}
	repair()
	visit(worker, "up") // it has looked less than an hour ago
	other := func() *fulfil.Worker {
		return w.visitor(w.store, func(c *fulfil.Config) { c.Again = time.Hour })
	}
	visit(other(), "failed")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	repair()
	visit(other(), "up")
}

// TestVisitBounds pins what a visit leaves: what there is no time for, and models that are not
// compiled here, which stands at the instance with what to do, once.
func TestVisitBounds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	left, err := w.visitor(w.store, nil).Visit(t.Context(), nil, true, time.Now().Add(-time.Second))
	if err != nil || len(left) != 1 || left[0] != "one" {
		t.Errorf("%v: left %v", err, left)
	}
	because := []diag.Problem{{Message: "the model has Python code", Hint: "do it there"}}
	for range 2 {
		worker := w.visitor(w.store, func(c *fulfil.Config) {
			c.Elsewhere = func(bundle.Opened) []diag.Problem { return because }
		})
		if left, err := worker.Visit(t.Context(), []string{"one"}, false,
			time.Time{}); err != nil || len(left) > 0 {
			t.Errorf("%v: left %v", err, left)
		}
	}
	r := w.read("one")
	if len(r.Tasks) != 1 || !strings.Contains(string(r.Problems), "do it there") ||
		!r.Due.After(time.Now()) {
		t.Errorf("%v %s", r.Tasks, r.Problems)
	}
	events, err := w.store.Events(context.Background(), env, "one", 0, 100)
	said := 0
	for _, e := range events {
		if e.Message == "the model has Python code" {
			said++
		}
	}
	if err != nil || said != 1 {
		t.Errorf("%v: it is said %d times", err, said)
	}
	r.Due = w.now()
	w.write(inventory.Change{Record: r}, nil)
	w.work()
	w.state("one", "up")
	slow := w.visitor(w.store, func(c *fulfil.Config) { c.Limit = -1 })
	w.update("one", map[string]any{"text": "more"})
	if _, err := slow.Visit(t.Context(), []string{"one"}, false, time.Time{}); err != nil {
		t.Error(err)
	}
	if r := w.read("one"); !strings.Contains(string(r.Problems), "took longer") {
		t.Errorf("%s: %s", r.State, r.Problems)
	}
}

// TestVisitEnds orders a change, while what was deployed last has yet to be run, of a model that is
// not compiled here, and wants the visit to end: what became of the resources can be looked at at
// any time, but the compile waits.
func TestVisitEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	visit := func(elsewhere bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		store := &crash{Store: w.store, at: 20, end: cancel} // it needs a few writes
		worker := w.visitor(store, func(c *fulfil.Config) {
			if elsewhere {
				c.Elsewhere = func(bundle.Opened) []diag.Problem {
					return []diag.Problem{{Message: "the model has Python code"}}
				}
			}
		})
		left, err := worker.Visit(ctx, []string{"one"}, false, time.Time{})
		if err != nil || len(left) > 0 {
			t.Fatalf("%v: left %v, %s", err, left, w.states())
		}
	}
	visit(false)
	r := w.read("one")
	r.Tasks = append(r.Tasks, inventory.Task{
		Kind: inventory.TaskValidate, Number: r.Version, Set: string(lifecycle.Active),
	})
	r.Due = w.now()
	w.write(inventory.Change{Record: r}, nil)
	visit(true)
	r = w.read("one")
	if len(r.Tasks) != 2 || !strings.Contains(string(r.Problems), "Python code") {
		t.Errorf("%v %s", r.Tasks, r.Problems)
	}
	if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
		t.Fatal(err)
	}
	visit(true) // whoever has run the resources sends a notice
	if r = w.state("one", "up"); len(r.Tasks) != 1 {
		t.Errorf("%v", r.Tasks)
	}
}

// TestVisitRoom holds that models of other environments, and what was unpacked half, make room for
// the model that is compiled, that what is used stays, and that what was removed is unpacked again.
func TestVisitRoom(t *testing.T) {
	t.Parallel()
	const room = 1 << 20
	w := newWorld(t, site+"\n#"+strings.Repeat("x", room/2)+"\n")
	dir := t.TempDir()
	folder := func(name string, age time.Duration) string {
		t.Helper()
		path := filepath.Join(dir, name)
		err := os.MkdirAll(path, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(path, "large"), make([]byte, room/4), 0o600)
		}
		if err == nil {
			err = os.Chtimes(path, time.Time{}, time.Now().Add(-age))
		}
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	worker := w.visitor(w.store, func(c *fulfil.Config) { c.Dir, c.Room = dir, room })
	visit := func(id string) {
		t.Helper()
		w.order("site", id, map[string]any{"host_name": id})
		if _, err := worker.Visit(t.Context(), []string{id}, false, time.Time{}); err != nil {
			t.Fatal(err)
		}
		w.state(id, "inprogress")
	}
	there := func(path string, want bool) {
		t.Helper()
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	oldest, half := folder("a/one", 3*time.Hour), folder("b/.new-1", 2*time.Hour)
	kept, data := folder("b/two", time.Hour), folder("b/data", 9*time.Hour)
	visit("one")
	there(oldest, false)
	there(half, false)
	there(kept, true)
	there(data, true)
	models, err := filepath.Glob(filepath.Join(dir, env, "*", "project"))
	if err != nil || len(models) != 1 {
		t.Fatalf("%v %v", models, err)
	}
	if err := os.RemoveAll(filepath.Dir(models[0])); err != nil { // by the worker of another one
		t.Fatal(err)
	}
	visit("two")
	there(models[0], true)
}

// TestVisitEndsUnnotified wants visits to end where nobody deploys, and nobody would send a notice.
func TestVisitEndsUnnotified(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	for range 2 { // the second one does not know that what was exported is yet to be run
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		store := &crash{Store: w.store, at: 20, end: cancel} // it needs a few writes
		worker := w.visitor(store, func(c *fulfil.Config) { c.Notified = false })
		left, err := worker.Visit(ctx, []string{"one"}, false, time.Time{})
		if err != nil || len(left) > 0 {
			t.Fatalf("%v: left %v, %s", err, left, w.states())
		}
	}
	if r := w.read("one"); len(r.Tasks) == 0 {
		t.Errorf("nobody has run its resources, and nothing is left to do in %s", r.State)
	}
}
