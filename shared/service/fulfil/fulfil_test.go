package fulfil_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// site is the model of docs/catalog.md, with a text that can change, a number that is allocated,
// and something wrong for one value.
const site = `
import lsm
import lsm::fsm
import lsm::allocators
import southbound
import southbound::fs

entity Site extends lsm::ServiceEntity:
    string host_name
    lsm::attribute_modifier host_name__modifier = "rw"
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
    int? port = null
    lsm::attribute_modifier port__modifier = "r"
end

implementation page for Site:
    self.owned_resources += southbound::fs::File(
        agent=here, path="SRV/{{ self.host_name }}", content="{{ self.text }} {{ port }}",
        purged=self.purge_resources, requires=top,
    )
    port = lsm::allocators::get_first_free_integer(self, "port", 8000, 9999)
    if self.text == "wrong":
        number = 1 / (self.host_name == "" ? 1 : 0)
    end
end

implement Site using parents, page

here = southbound::Agent(name="here")
top = southbound::fs::File(agent=here, path="SRV/top", content="top")
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
for one in lsm::all(binding):
    Site(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// TestOrder takes an order to its file, a change to the file, and a delete to its end.
func TestOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.work()
	r := w.state("one", "up")
	w.file("a", "hello 8000")
	w.file("top", "top")
	if b, _ := json.Marshal(r.Active["port"]); string(b) != "8000" {
		t.Errorf("the port is %s", b)
	}
	w.order("site", "two", map[string]any{"host_name": "b", "text": "bye"})
	w.work()
	w.state("two", "up")
	w.file("b", "bye 8001")
	w.update("one", map[string]any{"text": "more"})
	w.work()
	w.state("one", "up")
	w.file("a", "more 8000")
	w.file("b", "bye 8001")
	w.remove("one")
	w.work()
	if r := w.state("one", "terminated"); !r.Deleted {
		t.Error("it is not deleted")
	}
	w.file("a", "")
	w.file("b", "bye 8001")
	w.file("top", "top")
	w.state("two", "up")
	w.nothingLeft()
}

// TestWrong has an order rejected, with the problem and its place, while others go on.
func TestWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.order("site", "two", map[string]any{"host_name": "b", "text": "wrong"})
	w.order("site", "three", map[string]any{"host_name": "c"})
	w.work()
	w.state("one", "up")
	w.state("three", "up")
	w.file("a", "hello 8000")
	r := w.state("two", "rejected")
	var problems []diag.Problem
	if err := json.Unmarshal(r.Problems, &problems); err != nil || len(problems) != 1 {
		t.Fatalf("%s: %v", r.Problems, err)
	}
	if p := problems[0]; p.File != "main.cf" || p.Line != 24 {
		t.Errorf("it is at %s: %s", p.Pos, p.Message)
	}
	events, err := w.store.Events(t.Context(), env, "two", 0, 100)
	if err != nil || len(events) == 0 {
		t.Fatal(err)
	}
	last := events[len(events)-1]
	if !last.Error || !strings.HasPrefix(last.Message, "main.cf:24:") ||
		!strings.Contains(string(last.More), `"line":24`) {
		t.Errorf("%+v", last)
	}
	if ran := last.Compile; ran == nil || ran.Instances != 1 || ran.DurationMS < 0 ||
		!strings.HasPrefix(ran.Trace, "main.cf:24:") {
		t.Errorf("the failed compile: %+v", ran)
	}
	if events, err = w.store.Events(t.Context(), env, "one", 0, 100); err != nil {
		t.Fatal(err)
	}
	if n := slices.IndexFunc(events, func(e inventory.Event) bool { return e.Compile != nil }); n < 0 ||
		events[n].Compile.Trace != "" || events[n].Error {
		t.Errorf("the compile that succeeded is not in %+v", events)
	}
	w.update("two", map[string]any{"text": "right"})
	w.work()
	if r := w.state("two", "up"); len(r.Problems) > 0 {
		t.Errorf("%s", r.Problems)
	}
	w.update("two", map[string]any{"text": "wrong"})
	w.work()
	w.state("two", "update_rejected")
	w.file("b", "right 8002")
	w.state("one", "up")
}

// TestNotDeployed holds that an instance whose resources cannot be deployed says which one that is,
// why, and where the model makes it; also when a repair has failed later, and that nothing of it is
// left when all is well again.
func TestNotDeployed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	in := filepath.Join(w.srv, "in")
	if err := os.WriteFile(in, nil, 0o600); err != nil { // where a directory is to be
		t.Fatal(err)
	}
	w.order("site", "one", map[string]any{"host_name": "in/a"})
	w.work()
	says := func(state string) {
		t.Helper()
		r := w.state("one", state)
		var problems []diag.Problem
		if err := json.Unmarshal(r.Problems, &problems); err != nil || len(problems) != 1 {
			t.Fatalf("%s: %v", r.Problems, err)
		}
		p := problems[0]
		if p.Pos != (diag.Pos{File: "main.cf", Line: 18, Column: 29}) ||
			p.Resource != "fs::File[here,path="+in+"/a]" || !strings.Contains(p.Message, in) {
			t.Errorf("%+v", p)
		}
		events, err := w.store.Events(t.Context(), env, "one", 0, 100)
		if err != nil || len(events) == 0 {
			t.Fatal(err)
		}
		last := events[len(events)-1]
		if !last.Error || !strings.HasPrefix(last.Message, "main.cf:18:29: fs::File[") {
			t.Errorf("%+v", last)
		}
	}
	says("failed")
	repaired := func() {
		t.Helper()
		_, err := w.engine.Repair(t.Context(), env, deploy.Request{RetryFailed: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.runner.Drain(t.Context(), env, nil); err != nil {
			t.Fatal(err)
		}
		w.rounds(w.running())
	}
	if err := errors.Join(os.Remove(in), os.Mkdir(in, 0o700)); err != nil {
		t.Fatal(err)
	}
	repaired()
	if r := w.state("one", "up"); len(r.Problems) > 0 {
		t.Errorf("it is well, and says %s", r.Problems)
	}
	if err := errors.Join(os.RemoveAll(in), os.WriteFile(in, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	repaired()
	says("failed")
}

// TestConflict rejects the second of two orders that want the same thing, also when both are there
// at once, and lets neither harm the first one.
func TestConflict(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	w.order("site", "one", map[string]any{"host_name": "a"})
	w.order("site", "two", map[string]any{"host_name": "a", "text": "mine"})
	w.work()
	w.order("site", "three", map[string]any{"host_name": "a", "text": "mine"})
	w.work()
	w.state("one", "up")
	for _, id := range []string{"two", "three"} {
		r := w.state(id, "rejected")
		if !strings.Contains(string(r.Problems), "which this export does not replace") ||
			!strings.Contains(string(r.Problems), `"file":"main.cf"`) ||
			!strings.Contains(string(r.Problems), "the instance site one has it") {
			t.Errorf("%s", r.Problems)
		}
	}
	w.file("a", "hello 8000")
}

// TestConflictNames names the instance that has something as people do: by its identity.
func TestConflictNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, strings.NewReplacer(
		`service_entity_name="site",`, `service_entity_name="site", service_identity="text",`,
		`text__modifier = "rw+"`, `text__modifier = "rw"`,
	).Replace(site))
	w.order("site", "one", map[string]any{"host_name": "a", "text": "first"})
	w.work()
	w.order("site", "two", map[string]any{"host_name": "a", "text": "second"})
	w.work()
	r := w.state("two", "rejected")
	if !strings.Contains(string(r.Problems), "does not replace: the instance site/first has it") {
		t.Errorf("%s", r.Problems)
	}
}

// TestLarge has more to write at once than a store takes: it is less than MaxChanges, and with two
// sets of attributes each, which count twice, more than MaxBytes.
func TestLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	const size = inventory.MaxAttributes - 1000
	const many = inventory.MaxBytes/(2*2*size) + 1
	text := strings.Repeat("x", size)
	for n := range many {
		id := fmt.Sprintf("i%02d", n)
		w.order("site", id, map[string]any{"host_name": id, "text": text})
	}
	w.work()
	for n := range many {
		w.update(fmt.Sprintf("i%02d", n), map[string]any{"text": text + "y"})
	}
	w.work()
	for n := range many {
		w.state(fmt.Sprintf("i%02d", n), "up")
	}
}

// crash is a store that fails at a write, which it does before or not at all, and has the worker
// end.
type crash struct {
	inventory.Store
	at      int // the number of the write, from 1
	written bool
	end     context.CancelFunc
	n       int
}

var errCrash = fault.New(fault.Unavailable, "", "crashed")

// Write implements inventory.Store.
func (c *crash) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	if c.n++; c.n < c.at {
		return c.Store.Write(ctx, env, changes)
	}
	c.end()
	if c.n == c.at && c.written {
		if _, err := c.Store.Write(context.WithoutCancel(ctx), env, changes); err != nil {
			return nil, err
		}
	}
	return nil, errCrash
}

// crashes works with a crash at a write, and then without one. It returns false if there was no
// such write.
func (w *world) crashes(at int, written bool) bool {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Minute)
	defer cancel()
	store := &crash{Store: w.store, at: at, written: written, end: cancel}
	worker := w.worker(store)
	worker.Failed = func(error) {}
	_ = worker.Run(ctx, w.settled)
	w.work()
	return store.n >= at
}

// TestCrash ends the worker at each of its writes, before and after it is done, and holds that the
// next one comes to the same end, without a transfer twice.
func TestCrash(t *testing.T) {
	t.Parallel()
	w := newWorld(t, site)
	again, n := true, 0
	for at := 1; again; at++ {
		again = false
		for _, written := range []bool{false, true} {
			n++
			id, name := fmt.Sprintf("i%d", n), fmt.Sprintf("f%d", n)
			w.order("site", id, map[string]any{"host_name": name})
			again = w.crashes(at, written) || again
			r := w.state(id, "up")
			text := fmt.Sprint(r.Active["port"])
			w.file(name, "hello "+text)
			w.update(id, map[string]any{"text": "more"})
			again = w.crashes(at, written) || again
			w.state(id, "up")
			w.file(name, "more "+text)
			w.remove(id)
			again = w.crashes(at, written) || again
			w.state(id, "terminated")
			w.nothingLeft()
			w.file(name, "")
			w.once(id)
		}
		if at > 30 {
			t.Fatal("there is no end of writes")
		}
	}
	if n < 8 {
		t.Errorf("it has ended %d workers", n)
	}
}

// once holds that an instance took the transfers of its life once each, one after the other.
func (w *world) once(id string) {
	w.Helper()
	events, err := w.store.Events(w.Context(), env, id, 0, 1000)
	if err != nil {
		w.Fatal(err)
	}
	var path []string
	for _, e := range events {
		if e.To != "" {
			path = append(path, e.To)
		}
	}
	const want = "acknowledged inprogress up update_start update_acknowledged update_inprogress up " +
		"deleting terminated"
	if got := strings.Join(path, " "); got != want {
		w.Errorf("%s went %s", id, got)
	}
}
