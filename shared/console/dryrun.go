package console

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

const dryrunPattern = "POST /console/{env}/do/dryrun"

// dryrunPages are the list of dry runs, one of them, its start and its end.
func (s *site) dryrunPages() []route {
	d := newDryRuns(s.o)
	return []route{
		{pattern: "GET /console/{env}/dryruns", page: d.list},
		{pattern: "GET /console/{env}/dryruns/{job}", page: d.one},
		{pattern: dryrunPattern, page: d.start},
		{pattern: "POST /console/{env}/do/cancel-dryrun", page: d.cancel},
	}
}

// runRow is a dry run of a list.
type runRow struct {
	Row, URL string
	Started  timeView
	Took     string
	What     string // what it compares
	State    string
	Tone     string
	Found    string // what it has found; "": it has not ended well
}

func (r *request) runRow(x *dryRun) runRow {
	row := runRow{Row: "d" + x.id, URL: r.urlOf("dryruns/"+x.id, runQuery(x.version, x.filters)), Started: r.timeAgo(x.started),
		What: "the version in force", State: "running", Tone: "busy"}
	if x.version > 0 {
		row.What = "version " + strconv.Itoa(x.version)
	}
	if text := filtersText(x.filters); text != "" {
		row.What += ", " + text
	}
	if x.ended.IsZero() {
		return row
	}
	row.Took = took(x.started, x.ended)
	switch {
	case x.canceled:
		row.State, row.Tone = "canceled", "quiet"
	case x.err != nil:
		row.State, row.Tone = "failed", "bad"
	default:
		row.State, row.Tone = "done", "good"
		row.Found = plural(differing(x.result), "change") + ", " + number(x.result.Covered) + " compared"
	}
	return row
}

// filtersText returns what a dry run is limited to; "": it compares everything.
func filtersText(filters [][]string) string {
	if len(filters) > 1 {
		return plural(len(filters), "resource")
	}
	var terms []string
	for _, f := range filters {
		terms = append(terms, f...)
	}
	return shorten(strings.Join(terms, " "), 200)
}

// runsView is the list of dry runs.
type runsView struct {
	Rows            []runRow
	Do              string
	Version, Filter string
	Wrong           *problemView
}

func (d *dryRuns) list(_ context.Context, r *request) (view, error) {
	q := r.URL.Query()
	return d.listed(r, q.Get(paramVersion), q.Get("filter"), nil), nil
}

// listed returns the list of dry runs with what was typed for a new one, and why that did not start.
func (d *dryRuns) listed(r *request, version, filter string, wrong error) view {
	x := runsView{Do: r.url("do/dryrun"), Version: version, Filter: filter}
	all := d.of(r.Env)
	for i := range all {
		x.Rows = append(x.Rows, r.runRow(&all[i]))
	}
	v := view{Template: "dryruns.html", Title: "Dry runs", Section: "Dry runs", Data: &x}
	if wrong != nil {
		x.Wrong = r.problem(wrong)
		v.Status = x.Wrong.Status
	}
	return v
}

// runView is one dry run.
type runView struct {
	Of      runRow
	Job     string
	Running bool
	Failed  *problemView
	Unread  []string // agents that were not compared completely
	Plan    planView
	Equal   bool
	Refused *refusalView
	Again   string // the address that starts it again
	Cancel  string
	Repair  *runRepair
}

// runRepair repairs the resources that the page shows.
type runRepair struct {
	Do, Back string
	IDs      []string
}

func (d *dryRuns) one(ctx context.Context, r *request) (view, error) {
	x, ok := d.get(r.Env, r.PathValue("job"))
	if !ok {
		return r.lostRun(), nil
	}
	v := runView{Of: r.runRow(&x), Job: x.id, Running: x.ended.IsZero()}
	if r.canChange() {
		v.Cancel = r.url("do/cancel-dryrun")
		v.Again = r.url("dryruns", paramVersion, versionText(x.version), "filter", oneFilter(x.filters))
	}
	if x.err != nil && !x.canceled {
		v.Failed = r.problem(x.err)
	}
	for _, name := range x.result.Unread[:min(len(x.result.Unread), pageRows)] {
		v.Unread = append(v.Unread, cutMiddle(line(name), maxPart))
	}
	if !v.Running {
		v.Plan = r.planView(x.result.Planned, "dryruns/"+x.id, runQuery(x.version, x.filters))
		v.Equal = len(v.Plan.Counts) == 0 && x.err == nil
		if x.result.Refused != nil {
			v.Refused = r.refusal(ctx, x.result.Refused, x.version)
		}
		if len(v.Plan.Rows) > 0 && r.canChange() && x.version == 0 {
			v.Repair = &runRepair{Do: r.url("do/repair"), Back: r.here()}
			for i := range v.Plan.Rows {
				v.Repair.IDs = append(v.Repair.IDs, string(v.Plan.Rows[i].Of.ID))
			}
		}
	}
	return view{Template: "dryrun.html", Title: "Dry run", Section: "Dry runs", Data: v}, nil
}

