package orders_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/service/orders"
)

// names returns the names of the customers of a list, page by page.
func (d *fixture) names(q orders.Query) string {
	d.Helper()
	var pages []string
	for {
		p, err := d.List(d.Context(), env, q)
		if err != nil {
			return said(err)
		}
		var names []string
		for _, i := range p.Items {
			set := i.Candidate
			if set == nil {
				set = i.Active
			}
			names = append(names, fmt.Sprint(set["name"]))
		}
		pages = append(pages, strings.Join(names, " "))
		if q.After = p.Next; q.After == "" {
			return strings.Join(pages, " | ")
		}
	}
}

// TestList wants filters, orders and pages to give what they say.
func TestList(t *testing.T) {
	t.Parallel()
	d := open(t)
	for _, name := range []string{"c", "a", "e"} {
		d.create("customer", `{"name": "`+name+`", "mail": "`+name+`@x"}`)
	}
	d.work()
	gone := orders.Wish{Ref: orders.Ref{Service: "customer", ID: "identity=e"}}
	if _, err := d.Delete(t.Context(), env, gone); err != nil {
		t.Fatal(err)
	}
	d.work()
	for _, name := range []string{"d", "b"} {
		d.create("customer", `{"name": "`+name+`"}`)
	}
	id := d.is(orders.Ref{Service: "customer", ID: "identity=b"}).ID
	const by = "service_identity_attribute_value"
	for want, q := range map[string]orders.Query{
		"c a d b":   {},
		"b d a c":   {Descending: true},
		"c a | d b": {Limit: 2},
		"b d a | c": {Limit: 3, Descending: true},
		"a b c d":   {Sort: by},
		"a b c | d": {Sort: by, Limit: 3},
		"d c | b a": {Sort: by, Limit: 2, Descending: true},
		"d | b":     {Filter: orders.Filter{States: []string{"start"}}, Limit: 1},
		"c a e d b": {Filter: orders.Filter{Deleted: orders.WithDeleted}},
		"e":         {Filter: orders.Filter{Deleted: orders.OnlyDeleted}},
		"a":         {Filter: orders.Filter{Service: "customer", Identity: "a"}},
		"b":         {Filter: orders.Filter{ID: id}},
		"":          {Filter: orders.Filter{Service: "site"}},
		"c":         {Filter: orders.Filter{Attributes: map[string]string{"mail": "c@x"}}},
		"a c":       {Filter: orders.Filter{Empty: []string{"candidate"}}, Sort: by},
		"b d":       {Filter: orders.Filter{NotEmpty: []string{"candidate"}}, Descending: true},
		"not_found": {Filter: orders.Filter{Service: "none"}},
		"invalid":   {Sort: "size"},
		"usage":     {After: "x"},
	} {
		if got := d.names(q); got != want {
			t.Errorf("%+v: %q, and not %q", q, got, want)
		}
	}
	if got := d.names(orders.Query{Filter: orders.Filter{Empty: []string{"x"}}}); got != "invalid" {
		t.Error(got)
	}
	if got := d.names(orders.Query{Filter: orders.Filter{Name: id[:8]}}); got != "b" {
		t.Error(got)
	}
	if !slices.Contains(orders.Sorts(), by) {
		t.Error(orders.Sorts())
	}
}
