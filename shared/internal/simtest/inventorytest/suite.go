// Package inventorytest is the conformance suite of inventory.Store.
package inventorytest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Harness is a new, empty store as two processes see it.
type Harness struct {
	A, B inventory.Store
	// Expire, if not nil, removes the data that the home of the store has marked to be removed
	// before a time. Homes that remove old data with a Write need none.
	Expire func(t *testing.T, now time.Time)
}

// Test runs the suite. open returns a new, empty store for each subtest.
func Test(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for name, run := range map[string]func(*suite){
		"Back": (*suite).back, "Missing": (*suite).missing, "Revisions": (*suite).revisions,
		"Together": (*suite).together, "Bounds": (*suite).bounds, "Identities": (*suite).identities,
		"References": (*suite).references, "Order": (*suite).order, "Pages": (*suite).pages,
		"Filters": (*suite).filters, "Events": (*suite).events, "Due": (*suite).due,
		"Environments": (*suite).environments, "Race": (*suite).race, "Crossing": (*suite).crossing,
		"Large": (*suite).large, "Handover": (*suite).handover, "Itself": (*suite).itself,
		"Reopened": (*suite).reopened, "Kept": (*suite).kept, "Rivals": (*suite).rivals,
		"Popular": (*suite).popular, "Serial": (*suite).serial, "History": (*suite).history,
		"Owners": (*suite).owners, "ByState": (*suite).byState, "Lists": (*suite).lists, "Generations": (*suite).generations, "Rounds": (*suite).rounds,
		"Full": (*suite).full, "Texts": (*suite).texts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(&suite{t, t.Context(), open(t)})
		})
	}
}

// suite is one test with its own store.
//
// Large: it has a method for each rule of the port.
type suite struct {
	*testing.T
	ctx context.Context
	h   Harness
}

const env = "default"

// began is the time of the first order.
var began = time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)

// record returns the n-th order.
func record(n int) inventory.Record {
	return inventory.Record{
		ID: fmt.Sprintf("i%03d", n), Service: "site",
		Instance: lifecycle.Instance{State: "up", Version: 1, Desired: 1},
		Created:  began.Add(time.Duration(n) * time.Second), Updated: began,
	}
}

// put stores a record, which has to succeed, and returns it with its revision.
func (s *suite) put(r inventory.Record, events ...inventory.Event) inventory.Record {
	s.Helper()
	revs, err := s.h.A.Write(s.ctx, env, []inventory.Change{{Record: r, Events: events}})
	if err != nil {
		s.Fatalf("%s: %v", r.ID, err)
	}
	if revs[0] <= r.Rev {
		s.Errorf("%s: revision %d after %d", r.ID, revs[0], r.Rev)
	}
	r.Rev = revs[0]
	return r
}

// refused checks that changes are refused.
func (s *suite) refused(kind fault.Kind, records ...inventory.Record) {
	s.Helper()
	var changes []inventory.Change
	for _, r := range records {
		changes = append(changes, inventory.Change{Record: r})
	}
	_, err := s.h.B.Write(s.ctx, env, changes)
	if !is(err, kind) {
		s.Errorf("it is not refused as %s: %v", kind, err)
	}
}

func is(err error, kind fault.Kind) bool {
	var f *fault.Error
	return errors.As(err, &f) && f.Kind == kind
}

// read returns a record as the other process reads it.
func (s *suite) read(id string) inventory.Record {
	s.Helper()
	r, err := s.h.B.Instance(s.ctx, env, id)
	if err != nil {
		s.Fatalf("%s: %v", id, err)
	}
	return r
}

func (s *suite) ids(q inventory.Query) []string {
	s.Helper()
	all, err := s.h.B.Instances(s.ctx, env, q)
	if err != nil {
		s.Fatal(err)
	}
	return ids(all)
}

func ids(all []inventory.Record) []string {
	out := []string{}
	for _, r := range all {
		out = append(out, r.ID)
	}
	return out
}

func (s *suite) same(what string, want, got any) {
	s.Helper()
	if d := cmp.Diff(want, got); d != "" {
		s.Errorf("%s: %s", what, d)
	}
}

