package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// resourcesPages are the list of resources, and the actions on resources.
func (s *site) resourcesPages() []route {
	rows := []route{{pattern: "GET /console/{env}/resources", page: resourcesPage}}
	return append(append(rows, s.workPages()...), s.forgetPages()...)
}

// resourcesView is the list of resources.
//
// Large: it is the data of one template.
type resourcesView struct {
	Counts    []countView
	All       string // the number of all resources that the other terms select; "": not known
	AllURL    string
	Of        string // the selected status; "": all, or several
	Chips     []chip
	Clear     string // the address of the whole list; "": it is the whole list
	List      string // the address of the list without a query, for the filter
	Fields    selection
	Statuses  []choice
	Rows      []resourceRow
	Pager     pagerView
	Acts      *selectionForm
	Uncounted *problemView // why there are no counts
	Failed    *problemView // why there are no rows
	Exported  bool         // a version was stored
	Graph     string       // the address of the graph, of the selected set if there is one; "": none
}

// resourceRow is a row of the list of resources.
type resourceRow struct {
	Row     string
	Of      resourceRef
	Status  statusView
	Reason  string
	LastRun string
	Set     setView
}

// selectionForm is what can be done with the resources of a list.
type selectionForm struct {
	Back    string   // the address of the list
	Hidden  []choice // the filter
	All     string   // the words for everything that the filter selects
	Buttons []button
}

// listParams are the parameters of the list of resources, in the order of their chips.
func listParams() []string {
	return []string{paramStatus, paramAgent, paramType, paramSet, paramWord}
}

func resourcesPage(ctx context.Context, r *request) (view, error) {
	q := r.URL.Query()
	sel := selectionOf(q)
	at := func(v url.Values) string { return r.urlOf("resources", v) }
	d := resourcesView{Fields: sel, Chips: chipsOf(sel.values(), listParams(), at), List: at(nil),
		Statuses: choicesOf(api.Statuses(), sel.oneStatus()), Of: sel.oneStatus()}
	if !sel.empty() {
		d.Clear = at(nil)
	}
	if d.Graph = r.graphURL(""); d.Graph != "" && sel.HasSet {
		d.Graph = r.url("graph", paramSet, sel.Set)
	}
	h := r.home(ctx)
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		d.Uncounted = r.problem(err)
	}
	d.Exported = err != nil || p.Last > 0
	d.Counts, d.All, d.AllURL = r.countLinks(&p, sel)
	cursor := q.Get(paramCursor)
	page, err := resourcesOf(ctx, h, r.Env, &sel, cursor, pageRows)
	if err != nil {
		d.Failed = r.problem(err)
	}
	for i := range page.Items {
		d.Rows = append(d.Rows, r.resourceRow(&page.Items[i]))
	}
	d.Pager = r.turns("resources", sel.values(), paramCursor, page.Next)
	d.Pager.Text = counted(len(d.Rows), page.Count)
	if len(d.Rows) > 0 && r.canChange() {
		d.Acts = r.selectionForm(sel, page.Next == "" && cursor == "", len(d.Rows))
	}
	return view{Template: "resources.html", Title: "Resources", Section: "Resources", Data: d}, nil
}

// countLinks returns the counts by status as links to the list, and their sum. The links keep the
// other terms, of which the counts know nothing.
func (r *request) countLinks(p *api.Progress, sel selection) (out []countView, all, allURL string) {
	link := func(status ...string) string {
		with := sel
		with.Status = status
		return r.urlOf("resources", with.values())
	}
	total := 0
	for _, n := range p.Counts {
		total += n
	}
	out = countsOf(p.ByStatus(), func(s state.Status) string { return link(string(s)) })
	return out, number(total), link()
}

// setView is the set of a resource in a list. The set of an instance is a link to it, with its id as
// title: reading the names of 50 instances would cost more than the list.
type setView struct{ Name, URL, Title string }

func (r *request) setOf(name string) setView {
	if uuid.Validate(name) == nil && r.hasPage(instancePattern) {
		return setView{Name: "instance", URL: r.instanceURL(name, ""), Title: name}
	}
	return setView{Name: shorten(name, 40)}
}

func (r *request) resourceRow(x *api.Resource) resourceRow {
	row := resourceRow{Row: rowID("r", string(x.ID)), Of: r.ref(x.ID), Status: statusOf(x.Status),
		Reason: shorten(x.Reason, reasonRoom(x.ID)), LastRun: string(x.LastRun), Set: r.setOf(x.Set)}
	if x.Interrupted {
		row.Reason = cmp.Or(row.Reason, "interrupted; no process has taken it up yet")
	}
	return row
}

// selectionForm returns what can be done with the resources of a list, of which rows are shown.
func (r *request) selectionForm(sel selection, whole bool, rows int) *selectionForm {
	f := &selectionForm{Back: r.urlOf("resources", sel.values()), All: "all that match",
		Buttons: []button{
			{"Repair", r.url("do/repair"), "check against reality, and correct drift"},
			{"Deploy", r.url("do/deploy"), "deploy unfinished resources"},
			{"Retry failed", r.url("do/retry"), "try failed resources again now"},
		}}
	if r.hasPage(dryrunPattern) {
		f.Buttons = append(f.Buttons, button{"Dry run", r.url("do/dryrun"), "compare with reality, and change nothing"})
	}
	switch {
	case whole:
		f.All = "all " + plural(rows, "resource") + " of this list"
	case sel.empty():
		f.All = "all resources"
	}
	values := sel.values()
	for _, name := range listParams() {
		for _, v := range slices.Clone(values[name]) {
			f.Hidden = append(f.Hidden, choice{Value: v, Text: name})
		}
	}
	return f
}
