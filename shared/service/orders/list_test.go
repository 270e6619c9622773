package orders_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/service/orders"
)

// names returns the names of the customers of a list, page by page. It walks the list to its end
// and back, with counts and without: both ways give the same.
func (d *fixture) names(q orders.Query) string {
	d.Helper()
	var out string
	for _, q.Count = range []bool{true, false} {
		forth, back := d.walk(q)
		flat := func(s string) string { return strings.ReplaceAll(s, " | ", " ") }
		if flat(back) != flat(forth) {
			d.Errorf("%+v: forth %q, back %q", q, forth, back)
		}
		if out != "" && forth != out {
			d.Errorf("%+v: %q with counts, %q without", q, out, forth)
		}
		out = forth
	}
	return out
}

// walk returns the names of the pages of a list to its end, and of those back from there.
func (d *fixture) walk(q orders.Query) (forth, back string) {
	d.Helper()
	var pages []string
	total, ahead := -1, 0
	for {
		p, err := d.List(d.Context(), env, q)
		if err != nil {
			return said(err), said(err)
		}
		if q.Count {
			if total < 0 {
				total = p.Total
			}
			want := orders.Counts{Total: total, Before: ahead, After: total - ahead - len(p.Items)}
			if p.Counts != want || (p.Next == "") != (p.After == 0) ||
				(p.Prev == "") != (p.Before == 0) {
				d.Errorf("%+v: %+v next %q prev %q, and not %+v", q, p.Counts, p.Next, p.Prev, want)
			}
		}
		ahead += len(p.Items)
		pages = append(pages, namesOf(p.Items))
		if q.After = p.Next; p.Next == "" {
			q.After, q.Before = "", p.Prev
			break
		}
	}
	forth = strings.Join(pages, " | ")
	pages = pages[len(pages)-1:]
	for q.Before != "" {
		p, err := d.List(d.Context(), env, q)
		if err != nil || p.Next == "" {
			d.Fatalf("%+v: %+v, %v", q, p, err)
		}
		pages, q.Before = append([]string{namesOf(p.Items)}, pages...), p.Prev
	}
	if q.Count && total != ahead {
		d.Errorf("%+v: there are %d, and %d are counted", q, ahead, total)
	}
	return forth, strings.Join(pages, " | ")
}

func namesOf(items []orders.Instance) string {
	var names []string
	for _, i := range items {
		set := i.Candidate
		if set == nil {
			set = i.Active
		}
		names = append(names, fmt.Sprint(set["name"]))
	}
	return strings.Join(names, " ")
}

func at(limit int) orders.Place { return orders.Place{Limit: limit} }

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
		"c a | d b": {Place: at(2)},
		"b d a | c": {Place: at(3), Descending: true},
		"a b c d":   {Sort: by},
		"a b c | d": {Sort: by, Place: at(3)},
		"d c | b a": {Sort: by, Place: at(2), Descending: true},
		"d | b":     {Filter: orders.Filter{States: []string{"start"}}, Place: at(1)},
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
		"usage":     {Place: orders.Place{After: "x"}},
		"c | a | e | d | b": {
			Filter: orders.Filter{Deleted: orders.WithDeleted}, Place: at(1),
		},
		"d | c | b | a": {Sort: by, Descending: true, Place: at(1)},
		"c | a": {
			Filter: orders.Filter{Empty: []string{"candidate"}}, Place: at(1),
		},
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
