package console

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/paging"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const versionPattern = "GET /console/{env}/versions/{n}"

// versionsPages are the list of versions and one version.
func (s *site) versionsPages() []route {
	return []route{
		{pattern: "GET /console/{env}/versions", page: versionsPage},
		{pattern: versionPattern, page: versionPage},
	}
}

// versionURL returns the URL of a version; "" if it has no page.
func (r *request) versionURL(n int) string {
	if n == 0 || !r.hasPage(versionPattern) {
		return ""
	}
	return r.url("versions/" + strconv.Itoa(n))
}

// compareURL returns the URL of a comparison of two versions; from 0 is the version in force.
func (r *request) compareURL(from, to int) string {
	return r.url("compare", "from", versionText(from), "to", strconv.Itoa(to))
}

// versionRow is a version of a list.
type versionRow struct {
	Row       string
	Number    int
	URL       string
	At        timeView
	Resources string
	Author    string
	Message   string
	Commit    cutText
	InForce   bool
	Partial   bool
	Compare   string // the address of its comparison with the version in force; "": it is in force
}

func (r *request) versionRow(v *api.Version, released int) versionRow {
	row := versionRow{Row: rowID("v", strconv.Itoa(v.Version)), Number: v.Version, URL: r.versionURL(v.Version),
		At: r.timeAgo(v.At), Resources: number(v.Resources), Author: shorten(v.Author, 80),
		Message: shorten(v.Message, 200), Commit: cut(line(v.Commit), 16), InForce: v.Released,
		Partial: v.Partial}
	if !v.Released && released > 0 {
		row.Compare = r.compareURL(released, v.Version)
	}
	return row
}

// versionsView is the list of versions.
type versionsView struct {
	Rows  []versionRow
	Pager pagerView
	From  []choice // the versions of the page, for a comparison of two
	To    []choice
	Do    string
}

// newestVersions is the query for versions, the newest first.
func newestVersions(cursor string, limit int) paging.Query {
	return paging.Query{Sort: "version.desc", Cursor: cursor, Limit: limit, Count: true}
}

func versionsPage(ctx context.Context, r *request) (view, error) {
	h, cursor := r.home(ctx), r.URL.Query().Get(paramCursor)
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		return view{}, err
	}
	list, err := h.VersionsPage(ctx, r.Env, newestVersions(cursor, pageRows))
	if err = unlessNone(err); err != nil {
		return view{}, err
	}
	d := versionsView{Do: r.url("compare")}
	for i := range list.Items {
		x := &list.Items[i]
		d.Rows = append(d.Rows, r.versionRow(x, p.Released))
		text := strconv.Itoa(x.Version)
		d.From = append(d.From, choice{text, text, x.Version == p.Released})
		other := x.Version != p.Released && !slices.ContainsFunc(d.To, func(c choice) bool { return c.Chosen })
		d.To = append(d.To, choice{text, text, other})
	}
	d.Pager = r.turns("versions", nil, paramCursor, list.Next)
	d.Pager.Text = counted(len(d.Rows), list.Count)
	return view{Template: "versions.html", Title: "Versions", Section: "Versions", Data: d}, nil
}

// versionView is one version.
//
// Large: it is the data of one template.
type versionView struct {
	Of       versionRow
	Message  string
	Pack     string
	Digest   cutText
	Periods  []periodRow
	Agents   []attribute
	More     int // how many agents are left out
	Rows     []describedRow
	List     string // the address of the page without a filter
	Fields   selection
	Chips    []chip
	Pager    pagerView
	Unread   *problemView // why the resources are not known
	Released int
	Before   string // the address of the comparison with the version before
	DryRun   string
}

// periodRow is a time in which a version was in force.
type periodRow struct {
	From, To timeView
	By       string
	Message  string
}

// maxVersionAgents is how many agents the page of a version names.
const maxVersionAgents = 200

func versionPage(ctx context.Context, r *request) (view, error) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 1 {
		return view{}, fault.New(fault.NotFound, "",
			"%q is not the number of a version", shorten(r.PathValue("n"), 40)).
			WithHint("the list of versions has all")
	}
	h := r.home(ctx)
	x, err := h.Described(ctx, r.Env, n)
	if err != nil {
		return view{}, err
	}
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		return view{}, err
	}
	d := versionView{Of: r.versionRow(&x.Version, p.Released), Message: fullValue(x.Message),
		Pack: line(x.Pack), Digest: cut(line(x.Digest), 20), Released: p.Released}
	for _, in := range x.InForce {
		row := periodRow{From: r.time(in.From), By: shorten(in.By, 80), Message: shorten(in.Message, 200)}
		if in.To != nil {
			row.To = r.time(*in.To)
		}
		d.Periods = append(d.Periods, row)
	}
	d.Agents, d.More = r.versionAgents(x.Agents)
	r.versionResources(ctx, n, &d)
	if n > 1 {
		d.Before = r.compareURL(n-1, n)
	}
	if r.canChange() && r.hasPage(dryrunPattern) {
		d.DryRun = r.url("dryruns", "version", strconv.Itoa(n))
	}
	return view{Template: "version.html", Title: "Version " + strconv.Itoa(n), Section: "Versions", Data: d}, nil
}

// versionResources adds a page of the resources of a version.
func (r *request) versionResources(ctx context.Context, n int, d *versionView) {
	path, q := "versions/"+strconv.Itoa(n), r.URL.Query()
	at := func(v url.Values) string { return r.urlOf(path, v) }
	d.Fields, d.List = selectionOf(q), at(nil)
	only := d.Fields.values()
	d.Chips = chipsOf(only, listParams(), at)
	page, err := r.describedRows(ctx, n, &d.Fields, resource.ID(q.Get(paramCursor)))
	if err != nil {
		d.Unread = r.problem(err)
		return
	}
	d.Rows, d.Pager = page.Items, r.turns(path, only, paramCursor, page.Next)
	if d.Pager.Text = counted(len(page.Items), page.Count); d.Fields.empty() {
		d.Pager.Text = number(len(page.Items)) + " of " + d.Of.Resources
	}
}

// versionAgents returns the agents of a version and how they are reached, by name.
func (r *request) versionAgents(agents map[string]map[string]any) (out []attribute, more int) {
	for _, name := range sortedKeys(agents) {
		if len(out) == maxVersionAgents {
			return out, len(agents) - len(out)
		}
		out = append(out, attribute{Name: cutMiddle(line(name), maxPart),
			Desired: line(cutEnd(fullValue(agents[name]), 300))})
	}
	return out, 0
}

// today reports whether a time is on the day of another, in the zone of the page.
func (r *request) today(t time.Time) bool {
	zone := r.zone()
	y, m, d := r.now().In(zone).Date()
	a, b, c := t.In(zone).Date()
	return y == a && m == b && d == c
}
