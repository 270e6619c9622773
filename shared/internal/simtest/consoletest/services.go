package consoletest

import (
	"strings"
	"testing"

	"southbound/shared/api"
	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/resource"
	"southbound/shared/service/catalog"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// Offer offers the services of a model in Env.
func (w *World) Offer(t testing.TB, model string) {
	t.Helper()
	c, err := compile.Model(t.Context(), compile.Options{Path: model, Types: w.types})
	if err != nil {
		t.Fatal(err)
	}
	services, err := catalog.Of(c.Result)
	if err != nil {
		t.Fatal(err)
	}
	digest := strings.Repeat("0", 64)
	if err := w.Own.Definitions().Put(t.Context(), Env, digest, services); err != nil {
		t.Fatal(err)
	}
}

// Create orders an instance, and forces it into the state up.
func (w *World) Create(t testing.TB, service string, values map[string]any) orders.Instance {
	t.Helper()
	i, err := w.Orders(t).Create(t.Context(), Env, orders.Creation{Service: service, Attributes: values})
	if err != nil {
		t.Fatal(err)
	}
	return w.force(t, &i, "up", lifecycle.Promote)
}

// Orders returns the orders of the home.
func (w *World) Orders(t testing.TB) api.Orders {
	t.Helper()
	o, err := w.Service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (w *World) force(
	t testing.TB, i *orders.Instance, state string, does lifecycle.Operation,
) orders.Instance {
	t.Helper()
	out, err := w.Orders(t).Force(t.Context(), Env, wish(i), state, does)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ExportOwned exports the resources of instances to Env, as fulfilling their orders does.
func (w *World) ExportOwned(t testing.TB, all ...resource.Resource) {
	t.Helper()
	w.export(t, Env, deploy.Export{Partial: true, KeepShared: true, Owner: true}, all)
}

func wish(i *orders.Instance) orders.Wish {
	return orders.Wish{Ref: orders.Ref{Service: i.Service, ID: i.ID}}
}

// FillServices adds instances to Env, of the services customer and site of a model: a customer with
// sites, of which one is up and has a change that is not yet active, and one has failed together
// with its resource; and an order of two items. It returns these two sites.
func (w *World) FillServices(t testing.TB, model string) (up, broken orders.Instance) {
	t.Helper()
	w.Offer(t, model)
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@example.com"})
	site := func(name string) orders.Instance {
		return w.Create(t, "site", map[string]any{"host_name": name, "region": "eu-west-1", "customer": acme.ID,
			"aliases": []any{"info@" + name, "sales@" + name}, "labels": map[string]any{"tier": "gold"},
			"databases": []any{map[string]any{"name": "shop", "connections": 20}}})
	}
	up, broken = site("www.example.com"), site("broken.example.com")
	if _, err := w.Orders(t).Update(t.Context(), Env, wish(&up), map[string]any{"quota": 9}); err != nil {
		t.Fatal(err)
	}
	w.force(t, &broken, "failed", lifecycle.NoOperation)
	page := w.File(up.ID+".conf", "www.example.com 5\n")
	page.Set = up.ID
	disk := Null("web1", "disk of broken.example.com", "fail", "no space left on device")
	disk.Set = broken.ID
	w.ExportOwned(t, page, disk)
	w.Deploy(t, Env)
	if _, err := w.Orders(t).Order(t.Context(), Env, orders.Order{Description: "move acme", Items: []orders.Item{
		{Name: "globex", Service: "customer", Action: orders.ActionCreate,
			Attributes: map[string]any{"name": "globex", "contact": "g@example.com"}},
		{Name: acme.ID, Service: "customer", Action: orders.ActionUpdate,
			Edits: []inventory.Edit{{ID: "1", Target: "contact", Operation: "replace", Value: "b@example.com"}}},
	}}); err != nil {
		t.Fatal(err)
	}
	return up, broken
}
