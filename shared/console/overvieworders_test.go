package console_test

import (
	"net/http"
	"strings"
	"testing"

	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// TestOverviewOrders: a failed instance and the orders of today stand on the first page, in both
// homes, also before the first version.
func TestOverviewOrders(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	i := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	w.Create(t, "customer", map[string]any{"name": "globex", "contact": "c@d"})
	o, err := w.Service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := o.Force(t.Context(), consoletest.Env, orders.Wish{Ref: orders.Ref{Service: "customer", ID: i.ID}},
		"failed", lifecycle.NoOperation); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Order(t.Context(), consoletest.Env, orders.Order{Description: "two at once", Items: []orders.Item{
		{Service: "customer", Action: orders.ActionCreate, Attributes: map[string]any{"name": "third", "contact": "e@f"}},
	}}); err != nil {
		t.Fatal(err)
	}
	for _, exported := range []bool{false, true} {
		if exported {
			w.Fill(t)
		}
		for name, home := range w.Homes(t) {
			page := signedIn(t, console.New(home, realTime())).Get("/console/production/", http.StatusOK)
			wants(t, page, "Problems", "failed customer acme", "Orders of today", "two at once", "1 item")
			if text := consoletest.TextOf(page); strings.Contains(text, "globex") || strings.Contains(text, "Nothing is wrong") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
	gone := fault.New(fault.Unavailable, "", "the line is cut")
	page := signedIn(t, console.New(consoletest.FailingAt(w.Service, "Orders", gone), realTime())).
		Get("/console/production/", http.StatusOK)
	wants(t, page, "The line is cut")
	if strings.Contains(page, "Nothing is wrong") {
		t.Error("unknown instances are said to be well")
	}
}
