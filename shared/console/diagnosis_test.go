package console_test

import (
	"context"
	"testing"

	"southbound/shared/api"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// rejecting is a home whose instances all have one rejected compile.
type rejecting struct {
	api.Home
	event orders.Event
}

func (h rejecting) Orders() (api.Orders, error) {
	o, err := h.Home.Orders()
	return rejectedOrders{o, h.event}, err
}

type rejectedOrders struct {
	api.Orders
	event orders.Event
}

func (o rejectedOrders) Events(
	context.Context, string, orders.Ref, orders.EventQuery,
) (orders.EventPage, error) {
	return orders.EventPage{Items: []orders.Event{o.event}}, nil
}

// TestDiagnosisOfCompile shows the compile that was rejected, with its trace.
func TestDiagnosisOfCompile(t *testing.T) {
	t.Parallel()
	w := offered(t, "testdata/forms.cf")
	i := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	for _, c := range []struct {
		why  string
		ran  *inventory.Compile
		want []string
	}{
		{"with a trace", &inventory.Compile{DurationMS: 1530, Instances: 2, Trace: "main.cf:7:3: <b>no</b>",
			Output: "port <8000>\n"},
			[]string{"it does not compile", "compile of 2 instances, 1.5 s", "Trace of the compile",
				"main.cf:7:3: <b>no</b>", "Output of the model", "port <8000>"}},
		{"with texts that are gone", &inventory.Compile{DurationMS: 1530, Instances: 2, Removed: true},
			[]string{"it does not compile", "compile of 2 instances, 1.5 s",
				"Trace and output of this compile were removed after 30 days."}},
		{"of an earlier program", nil, []string{"it does not compile"}},
	} {
		home := rejecting{w.Service, orders.Event{Version: 1, Error: true, Message: "it does not compile", Ran: c.ran}}
		b := signedIn(t, console.New(home, options()))
		wants(t, b.Get("/console/"+consoletest.Env+"/instances/"+i.ID+"?tab=diagnose", 200), c.want...)
	}
}
