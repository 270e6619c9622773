package inventorytest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// OrderStore is a store of instances and orders.
type OrderStore interface {
	inventory.Store
	inventory.OrderBook
}

// OrdersHarness is a new, empty store as two processes see it.
type OrdersHarness struct{ A, B OrderStore }

// TestOrders runs the suite of inventory.OrderBook. open returns a new, empty store for each
// subtest.
func TestOrders(t *testing.T, open func(t *testing.T) OrdersHarness) {
	t.Helper()
	for name, run := range map[string]func(*orderSuite){
		"Back": (*orderSuite).back, "Nothing": (*orderSuite).nothing, "Pages": (*orderSuite).pages,
		"Note": (*orderSuite).note, "Forget": (*orderSuite).forget, "Full": (*orderSuite).full,
		"Race": (*orderSuite).race,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			run(&orderSuite{&suite{t, t.Context(), Harness{A: h.A, B: h.B}}, h})
		})
	}
}

type orderSuite struct {
	*suite
	book OrdersHarness
}

// orderOf returns the n-th order, for some instances.
func orderOf(n int, instances ...inventory.Record) inventory.Order {
	o := inventory.Order{
		ID: fmt.Sprintf("o%03d", n), Digest: fmt.Sprint("digest", n), Description: "move",
		Created: began.Add(time.Duration(n) * time.Second),
	}
	for i := range instances {
		o.Items = append(o.Items, inventory.OrderItem{
			Name: "web", Instance: instances[i].ID, Service: instances[i].Service, Action: "create",
			Config: map[string]bool{"auto": true}, Needs: []string{"other"},
		})
	}
	return o
}

func changesOf(records ...inventory.Record) []inventory.Change {
	var out []inventory.Change
	for i := range records {
		out = append(out, inventory.Change{
			Record: records[i], Events: []inventory.Event{{Kind: "create", At: began}},
		})
	}
	return out
}

func (s *orderSuite) place(o inventory.Order, records ...inventory.Record) []int64 {
	s.Helper()
	revs, err := s.book.A.Place(s.ctx, env, o, changesOf(records...))
	if err != nil {
		s.Fatalf("%s: %v", o.ID, err)
	}
	return revs
}

// back reads an order and its instances back, with their marks.
func (s *orderSuite) back() {
	one, two := record(1), record(2)
	one.Orders = []inventory.Mark{{Order: "o001", Version: 1, Delete: true}, {
		Order: "o001", Item: 1, Version: 2,
		Outcome: inventory.Outcome{
			State: inventory.ItemFailed, Failure: inventory.FailedExecution, Reason: "r",
			Label: "l",
			At:    began,
		},
	}}
	o := orderOf(1, one, two)
	revs := s.place(o, one, two)
	got, err := s.book.B.Order(s.ctx, env, o.ID)
	if err != nil {
		s.Fatal(err)
	}
	s.same("the order", o, got)
	records, err := s.book.B.Records(s.ctx, env, []string{two.ID, "nobody", one.ID, two.ID})
	if err != nil {
		s.Fatal(err)
	}
	one.Rev, two.Rev = revs[0], revs[1]
	s.same("its instances", map[string]inventory.Record{one.ID: one, two.ID: two}, records)
	for _, id := range []string{"o002", ""} {
		if _, err := s.book.B.Order(s.ctx, env, id); !is(err, fault.NotFound) {
			s.Errorf("order %q: %v", id, err)
		}
	}
	if _, err := s.book.B.Order(s.ctx, "other", o.ID); !is(err, fault.NotFound) {
		s.Errorf("it is in another environment: %v", err)
	}
}

// nothing checks that a refused order stores neither the order nor any of its changes.
func (s *orderSuite) nothing() {
	one := record(1)
	s.place(orderOf(1, one), one)
	two := record(2)
	large := orderOf(3, two)
	large.Description = string(make([]byte, inventory.MaxOrder))
	for _, c := range []struct {
		why     string
		order   inventory.Order
		records []inventory.Record
		kind    fault.Kind
	}{
		{"there is an order of the id", orderOf(1, two), []inventory.Record{two}, fault.Conflict},
		{
			"one of the instances is there", orderOf(2, two, one), []inventory.Record{two, one},
			fault.Conflict,
		},
		{"it has no changes", orderOf(2), nil, fault.Invalid},
		{"it is too large", large, []inventory.Record{two}, fault.Invalid},
		{"it has no id", inventory.Order{Created: began}, []inventory.Record{two}, fault.Invalid},
	} {
		_, err := s.book.B.Place(s.ctx, env, c.order, changesOf(c.records...))
		if !is(err, c.kind) {
			s.Errorf("%s: %v", c.why, err)
		}
	}
	s.same("the instances", []string{one.ID}, s.ids(inventory.Query{}))
	s.same("the orders", []string{"o001"}, s.orders(inventory.OrderQuery{}))
}

func (s *orderSuite) orders(q inventory.OrderQuery) []string {
	s.Helper()
	all, err := s.book.B.Orders(s.ctx, env, q)
	if err != nil {
		s.Fatal(err)
	}
	out := []string{}
	for i := range all {
		out = append(out, all[i].ID)
	}
	return out
}

