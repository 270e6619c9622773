package orders_test

import (
	"slices"
	"testing"
	"time"

	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// TestCompileOfEvent shows what a model said while it was compiled for 30 days, and how long that
// took for ever.
func TestCompileOfEvent(t *testing.T) {
	t.Parallel()
	d := open(t)
	i := d.create("customer", `{"name": "acme"}`)
	r, err := d.Instances.Instance(t.Context(), env, i.ID)
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	whole := inventory.Compile{DurationMS: 1500, Instances: 2, Trace: "main.cf:1:1: wrong", Output: "printed\n"}
	if _, err := d.Instances.Write(t.Context(), env, []inventory.Change{{Record: r,
		Events: []inventory.Event{{At: at, Version: 1, Kind: "problem", Compile: &whole}}}}); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		why  string
		at   time.Time
		want inventory.Compile
	}{
		{"at the end of the 30th day", at.AddDate(0, 0, 30), whole},
		{"after it", at.AddDate(0, 0, 30).Add(time.Second), inventory.Compile{DurationMS: 1500, Instances: 2, Removed: true}},
	} {
		d.Now = func() time.Time { return test.at }
		page, err := d.Events(t.Context(), env, orders.Ref{ID: i.ID}, orders.EventQuery{})
		if err != nil {
			t.Fatal(err)
		}
		last := page.Items[len(page.Items)-1]
		if last.Ran == nil || *last.Ran != test.want {
			t.Errorf("%s: %+v", test.why, last.Ran)
		}
		logged, err := d.Service.Log(t.Context(), env, orders.Ref{ID: i.ID}, orders.LogQuery{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(logged.Items[0].Events, func(e orders.Event) bool {
			return e.Ran != nil && *e.Ran == test.want
		}) {
			t.Errorf("%s: the log has %+v", test.why, logged.Items[0].Events)
		}
	}
}