// back reads a complete record back.
func (s *suite) back() {
	r := record(1)
	r.ServiceVersion, r.Identity, r.Callback, r.Closed = 3, "shop", "http://127.0.0.1/done", true
	r.Candidate = map[string]any{"name": "shop", "on": true, "none": nil, "list": []any{"a"}}
	r.Active = map[string]any{}
	r.Config = map[string]bool{"auto": false}
	r.Outcome, r.Validating, r.Trigger = lifecycle.Failed, "up", lifecycle.ByUpdate
	r.Metadata = map[string]string{"ticket": "7"}
	r.Tasks = inventory.Tasks([]lifecycle.Effect{
		lifecycle.Validate{Set: lifecycle.Candidate, Version: 1},
		lifecycle.Export{
			Desired: 2,
			Present: true,
			Purge:   true,
		}, lifecycle.Continue{}, lifecycle.Gone{},
	})
	r.Due = began.Add(time.Minute)
	r.Resources, r.Follows = []string{"fs::File[a,path=/a]"}, []string{"fs::File[a,path=/top]"}
	r.Places = []diag.Pos{{File: "main.cf", Line: 1, Column: 2}}
	r = s.put(r)
	s.same("the record", r, s.read(r.ID))
	r.State, r.Tasks, r.Due, r.Candidate = "failed", nil, time.Time{}, nil
	r = s.put(r)
	s.same("the record after a change", r, s.read(r.ID))
}

func (s *suite) missing() {
	_, err := s.h.A.Instance(s.ctx, env, "nobody")
	_, other := s.h.A.ByIdentity(s.ctx, env, "site", "nobody")
	if !is(err, fault.NotFound) || !is(other, fault.NotFound) {
		s.Errorf("%v, %v", err, other)
	}
	s.same("nothing", []string{}, s.ids(inventory.Query{}))
	events, err := s.h.A.Events(s.ctx, env, "nobody", 0, 0)
	if err != nil || len(events) > 0 {
		s.Errorf("%v, %v", events, err)
	}
}

func (s *suite) revisions() {
	r := s.put(record(1))
	again := record(1)
	s.refused(fault.Conflict, again) // it exists already
	old := r
	r.State = "failed"
	r = s.put(r)
	old.State = "lost"
	s.refused(fault.Conflict, old)
	never := record(2)
	never.Rev = 4
	s.refused(fault.Conflict, never) // it does not exist
	s.same("the record", r, s.read(r.ID))
}

// together stores several records, or none.
func (s *suite) together() {
	one, two := s.put(record(1)), record(2)
	stale := one
	one.State = "failed"
	one = s.put(one)
	s.refused(fault.Conflict, two, stale)
	s.same("nothing of it", []string{one.ID}, s.ids(inventory.Query{}))
	revs, err := s.h.B.Write(s.ctx, env, []inventory.Change{
		{Record: two, Events: []inventory.Event{{Kind: "created"}}}, {Record: one},
	})
	if err != nil || len(revs) != 2 {
		s.Fatal(revs, err)
	}
	s.same("the revisions", revs, []int64{s.read(two.ID).Rev, s.read(one.ID).Rev})
}

func (s *suite) identities() {
	one, two, other := record(1), record(2), record(3)
	one.Identity, two.Identity, other.Identity, other.Service = "shop", "shop", "shop", "lab"
	one = s.put(one)
	s.refused(fault.Refused, two)
	s.put(other) // of another service
	found, err := s.h.B.ByIdentity(s.ctx, env, "site", "shop")
	if err != nil || found.ID != one.ID || found.Rev != one.Rev {
		s.Errorf("%+v, %v", found, err)
	}
	third := record(4)
	third.Identity = "shop"
	s.refused(fault.Refused, third)
	one = s.put(one) // it keeps its own identity
	one.Deleted, one.Closed = true, true
	one = s.put(one)
	if _, err := s.h.B.ByIdentity(s.ctx, env, "site", "shop"); !is(err, fault.NotFound) {
		s.Errorf("a deleted instance is found: %v", err)
	}
	two = s.put(two)
	one.Deleted, one.Closed = false, false
	s.refused(fault.Refused, one) // another instance has it now
	found, err = s.h.A.ByIdentity(s.ctx, env, "site", "shop")
	if err != nil || found.ID != two.ID {
		s.Errorf("%+v, %v", found, err)
	}
}