func (s *orderSuite) pages() {
	s.same("nothing", []string{}, s.orders(inventory.OrderQuery{}))
	want := []string{}
	for n := range 5 {
		o, r := orderOf(n, record(n)), record(n)
		o.Created = began.Add(time.Duration(n/2) * time.Second) // some with equal times
		s.place(o, r)
		want = append(want, o.ID)
	}
	for _, newest := range []bool{false, true} {
		var got []string
		q := inventory.OrderQuery{Limit: 2, NewestFirst: newest}
		for {
			page, err := s.book.B.Orders(s.ctx, env, q)
			if err != nil {
				s.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			for i := range page {
				got = append(got, page[i].ID)
			}
			last := page[len(page)-1]
			q.After = &inventory.Order{ID: last.ID, Created: last.Created}
		}
		for i, id := range got {
			o, err := s.book.B.Order(s.ctx, env, id)
			if err != nil {
				s.Fatal(err)
			}
			n, err := s.book.B.CountOrders(s.ctx, env, inventory.OrderQuery{
				NewestFirst: newest, After: &inventory.Order{ID: id, Created: o.Created},
			})
			if err != nil {
				s.Fatal(err)
			}
			s.same("up to "+id, inventory.Count{Total: len(want), Ahead: i + 1}, n)
		}
		if newest {
			slices.Reverse(got)
		}
		s.same("all pages", want, got)
	}
}

// note records the outcomes of items, once each.
func (s *orderSuite) note() {
	one, two := record(1), record(2)
	o := orderOf(1, one, two)
	s.place(o, one, two)
	done := inventory.Outcome{State: inventory.ItemCompleted, At: began, Label: "success"}
	for _, outcome := range []inventory.Outcome{done, {State: inventory.ItemFailed}} {
		if err := s.book.A.Note(s.ctx, env, o.ID, 1, outcome); err != nil {
			s.Fatal(err)
		}
	}
	for _, err := range []error{
		s.book.A.Note(s.ctx, env, o.ID, 2, done), s.book.A.Note(s.ctx, env, "o002", 0, done),
	} {
		if err != nil {
			s.Errorf("what is not there is noted: %v", err)
		}
	}
	o.Items[1].Outcome = done
	got, err := s.book.B.Order(s.ctx, env, o.ID)
	if err != nil {
		s.Fatal(err)
	}
	s.same("the order", o, got)
	s.atSameTime()
}

// atSameTime records the outcomes of two items concurrently: neither is lost.
func (s *orderSuite) atSameTime() {
	one, two := record(11), record(12)
	o := orderOf(2, one, two)
	s.place(o, one, two)
	var wg sync.WaitGroup
	for i, b := range []OrderStore{s.book.A, s.book.B} {
		wg.Go(func() {
			outcome := inventory.Outcome{State: inventory.ItemCompleted}
			if err := b.Note(s.ctx, env, o.ID, i, outcome); err != nil {
				s.Error(err)
			}
		})
	}
	wg.Wait()
	got, err := s.book.B.Order(s.ctx, env, o.ID)
	if err != nil {
		s.Fatal(err)
	}
	for i := range got.Items {
		if got.Items[i].Outcome.State != inventory.ItemCompleted {
			s.Errorf("what became of item %d is lost", i)
		}
	}
}

// forget deletes old orders, and no others.
func (s *orderSuite) forget() {
	const n = 30
	for i := range n {
		s.place(orderOf(i, record(i)), record(i))
	}
	before := began.Add((n - 2) * time.Second)
	for range n { // a batch a call
		if err := s.book.A.Forget(s.ctx, env, before); err != nil {
			s.Fatal(err)
		}
		if len(s.orders(inventory.OrderQuery{})) == 2 {
			break
		}
	}
	s.same("what is left", []string{"o028", "o029"}, s.orders(inventory.OrderQuery{}))
	if _, err := s.book.B.Order(s.ctx, env, "o000"); !is(err, fault.NotFound) {
		s.Error(err)
	}
	s.same("the instances stay", n, len(s.ids(inventory.Query{})))
}

// full places the largest order that fits into a transaction.
func (s *orderSuite) full() {
	var all []inventory.Record
	for n := range inventory.MaxChanges {
		r := record(n)
		r.Identity, r.Closed = fmt.Sprint(n), true
		r.Tasks, r.Due = []inventory.Task{{Kind: inventory.TaskContinue}}, began
		all = append(all, r)
	}
	revs := s.place(orderOf(1, all...), all...)
	for i := range all {
		all[i].Rev, all[i].Identity, all[i].Deleted, all[i].Tasks = revs[i], "x"+all[i].Identity,
			true, nil
	}
	s.place(orderOf(2, all...), all...)
	var targets []string
	for n := range inventory.MaxReferences {
		targets = append(targets, s.put(record(100+n)).ID)
	}
	one, two := record(1000), record(1001)
	one.References, two.References = targets, targets[:1]
	s.place(orderOf(3, one, two), one, two)
	three := record(1002)
	three.References = targets
	_, err := s.book.A.Place(s.ctx, env, orderOf(4, three, record(1003), record(1004)),
		changesOf(three, record(1003), record(1004)))
	if !is(err, fault.Invalid) {
		s.Errorf("more than a transaction takes: %v", err)
	}
}

// race places two orders with one id concurrently: one of them succeeds, with its instance.
func (s *orderSuite) race() {
	stores := []OrderStore{s.book.A, s.book.B}
	errs := make([]error, len(stores))
	var wg sync.WaitGroup
	for i, b := range stores {
		wg.Go(func() {
			_, errs[i] = b.Place(s.ctx, env, orderOf(1, record(i)), changesOf(record(i)))
		})
	}
	wg.Wait()
	done := 0
	for i, err := range errs {
		switch {
		case err == nil:
			done++
			s.same("the instances", []string{record(i).ID}, s.ids(inventory.Query{}))
		case !is(err, fault.Conflict):
			s.Error(err)
		}
	}
	if done != 1 {
		s.Errorf("%d orders have one id: %v", done, errs)
	}
}
