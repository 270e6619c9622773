package orders_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// order places an order that is taken.
func (d *fixture) order(o orders.Order) orders.Placed {
	d.Helper()
	p, err := d.Order(d.Context(), env, o)
	if err != nil {
		d.Fatal(err)
	}
	return p
}

// stands returns how far an order is: as a whole, and each of its items.
func (d *fixture) stands(id string) string {
	d.Helper()
	p, err := d.PlacedOrder(d.Context(), env, id)
	if err != nil {
		d.Fatal(err)
	}
	if done := p.Status.State != orders.OrderInProgress; done != (p.Completed != nil) {
		d.Errorf("%s is completed at %v", p.Status.State, p.Completed)
	}
	out := string(p.Status.State) + ":"
	for _, i := range p.Items {
		out += " " + string(i.Status.State)
		if i.Status.Failure != nil {
			out += " " + string(*i.Status.Failure)
		}
	}
	return out
}

func (d *fixture) wants(when, id, want string) {
	d.Helper()
	if got := d.stands(id); got != want {
		d.Errorf("%s: %s, and not %s", when, got, want)
	}
}

func (d *fixture) makes(names ...string) orders.Order {
	d.Helper()
	var o orders.Order
	for _, n := range names {
		o.Items = append(o.Items, orders.Item{
			Service: "customer", Action: "create", Attributes: object(d.T, `{"name": "`+n+`"}`),
		})
	}
	return o
}

// TestPlaced follows orders to what becomes of them.
func TestPlaced(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, want string
		o         func(d *fixture) orders.Order
	}{
		{"all is deployed", "success: completed completed", func(d *fixture) orders.Order {
			return d.makes("a", "b")
		}},
		{
			"some is not accepted", "partial: completed failed VALIDATION_COMPILE_FAILED",
			func(d *fixture) orders.Order { return d.makes("a", "invalid") },
		},
		{"nothing is deployed", "failed: failed EXECUTION_FAILED", func(d *fixture) orders.Order {
			return d.makes("broken")
		}},
		{"a delete is done when the instance is gone", "success: completed",
			func(d *fixture) orders.Order {
				d.create("customer", `{"name": "old"}`)
				d.work()
				return orders.Order{
					Items: []orders.Item{{Service: "customer", Action: "delete", Name: "name=old"}},
				}
			}},
		{
			"an update is rejected", "failed: failed VALIDATION_COMPILE_FAILED",
			func(d *fixture) orders.Order {
				d.create("customer", `{"name": "late"}`)
				d.work()
				d.invalid["late"] = true
				return orders.Order{Items: []orders.Item{{
					Service: "customer", Action: "update", Name: "name=late",
					Attributes: object(d.T, `{"mail": "m"}`),
				}}}
			},
		},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			d := open(t)
			d.invalid, d.broken = map[string]bool{"invalid": true}, map[string]bool{"broken": true}
			p := d.order(c.o(d))
			for _, i := range p.Items {
				if p.Status.State != orders.OrderInProgress || i.Status.State != "acknowledged" {
					t.Errorf("when it is placed it is %+v", p)
				}
			}
			d.work()
			d.wants("in the end", p.ID, c.want)
		})
	}
}

// TestPlacedUnderway wants an item to be acknowledged until something is done, and an order to be
// under way as long as one of its items is.
func TestPlacedUnderway(t *testing.T) {
	t.Parallel()
	d := open(t)
	p := d.order(d.makes("a", "b"))
	d.wants("at first", p.ID, "in_progress: acknowledged acknowledged")
	r, err := d.Instances.Instance(t.Context(), env, p.Items[1].ID)
	if err != nil {
		t.Fatal(err)
	}
	for r.State == "start" {
		d.task(r)
		if r, err = d.Instances.Instance(t.Context(), env, r.ID); err != nil {
			t.Fatal(err)
		}
	}
	d.wants("after a transfer", p.ID, "in_progress: acknowledged in_progress")
	d.work()
	d.wants("in the end", p.ID, "success: completed completed")
}

// TestPlacedStays wants what became of an item to stay as it is, whatever happens to its instance
// afterwards, and however many orders are about that.
func TestPlacedStays(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.broken = map[string]bool{}
	first := d.order(d.makes("a"))
	d.work()
	size := func(n int) orders.Order {
		return orders.Order{Items: []orders.Item{{
			Service: "customer", Action: "update", Name: "name=a",
			Attributes: object(t, fmt.Sprintf(`{"mail": "m%d"}`, n)),
		}}}
	}
	d.broken["a"] = true
	second := d.order(size(1))
	d.work()
	d.broken["a"] = false
	third := d.order(size(2))
	d.work()
	fourth := d.order(size(3))
	for id, want := range map[string]string{
		first.ID: "success: completed", second.ID: "failed: failed EXECUTION_FAILED",
		third.ID: "success: completed", fourth.ID: "in_progress: acknowledged",
	} {
		d.wants("in the end", id, want)
	}
	r, err := d.Instances.Instance(t.Context(), env, first.Items[0].ID)
	if err != nil || len(r.Orders) > 2 {
		t.Errorf("the instance has marks of %d orders, %v", len(r.Orders), err)
	}
}

