// Package callbacktest is the conformance suite of callback.Store, and of a teller that uses it.
package callbacktest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/fault"
	"southbound/shared/service/callback"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Harness is a new, empty store as two processes see it, with the store of instances that marks
// instances with new events.
type Harness struct {
	A, B      callback.Store
	Instances inventory.Store
}

// Test runs the suite. open returns a new, empty store for each subtest.
func Test(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for name, run := range map[string]func(*suite){
		"Back": (*suite).back, "Refused": (*suite).refused, "Pending": (*suite).pending,
		"Several": (*suite).several, "Between": (*suite).between, "Pages": (*suite).pages,
		"Calls": (*suite).calls, "Failing": (*suite).failing, "Killed": (*suite).killed,
		"Hanging": (*suite).hanging, "Dropped": (*suite).dropped, "Unwanted": (*suite).unwanted,
		"Late": (*suite).late, "Signed": (*suite).signed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(&suite{t, t.Context(), open(t), map[string]inventory.Record{}})
		})
	}
}

// suite is one test with its own store.
//
// Large: it has a method for each rule of the port.
type suite struct {
	*testing.T
	ctx     context.Context
	h       Harness
	records map[string]inventory.Record
}

const env = "default"

// began is the time of the first registration.
var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func of(id string) callback.Callback {
	return callback.Callback{ID: id, URL: "http://127.0.0.1:1/" + id, Created: began}
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) same(what string, want, got any) {
	s.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("%s: %s", what, d)
	}
}

// happens writes an instance with an event of each kind.
func (s *suite) happens(id string, kinds ...string) {
	s.Helper()
	r, ok := s.records[id]
	if !ok {
		r = inventory.Record{
			ID: id, Service: "site", Created: began,
			Instance: lifecycle.Instance{State: "up", Version: 1},
		}
	}
	c := inventory.Change{Record: r}
	for _, k := range kinds {
		c.Events = append(c.Events, inventory.Event{
			Kind: k, At: began.Add(time.Second), Version: 1, Error: k == "problem",
		})
	}
	revs, err := s.h.Instances.Write(s.ctx, env, []inventory.Change{c})
	s.must(err)
	c.Record.Rev = revs[0]
	s.records[id] = c.Record
}

func (s *suite) register(c callback.Callback) {
	s.Helper()
	s.must(s.h.A.Register(s.ctx, env, c))
}

func (s *suite) all() []callback.Callback {
	s.Helper()
	all, err := s.h.B.Callbacks(s.ctx, env)
	s.must(err)
	return all
}

// waits returns the pending instances.
func (s *suite) waits() []callback.Pending {
	s.Helper()
	all, err := s.h.B.Pending(s.ctx, env, "")
	s.must(err)
	return all
}

// back reads callbacks back, with their health.
func (s *suite) back() {
	one := of("b")
	one.Service, one.Events, one.Level = "site", []string{"auto", "CREATE_TRANSITION"}, "ERROR"
	s.register(one)
	s.register(of("a"))
	s.register(one) // again
	one.Health = callback.Health{
		Failures: 2, Since: began, Next: began.Add(time.Minute), Error: "e", Dropped: 3,
	}
	s.must(s.h.A.Report(s.ctx, env, "b", one.Health))
	s.must(s.h.A.Report(s.ctx, env, "nobody", one.Health))
	s.same("all", []callback.Callback{of("a"), one}, s.all())
	others, err := s.h.B.Callbacks(s.ctx, "other")
	s.must(err)
	s.same("of another environment", 0, len(others))
	s.must(s.h.B.Unregister(s.ctx, env, "b"))
	s.same("all", []callback.Callback{of("a")}, s.all())
}

func (s *suite) refused() {
	s.register(of("a"))
	other := of("a")
	other.Service = "lab"
	if err := s.h.B.Register(s.ctx, env, other); !fault.Is(err, fault.Conflict) {
		s.Errorf("another one of the id: %v", err)
	}
	if err := s.h.B.Unregister(s.ctx, env, "b"); !fault.Is(err, fault.NotFound) {
		s.Errorf("one that is not there: %v", err)
	}
	for n := 1; n < callback.MaxCallbacks; n++ {
		s.register(of(fmt.Sprint("c", n)))
	}
	if err := s.h.B.Register(s.ctx, env, of("z")); !fault.Is(err, fault.Full) {
		s.Errorf("one more than may be: %v", err)
	}
	s.must(s.h.B.Register(s.ctx, "other", of("z")))
}

// pending checks that events are pending once there are callbacks, until they are delivered.
func (s *suite) pending() {
	s.happens("i", "create")
	s.same("before there is a callback", 0, len(s.waits()))
	s.register(of("a"))
	s.happens("i", "auto", "auto")
	s.happens("i")
	s.happens("j", "create")
	want := []callback.Pending{
		{Instance: "i", Service: "site", From: 1, Last: 3, Delivered: map[string]int64{}},
		{Instance: "j", Service: "site", Last: 1, Delivered: map[string]int64{}},
	}
	s.same("what happened", want, s.waits())
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 2, []string{"a"}))
	want[0].Delivered["a"] = 2
	s.same("some of it was told", want, s.waits())
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 1, []string{"a"})) // late
	s.same("what was told stays told", want, s.waits())
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 3, []string{"a"}))
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 3, []string{"a"})) // no longer pending
	s.same("all of it was told", want[1:], s.waits())
	s.happens("i", "auto")
	s.same("and more", int64(3), s.waits()[0].From)
}

// several checks that events stay pending until all callbacks have received them.
func (s *suite) several() {
	s.register(of("a"))
	s.register(of("b"))
	s.happens("i", "create")
	both := []string{"a", "b"}
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 1, both))
	s.same("one was told", map[string]int64{"a": 1}, s.waits()[0].Delivered)
	s.must(s.h.B.Delivered(s.ctx, env, "i", "b", 1, both))
	s.same("both were told", 0, len(s.waits()))
	s.happens("i", "auto")
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 2, both))
	s.must(s.h.A.Unregister(s.ctx, env, "b"))
	s.must(s.h.A.Delivered(s.ctx, env, "i", "a", 2, both[:1]))
	s.same("the other one is gone", 0, len(s.waits()))
}

// between writes events while others are delivered: none is lost.
func (s *suite) between() {
	s.register(of("a"))
	const n = 20
	told, done := int64(0), make(chan struct{})
	go func() {
		defer close(done)
		for range n {
			s.happens("i", "auto")
		}
	}()
	for writing := true; writing || len(s.waits()) > 0; {
		select {
		case <-done:
			writing = false
		default:
		}
		for _, p := range s.waits() {
			if p.From > told || p.Last < told {
				s.Fatalf("after %d were told, %+v is pending", told, p)
			}
			told = p.Last
			s.must(s.h.B.Delivered(s.ctx, env, "i", "a", told, []string{"a"}))
		}
	}
	if told != n {
		s.Errorf("%d of %d events were told", told, n)
	}
}

func (s *suite) pages() {
	s.register(of("a"))
	const n = callback.MaxPending + 5
	for i := range n {
		s.happens(fmt.Sprintf("i%03d", i), "create")
	}
	var got []string
	for after := ""; ; {
		page, err := s.h.B.Pending(s.ctx, env, after)
		s.must(err)
		for _, p := range page {
			got = append(got, p.Instance)
		}
		if len(page) < callback.MaxPending {
			break
		}
		after = page[len(page)-1].Instance
	}
	if len(got) != n || !slices.IsSorted(got) {
		s.Errorf("%d of %d, in this order: %v", len(got), n, got)
	}
}
