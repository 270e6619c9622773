package api_test

import (
	"net/http"
	"strings"
	"testing"

	"southbound/shared/api"
	"southbound/shared/diag"
	"southbound/shared/service/orders"
)

// TestPointers pins that problems with orders point into the body of their request, and that both
// homes return the same pointers.
func TestPointers(t *testing.T) {
	t.Parallel()
	w := shop(t)
	remote, err := w.client(t).Orders()
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, c := range []struct {
		why, want string
		order     func(o api.Orders) error
	}{
		{"a value", "/attributes/name", func(o api.Orders) error {
			_, err := o.Create(ctx, "default", orders.Creation{
				Service: "customer", Attributes: map[string]any{"name": 1},
			})
			return err
		}},
		{"a relation", "/attributes/customer", func(o api.Orders) error {
			_, err := o.Create(ctx, "default", orders.Creation{
				Service:    "site",
				Attributes: map[string]any{"customer": "00000000-0000-0000-0000-000000000000"},
			})
			return err
		}},
		{"an item", "/service_order_items/1/attributes/name", func(o api.Orders) error {
			_, err := o.Order(ctx, "default", orders.Order{Items: []orders.Item{
				{Service: "customer", Action: orders.ActionCreate,
					Attributes: map[string]any{"name": "a"}},
				{Service: "customer", Action: orders.ActionCreate,
					Attributes: map[string]any{"name": 1}},
			}})
			return err
		}},
	} {
		for home, o := range map[string]api.Orders{"embedded": own, "remote": remote} {
			problems, _ := diag.Of(c.order(o))
			if len(problems) != 1 || problems[0].Pointer != c.want {
				t.Errorf("%s, %s: %+v, expected %s", c.why, home, problems, c.want)
			}
		}
	}
	status, _ := w.order(t, "POST", customers, `{"attributes": {"name": 1}}`)
	_, text := w.ask(t, "POST", customers, `{"attributes": {"name": 1}}`, "X-Inmanta-tid", "default",
		"Content-Type", "application/json")
	if status != http.StatusUnprocessableEntity ||
		!strings.Contains(text, `"pointer":"/attributes/name"`) {
		t.Errorf("%d %s", status, text)
	}
}
