package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/api/instances"
	"southbound/shared/console/form"
	"southbound/shared/service/definition"
	"southbound/shared/service/orders"
)

func (s *site) inventoryPages() []route {
	return []route{{pattern: inventoryPattern, page: inventoryPage}}
}

// inventoryRows is the number of instances of a page.
const inventoryRows = 50

// Names of values in the URL of an inventory.
const (
	inState   = "state"   // states, each with its own pair
	inWords   = "q"       // a part of an id or an identity
	inWith    = "with"    // attribute=value, each with its own pair
	inEmpty   = "empty"   // sets of attributes that are empty
	inFull    = "has"     // sets of attributes that are not
	inDeleted = "deleted" // include or only
	inSort    = "sort"    // a key, with - in front for the reverse
	inColumns = "columns" // names of attributes
	inAfter   = "after"   // the place of the page
)

// inventoryView is the data of inventory.html.
//
// Large: it is the data of one template.
type inventoryView struct {
	Service    string
	ServiceURL string
	Order      string // "": not permitted
	List       string // the list without a query
	Words      string
	States     []form.Option
	Sets       []setOption
	Deleted    string
	Attributes []form.Option // columns that can be chosen
	WithName   string
	WithValue  string
	Keep       []form.Pair // values of the URL that the filter keeps
	Chips      []chip
	Head       []columnHead
	Rows       []inventoryRow
	Pager      pagerView
	Wrong      *problemView
}

// setOption is a filter by a set of attributes.
type setOption struct{ Name, Chosen string }

// columnHead is the heading of a column.
type columnHead struct {
	Title, URL string
	Sorted     string // ascending or descending; "": not sorted by it
}

// inventoryRow is an instance in a list.
type inventoryRow struct {
	Row      string
	Name     cutText
	URL      string
	Status   statusView
	Progress progressView
	Problem  string
	Created  timeView
	Updated  timeView
	Values   []namedValue
	Deleted  bool
}

// namedValue is a value of a chosen column.
type namedValue struct {
	Name  string
	Value valueView
}

// progressView is the progress of the resources of an instance.
type progressView struct {
	Text        string // "": not known
	Done, Total int
}

func inventoryPage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	name := r.PathValue("service")
	offer, err := o.Offer(ctx, r.Env, name, -1, false)
	if err != nil {
		return view{}, err
	}
	q := r.URL.Query()
	d := inventoryView{
		Service: name, ServiceURL: r.serviceURL(name, ""), List: r.serviceURL(name, "/instances"),
		Words: q.Get(inWords), Deleted: q.Get(inDeleted),
		Keep: hiddenFields(pickFields(q, inColumns, inSort, "tz")),
	}
	if r.canChange() {
		d.Order = r.serviceURL(name, "/new")
	}
	columns := r.fillFilters(&d, &offer.Service, q)
	query := inventoryQuery(name, q)
	page, err := o.List(ctx, r.Env, query)
	if err != nil {
		d.Wrong = r.problem(err)
	}
	links := r.relatedIn(ctx, o, &offer.Service, columns, page.Items)
	counted := instances.CountProgress(ctx, r.home(ctx), r.Env, page.Items) == nil
	for n := range page.Items {
		row := r.inventoryRow(&page.Items[n], columns, links)
		if counted {
			row.Progress = progressOf(page.Items[n].Progress)
		}
		d.Rows = append(d.Rows, row)
	}
	d.Chips = r.inventoryChips(q)
	d.Head = r.columnHeads(query.Sort, query.Descending)
	d.Pager = r.turnsHere(inAfter, page.Next)
	d.Pager.Text = plural(len(page.Items), "instance")
	if page.Next != "" {
		d.Pager.Text += ", and there are more"
	}
	v := view{Template: "inventory.html", Title: serviceTitle(name, "instances"),
		Section: sectionServices, Data: &d}
	if d.Wrong != nil {
		v.Status = d.Wrong.Status
	}
	return v, nil
}

// pickFields returns some values of a URL.
func pickFields(q url.Values, names ...string) url.Values {
	out := url.Values{}
	for _, name := range names {
		if q.Has(name) {
			out[name] = q[name]
		}
	}
	return out
}

// inventoryQuery returns the query of a URL.
func inventoryQuery(service string, q url.Values) orders.Query {
	out := orders.Query{
		Filter: orders.Filter{
			Service: service, States: notEmpty(q[inState]), Deleted: orders.Deleted(q.Get(inDeleted)),
			Name: strings.TrimSpace(q.Get(inWords)), Empty: notEmpty(q[inEmpty]),
			NotEmpty: notEmpty(q[inFull]), Attributes: map[string]string{},
		},
		Place: orders.Place{After: q.Get(inAfter), Limit: inventoryRows},
	}
	for _, pair := range q[inWith] {
		if name, value, is := strings.Cut(pair, "="); is && name != "" {
			out.Attributes[name] = value
		}
	}
	if name := q.Get("name"); name != "" {
		out.Attributes[name] = q.Get("value")
	}
	key, reverse := strings.CutPrefix(q.Get(inSort), "-")
	out.Sort, out.Descending = key, reverse
	if key == "" {
		out.Descending = true // the newest first
	}
	return out
}

