package orders_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/service/orders"
)

// TestOrder wants several instances to be made, changed and deleted at once, with relations between
// them by their names.
func TestOrder(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.create("customer", `{"name": "old"}`)
	d.create("customer", `{"name": "gone"}`)
	d.work()
	id := d.NewID()
	placed, err := d.Order(t.Context(), env, orders.Order{Description: "move", Items: []orders.Item{
		{Service: "site", Action: "create", Name: "web", Attributes: object(
			t,
			`{"host": "w", "customer": "new", "databases": [{"name": "d", "size": 1, "payer": "`+id+
				`"}]}`,
		)},
		{
			Service:    "customer",
			Action:     "create",
			Name:       "new",
			Attributes: object(t, `{"name": "new"}`),
		},
		{
			Service:    "customer",
			Action:     "create",
			Name:       id,
			Attributes: object(t, `{"name": "payer"}`),
		},
		{
			Service:    "customer",
			Action:     "update",
			Name:       "name=old",
			Attributes: object(t, `{"mail": "m"}`),
		},
		{Service: "customer", Action: "delete", Name: "name=gone"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	site := placed.Items[0].Instance
	if site.Candidate["customer"] != placed.Items[1].Instance.ID ||
		placed.Items[2].Instance.ID != id {
		t.Errorf("%+v", placed)
	}
	if !strings.Contains(fmt.Sprint(site.Candidate["databases"]), id) ||
		placed.Description != "move" {
		t.Errorf("%+v", placed)
	}
	d.work()
	p, err := d.List(t.Context(), env, orders.Query{})
	if err != nil || len(p.Items) != 4 {
		t.Errorf("%d, %v", len(p.Items), err)
	}
}

// TestOrderRefused wants an order with something wrong to change nothing, and to say in which item.
func TestOrderRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	acme := d.create("customer", `{"name": "acme"}`)
	d.work()
	acme = d.is(orders.Ref{ID: acme.ID})
	fresh := orders.Item{
		Service:    "customer",
		Action:     "create",
		Name:       "n",
		Attributes: object(t, `{"name": "n"}`),
	}
	another := fresh
	another.Name = "m"
	ref := "name=acme"
	for want, items := range map[string][]orders.Item{
		"invalid": {},
		"item 2: site s host attribute_missing, item 2: site s customer attribute_missing": {
			fresh, {Service: "site", Action: "create", Name: "s"},
		},
		"item 2: customer n":                         {fresh, fresh},
		"item 2: customer m name attribute_identity": {fresh, another},
		"item 2: customer name=x": {fresh,
			{Service: "customer", Action: "delete", Name: "name=x"}},
		"item 2: customer name=acme": {fresh,
			{Service: "customer", Action: "sell", Name: ref}},
		"item 1: customer name=acme": {
			{Service: "customer", Action: "update", Name: ref}},
		"item 1: customer name=acme name attribute_modifier": {
			{Service: "customer", Action: "update", Name: ref,
				Attributes: object(t, `{"name": "b"}`)}, fresh,
		},
		"item 1: site s customer attribute_value": {
			{Service: "site", Action: "create", Name: "s",
				Attributes: object(t, `{"host": "h", "customer": "s"}`)},
		},
		"conflict": {fresh, {Service: "customer", Action: "delete", Name: ref,
			Version: ptr(int64(1))}},
		// the order would lead to what it deletes
		"refused": {
			{Service: "site", Action: "create", Name: "s",
				Attributes: object(t, `{"host": "h", "customer": "`+ref+`"}`)},
			{Service: "customer", Action: "delete", Name: ref},
		},
	} {
		_, err := d.Order(t.Context(), env, orders.Order{Items: items})
		if said(err) != want {
			t.Errorf("%s, and not %s (%v)", said(err), want, err)
		}
	}
	_, err := d.Order(t.Context(), env, orders.Order{Items: []orders.Item{
		{Service: "customer", Action: "update", Name: ref, Attributes: object(t, `{"mail": "m"}`)},
		{Service: "customer", Action: "delete", Name: acme.ID},
	}})
	if !strings.Contains(err.Error(), "another item is about the instance") {
		t.Error(err)
	}
	d.unchanged(acme)
}