func versionText(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// oneFilter returns the terms of a single filter; "" of several.
func oneFilter(filters [][]string) string {
	if len(filters) != 1 {
		return ""
	}
	return strings.Join(filters[0], "\n")
}

// start starts a dry run of the resources that a form selects, or of a typed filter and version.
func (d *dryRuns) start(ctx context.Context, r *request) (view, error) {
	version, text := r.PostForm.Get(paramVersion), r.PostForm.Get("filter")
	if r.PostForm.Get("scope") != "" {
		filters, err := r.selected()
		if err == nil {
			err = checkFilters(filters)
		}
		if err != nil {
			return view{}, err
		}
		return d.begun(ctx, r, 0, filters)
	}
	n, filters, err := typedRuns(version, r.PostForm["filter"])
	if err != nil {
		return d.listed(r, version, text, err), nil
	}
	v, err := d.begun(ctx, r, n, filters)
	if err != nil {
		return d.listed(r, version, text, err), nil
	}
	return v, nil
}

// begun starts a dry run and goes to its page.
func (d *dryRuns) begun(ctx context.Context, r *request, version int, filters [][]string) (view, error) {
	id, err := d.begin(ctx, r.home(ctx), r.Env, version, filters)
	if err != nil {
		return view{}, err
	}
	return view{Redirect: r.urlOf("dryruns/"+id, runQuery(version, filters))}, nil
}

// maxRunQuery bounds the filters in the address of a dry run, in bytes.
const maxRunQuery = 2000

// runQuery returns what a dry run compares as parameters of its address, so that it can be run again
// when its result is gone. Too many filters are left out, and marked by an empty one.
func runQuery(version int, filters [][]string) url.Values {
	q := url.Values{"filter": nil}
	if version > 0 {
		q.Set(paramVersion, strconv.Itoa(version))
	}
	size := 0
	for _, terms := range filters {
		text := strings.Join(terms, "\n")
		q.Add("filter", text)
		size += len(text)
	}
	if size > maxRunQuery {
		q["filter"] = []string{lostFilter}
	}
	return q
}

// lostFilter marks filters that are too long for an address.
const lostFilter = "…"

// lostRunView is a dry run that this console does not have.
type lostRunView struct {
	Text    string // what it compared; "": that is not known
	List    string
	Do      string // where it is started again; "": not permitted, or not known
	Version string
	Filters []string
}

// lostRun returns the page of a dry run that this console does not have, with a button that runs it
// again.
func (r *request) lostRun() view {
	q := r.URL.Query()
	d := lostRunView{List: r.url("dryruns"), Version: q.Get(paramVersion), Filters: q["filter"]}
	if !slices.Contains(d.Filters, lostFilter) && (q.Has("filter") || q.Has(paramVersion)) {
		version, filters, err := typedRuns(d.Version, d.Filters)
		if err == nil {
			d.Text = r.runRow(&dryRun{version: version, filters: filters}).What
		}
		if err == nil && r.canChange() {
			d.Do = r.url("do/dryrun")
		}
	}
	return view{Template: "lostrun.html", Title: "Dry run", Section: "Dry runs", Data: d,
		Status: http.StatusNotFound}
}

// typedRuns reads a version and filters.
func typedRuns(version string, texts []string) (n int, filters [][]string, err error) {
	if len(texts) == 0 {
		return typedRun(version, "")
	}
	for _, text := range texts {
		var one [][]string
		if n, one, err = typedRun(version, text); err != nil {
			return 0, nil, err
		}
		filters = append(filters, one...)
	}
	return n, filters, nil
}

// typedRun reads a typed version and filter; a filter has a term a line, or one id with spaces.
func typedRun(version, text string) (n int, filters [][]string, err error) {
	if version = strings.TrimSpace(version); version != "" {
		if n, err = strconv.Atoi(version); err != nil || n < 1 {
			return 0, nil, fault.New(fault.Usage, "dry run", "%q is not the number of a version", shorten(version, 40)).
				WithHint("write a number from 1, or leave it out for the version in force")
		}
	}
	var terms []string
	for term := range strings.Lines(text) {
		if term = strings.TrimSpace(term); term != "" {
			terms = append(terms, term)
		}
	}
	filters = [][]string{terms}
	return n, filters, checkFilters(filters)
}

func checkFilters(filters [][]string) error {
	for _, terms := range filters {
		if _, err := state.ParseFilter(terms); err != nil {
			return err
		}
	}
	return nil
}

func (d *dryRuns) cancel(_ context.Context, r *request) (view, error) {
	id := r.PostForm.Get("job")
	if !d.stop(r.Env, id) {
		return view{}, fault.New(fault.NotFound, "", "the dry run is not running").
			WithHint("the list of dry runs shows which run")
	}
	r.flash("The dry run is canceled")
	return view{Redirect: r.url("dryruns/" + url.PathEscape(id))}, nil
}