// TestPlacedOvertaken wants an item to be inconclusive when somebody asks for something else before
// it is done.
func TestPlacedOvertaken(t *testing.T) {
	t.Parallel()
	d := open(t)
	p := d.order(d.makes("a"))
	_, err := d.Force(t.Context(), env, orders.Wish{Ref: orders.Ref{ID: p.Items[0].ID}}, "up",
		lifecycle.Promote)
	if err != nil {
		t.Fatal(err)
	}
	d.wants("when it was forced", p.ID, "failed: failed INCONCLUSIVE")
	d.work()
	d.wants("in the end", p.ID, "failed: failed INCONCLUSIVE")
}

// TestPlacedAgain places an order under an id twice, and another one.
func TestPlacedAgain(t *testing.T) {
	t.Parallel()
	d := open(t)
	o := d.makes("a", "b")
	o.ID = d.NewID()
	first := d.order(o)
	d.work()
	again := d.order(o)
	if again.Items[0].ID != first.Items[0].ID || again.Items[0].Instance.State != "up" ||
		again.Status.State != orders.OrderSuccess {
		t.Errorf("%+v", again)
	}
	other := d.makes("c")
	other.ID = o.ID
	if _, err := d.Order(t.Context(), env, other); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	other.ID = "mine"
	if _, err := d.Order(t.Context(), env, other); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	p, err := d.List(t.Context(), env, orders.Query{})
	if err != nil || len(p.Items) != 2 {
		t.Errorf("there are %d instances, %v", len(p.Items), err)
	}
}

// TestPlacedNeeds wants an item to say which others of the order it leads to.
func TestPlacedNeeds(t *testing.T) {
	t.Parallel()
	d := open(t)
	o := d.makes("a")
	o.Items[0].Name = "new"
	o.Items = append(o.Items, orders.Item{
		Service: "site", Action: "create",
		Attributes: object(t, `{"host": "h", "customer": "new"}`),
	})
	p := d.order(o)
	d.work()
	is, err := d.PlacedOrder(t.Context(), env, p.ID)
	if err != nil || len(is.Items[0].Status.Needs) != 0 ||
		is.Items[1].Status.Needs[p.Items[0].ID] != inventory.ItemCompleted {
		t.Errorf("%+v, %v", is, err)
	}
}

// TestPlacedOrders lists orders in pages, and forgets those of more than a year ago.
func TestPlacedOrders(t *testing.T) {
	t.Parallel()
	d := open(t)
	now := time.Now()
	d.Now = func() time.Time { return now }
	var placed []string
	for n := range 5 {
		now = now.Add(time.Minute)
		placed = append(placed, d.order(d.makes(fmt.Sprint(n))).ID)
	}
	var got []string
	var q orders.OrderQuery
	q.Limit, q.Descending, q.Count = 2, true, true
	for {
		page, err := d.PlacedOrders(t.Context(), env, q)
		if err != nil {
			t.Fatal(err)
		}
		n := len(page.Items)
		if want := (orders.Counts{Total: 5, Before: len(got), After: 5 - len(got) - n}); page.
			Counts != want || (page.Prev == "") != (len(got) == 0) {
			t.Errorf("%+v, and not %+v", page, want)
		}
		for _, p := range page.Items {
			got = append(got, p.ID)
		}
		if page.Next == "" {
			q.After, q.Before = "", page.Prev
			break
		}
		q.After = page.Next
	}
	for at := len(got) - 1; q.Before != ""; at -= 2 { // and back
		page, err := d.PlacedOrders(t.Context(), env, q)
		if err != nil || len(page.Items) != 2 || page.Items[0].ID != got[at-2] ||
			page.Items[1].ID != got[at-1] || page.Next == "" || page.Total != 5 {
			t.Fatalf("%+v, %v", page, err)
		}
		q.Before = page.Prev
	}
	slices.Reverse(got)
	if !slices.Equal(got, placed) {
		t.Errorf("%v, and not %v", got, placed)
	}
	now = now.Add(366*24*time.Hour - 30*time.Second)
	page, err := d.PlacedOrders(t.Context(), env, orders.OrderQuery{})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != placed[4] {
		t.Errorf("a year later: %+v, %v", page, err)
	}
	_, err = d.PlacedOrder(t.Context(), env, placed[0])
	if !fault.Is(err, fault.NotFound) || !strings.Contains(fault.HintOf(err), "a year") {
		t.Error(err)
	}
	d.order(d.makes("new"))
	all, err := d.Book.Orders(t.Context(), env, inventory.OrderQuery{})
	if err != nil || len(all) != 2 {
		t.Errorf("%d orders are kept, %v", len(all), err)
	}
	if _, err := d.PlacedOrders(t.Context(), env, orders.OrderQuery{Place: orders.Place{After: "!"}}); err == nil {
		t.Error("a place that is none is taken")
	}
}