func notEmpty(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return s == "" })
}

// fillFilters fills in the controls of the filter, and returns the chosen columns.
func (r *request) fillFilters(d *inventoryView, s *definition.Service, q url.Values) []string {
	for i := range s.Lifecycle.States {
		name := s.Lifecycle.States[i].Name
		d.States = append(d.States, form.Option{Value: name, Label: name,
			Selected: slices.Contains(q[inState], name)})
	}
	for _, set := range []string{"candidate", "active", "rollback"} {
		one := setOption{Name: set}
		if slices.Contains(q[inEmpty], set) {
			one.Chosen = inEmpty
		}
		if slices.Contains(q[inFull], set) {
			one.Chosen = inFull
		}
		d.Sets = append(d.Sets, one)
	}
	var columns []string
	for i := range s.Attributes {
		name := s.Attributes[i].Name
		o := form.Option{Value: name, Label: form.Title(name), Selected: slices.Contains(q[inColumns], name)}
		if o.Selected {
			columns = append(columns, name)
		}
		d.Attributes = append(d.Attributes, o)
	}
	for i := range s.Relations {
		name := s.Relations[i].Name
		o := form.Option{Value: name, Label: form.Title(name), Selected: slices.Contains(q[inColumns], name)}
		if o.Selected {
			columns = append(columns, name)
		}
		d.Attributes = append(d.Attributes, o)
	}
	return columns
}

// relatedIn returns links to the instances that chosen relations name, by relation and id.
func (r *request) relatedIn(
	ctx context.Context, o api.Orders, s *definition.Service, columns []string, all []orders.Instance,
) map[string]map[string]form.Link {
	out := map[string]map[string]form.Link{}
	var ids []string
	for i := range s.Relations {
		name := s.Relations[i].Name
		if !slices.Contains(columns, name) {
			continue
		}
		out[name] = nil
		for n := range all {
			ids = append(ids, idsIn(currentSet(&all[n])[name])...)
		}
	}
	links := r.instanceLinks(ctx, o, ids)
	for name := range out {
		out[name] = links
	}
	return out
}

func (r *request) inventoryRow(
	i *orders.Instance, columns []string, links map[string]map[string]form.Link,
) inventoryRow {
	row := inventoryRow{
		Row: "i-" + i.ID, Name: cut(instanceName(i), 60), URL: r.instanceURL(i.ID, ""),
		Status: lifecycleStatus(i.State, i.Label), Problem: i.Problem(), Created: r.time(i.Created),
		Updated: r.timeAgo(i.Updated), Deleted: i.Deleted,
	}
	set := currentSet(i)
	for _, name := range columns {
		shown := attributeValue(set[name])
		shown.Links = linksIn(set[name], links[name])
		row.Values = append(row.Values, namedValue{form.Title(name), shown})
	}
	return row
}

// progressOf returns the progress of the resources of an instance; nothing if it has none.
func progressOf(p *orders.Progress) progressView {
	if p.Total == 0 {
		return progressView{}
	}
	text := fmt.Sprintf("%s of %s", number(p.Deployed), number(p.Total))
	if p.Failed > 0 {
		text += ", " + number(p.Failed) + " failed"
	}
	return progressView{Text: text, Done: p.Deployed, Total: p.Total}
}

// inventoryChips returns the filters that are set.
func (r *request) inventoryChips(q url.Values) []chip {
	var out []chip
	without := func(name, value string) string {
		left := url.Values{}
		for k, all := range q {
			for _, v := range all {
				if (k != name || v != value) && k != inAfter && k != paramWas {
					left.Add(k, v)
				}
			}
		}
		path, _ := strings.CutPrefix(r.URL.EscapedPath(), "/console/")
		if len(left) == 0 {
			return r.site.root(path)
		}
		return r.site.root(path) + "?" + left.Encode()
	}
	for _, one := range []struct{ name, words string }{
		{inState, "state"}, {inWords, "words"}, {inWith, "with"}, {inEmpty, "empty set"},
		{inFull, "set with values"}, {inDeleted, "deleted"},
	} {
		for _, v := range notEmpty(q[one.name]) {
			out = append(out, chip{Text: one.words + ": " + v, Remove: without(one.name, v)})
		}
	}
	if name := q.Get("name"); name != "" {
		out = append(out, chip{Text: "with: " + name + "=" + q.Get("value"), Remove: r.here("name", "", "value", "")})
	}
	return out
}

// columnHeads returns the headings that sort.
func (r *request) columnHeads(sorted string, descending bool) []columnHead {
	var out []columnHead
	for _, one := range []struct{ title, key string }{
		{"Instance", "service_identity_attribute_value"}, {"State", "state"}, {"Progress", ""},
		{"Created", "created_at"}, {"Updated", "last_updated"},
	} {
		h := columnHead{Title: one.title}
		if one.key != "" {
			to := one.key
			if sorted == one.key || sorted == "" && one.key == "created_at" {
				h.Sorted = "ascending"
				if descending {
					h.Sorted = "descending"
				} else {
					to = "-" + one.key
				}
			}
			h.URL = r.here(inSort, to, inAfter, "", paramWas, "")
		}
		out = append(out, h)
	}
	return out
}