func (s *suite) references() {
	parent, child := record(1), record(2)
	child.References = []string{parent.ID}
	s.refused(fault.Refused, child) // the target does not exist
	parent = s.put(parent)
	child = s.put(child)
	by, err := s.h.B.ReferredBy(s.ctx, env, parent.ID)
	if err != nil {
		s.Fatal(err)
	}
	s.same("who refers", []string{child.ID}, by)
	closed := parent
	closed.Closed = true
	s.refused(fault.Refused, closed)
	child.Closed = true // its delete begins while it still needs the other one
	child = s.put(child)
	s.refused(fault.Refused, closed)
	child.Deleted = true
	child = s.put(child)
	s.same("it keeps what it has led to", []string{parent.ID}, s.read(child.ID).References)
	parent = s.put(closed)
	late := record(3)
	late.References = []string{parent.ID}
	s.refused(fault.Refused, late)
	parent.Deleted = true
	s.put(parent)
	s.refused(fault.Refused, late)
	s.atOnce()
}

// atOnce deletes an instance without closing it first.
func (s *suite) atOnce() {
	parent, child := s.put(record(11)), record(12)
	child.References = []string{parent.ID}
	child = s.put(child)
	gone := parent
	gone.Deleted = true
	s.refused(fault.Refused, gone)
	child.References = nil
	child = s.put(child)
	s.put(gone)
	child.References = []string{parent.ID}
	s.refused(fault.Refused, child)
}

// order creates instances that refer to each other in one write, and deletes them.
func (s *suite) order() {
	one, two := record(1), record(2)
	one.References, two.References = []string{two.ID}, []string{one.ID}
	revs, err := s.h.A.Write(s.ctx, env, []inventory.Change{{Record: one}, {Record: two}})
	if err != nil {
		s.Fatal(err)
	}
	one.Rev, two.Rev = revs[0], revs[1]
	one.References = nil
	one = s.put(one)
	one.Closed = true
	s.refused(fault.Refused, one)
	two.Deleted = true
	if _, err := s.h.B.Write(s.ctx, env,
		[]inventory.Change{{Record: one}, {Record: two}}); err != nil {
		s.Error(err)
	}
}

func (s *suite) pages() {
	const n = 7
	var want []string
	for i := range n {
		r := record(i)
		r.Created = began.Add(time.Duration(i/3) * time.Second) // some with equal times
		want = append(want, s.put(r).ID)
	}
	for _, newest := range []bool{false, true} {
		var got []string
		q := inventory.Query{Limit: 2, NewestFirst: newest}
		for {
			page, err := s.h.B.Instances(s.ctx, env, q)
			if err != nil {
				s.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			got = append(got, ids(page)...)
			last := page[len(page)-1]
			q.After = &inventory.Record{ID: last.ID, Created: last.Created}
		}
		for i, id := range got {
			at := s.read(id)
			q := inventory.Query{
				NewestFirst: newest, Limit: 2,
				After: &inventory.Record{ID: id, Created: at.Created},
			}
			s.same("up to "+id, inventory.Count{Total: n, Ahead: i + 1}, s.count(q))
		}
		if newest {
			slices.Reverse(got)
		}
		s.same("all pages", want, got)
	}
	nowhere := inventory.Query{After: &inventory.Record{ID: "i001x", Created: began}}
	s.same("up to a place where nothing is", inventory.Count{Total: n, Ahead: 2}, s.count(nowhere))
}

func (s *suite) count(q inventory.Query) inventory.Count {
	s.Helper()
	n, err := s.h.B.Count(s.ctx, env, q)
	if err != nil {
		s.Fatal(err)
	}
	return n
}

func (s *suite) filters() {
	for i, state := range []string{"up", "failed", "up", "terminated"} {
		r := record(i)
		r.State, r.Deleted = state, state == "terminated"
		if i == 2 {
			r.Service = "lab"
		}
		s.put(r)
	}
	for _, test := range []struct {
		q    inventory.Query
		want []string
	}{
		{inventory.Query{}, []string{"i000", "i001", "i002"}},
		{inventory.Query{Deleted: true}, []string{"i000", "i001", "i002", "i003"}},
		{inventory.Query{Service: "lab"}, []string{"i002"}},
		{inventory.Query{Service: "nobody"}, []string{}},
		{inventory.Query{States: []string{"up"}}, []string{"i000", "i002"}},
		{inventory.Query{States: []string{"up", "failed"}, Service: "site"},
			[]string{"i000", "i001"}},
		{inventory.Query{States: []string{"terminated"}}, []string{}},
		{inventory.Query{States: []string{"up", "failed"}, Limit: 2}, []string{"i000", "i001"}},
	} {
		what := fmt.Sprintf("%+v", test.q)
		s.same(what, test.want, s.ids(test.q))
		if test.q.Limit > 0 {
			continue // counts cover the whole list
		}
		s.same("count of "+what, inventory.Count{Total: len(test.want)}, s.count(test.q))
		last := record(2)
		test.q.After, test.q.NewestFirst = &last, true
		ahead := 0
		for _, id := range test.want {
			if id >= last.ID {
				ahead++
			}
		}
		s.same("count of "+what+" down to the third", inventory.Count{Total: len(test.want),
			Ahead: ahead}, s.count(test.q))
	}
}

func (s *suite) events() {
	at := func(kind string) inventory.Event {
		return inventory.Event{
			At:      began,
			Version: 1,
			Kind:    kind,
			From:    "a",
			To:      "b",
			More:    []byte(`{"x":1}`),
			Compile: &inventory.Compile{DurationMS: 7, Instances: 2, Trace: "x\n  y", Output: "1\n"},
		}
	}
	r := s.put(record(1), at("one"), at("two"))
	stale := r
	r = s.put(r)
	s.put(r, at("three"))
	_, err := s.h.B.Write(s.ctx, env, []inventory.Change{
		{Record: stale, Events: []inventory.Event{at("lost")}},
	})
	if !is(err, fault.Conflict) {
		s.Error(err)
	}
	read := func(after int64, limit int) []string {
		all, err := s.h.B.Events(s.ctx, env, r.ID, after, limit)
		if err != nil {
			s.Fatal(err)
		}
		out := []string{}
		for i, e := range all {
			out = append(out, e.Kind)
			if e.Seq != after+int64(i)+1 || !e.At.Equal(began) || string(e.More) != `{"x":1}` ||
				e.Compile == nil || *e.Compile != (inventory.Compile{DurationMS: 7, Instances: 2, Trace: "x\n  y", Output: "1\n"}) {
				s.Errorf("%+v", e)
			}
		}
		return out
	}
	s.same("all", []string{"one", "two", "three"}, read(0, 0))
	s.same("behind the first", []string{"two"}, read(1, 1))
	s.same("behind the last", []string{}, read(3, 0))
}

func (s *suite) due() {
	task := []inventory.Task{{Kind: inventory.TaskContinue}}
	for i, minutes := range []int{2, 1, 9} {
		r := record(i)
		r.Tasks, r.Due = task, began.Add(time.Duration(minutes)*time.Minute)
		s.put(r)
	}
	s.put(record(3)) // has no tasks
	ask := func(after time.Duration, limit int) []string {
		all, err := s.h.B.Due(s.ctx, env, began.Add(after), limit)
		if err != nil {
			s.Fatal(err)
		}
		return ids(all)
	}
	s.same("too early", []string{}, ask(time.Second, 0))
	s.same("on the minute", []string{"i001"}, ask(time.Minute, 0))
	s.same("the oldest first", []string{"i001", "i000"}, ask(5*time.Minute, 0))
	s.same("a page", []string{"i001"}, ask(time.Hour, 1))
	done := s.read("i001")
	done.Tasks = nil
	s.put(done)
	s.same("without what is done", []string{"i000", "i002"}, ask(time.Hour, 0))
}

func (s *suite) environments() {
	r := record(1)
	r.Identity = "shop"
	s.put(r)
	revs, err := s.h.B.Write(s.ctx, "other", []inventory.Change{{Record: r}})
	if err != nil || len(revs) != 1 {
		s.Fatal(err)
	}
	refers := record(2)
	s.put(refers)
	far := record(3)
	far.References = []string{refers.ID}
	_, err = s.h.A.Write(s.ctx, "other", []inventory.Change{{Record: far}})
	if !is(err, fault.Refused) {
		s.Errorf("it leads into another environment: %v", err)
	}
}
