package console

import (
	"context"
	"encoding/json"
	"strconv"

	"southbound/shared/api"
	"southbound/shared/api/instances"
	"southbound/shared/console/form"
	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

func (s *site) instancePages() []route {
	return append([]route{{pattern: instancePattern, page: instancePage}}, instanceActions()...)
}

// Tabs of the page of an instance.
const (
	tabDocumentation = "documentation"
	tabAttributes    = "attributes"
	tabHistory       = "history"
	tabResources     = "resources"
	tabDiagnose      = "diagnose"
	tabJSON          = "json"
)

// instanceView is the data of instance.html.
//
// Large: it is the data of one template.
type instanceView struct {
	ID, Name   string
	Service    string
	ServiceURL string
	Version    int64
	Definition int
	Status     statusView
	Deleted    bool
	Busy       string // what goes on; "": nothing
	Problem    string
	Diagnose   string // the tab that explains the problem
	Created    timeView
	Updated    timeView
	Progress   progressView
	ReferredBy []form.Link
	Tabs       []navEntry
	Tab        string
	Actions    instanceActionsView
	Sets       *setsView
	History    *historyView
	Resources  *instanceResourcesView
	Diagnosis  *diagnosisView
	JSON       string
	Drawing    drawingView
	Documents  *documentationView
	Wrong      *problemView // why the tab has no content
}

// instanceActionsView are the actions of an instance.
type instanceActionsView struct {
	Edit, Duplicate, Delete, Force string // "": not offered
	States                         []stateAction
	SetState                       string
	Config                         []configOption
	Configure                      string
	Metadata                       []form.Pair
	SetMetadata                    string
}

// stateAction is a state that can be requested.
type stateAction struct {
	Target, Description string
	Confirm             string // the question to ask first; "": none
}

// configOption is a setting for automatic transfers.
type configOption struct {
	Name string
	On   bool
	Own  bool // set for the instance
}

func instancePage(ctx context.Context, r *request) (view, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	i, err := o.Instance(ctx, r.Env, orders.Ref{ID: r.PathValue("id")})
	if err != nil {
		return view{}, err
	}
	offer, err := o.Offer(ctx, r.Env, i.Service, i.ServiceVersion, false)
	if err != nil {
		return view{}, err
	}
	d := r.instanceView(&i, &offer.Service)
	one := []orders.Instance{i}
	if instances.CountProgress(ctx, r.home(ctx), r.Env, one) == nil {
		d.Progress = progressOf(one[0].Progress)
	}
	d.ReferredBy = r.linksTo(ctx, o, i.ReferredBy)
	switch d.Tab {
	case tabDocumentation:
	case tabHistory:
		d.History, err = r.history(ctx, o, &i, &offer.Service)
	case tabResources:
		d.Resources, err = r.instanceResources(ctx, &i)
	case tabDiagnose:
		d.Diagnosis, err = r.diagnosis(ctx, o, &i)
	case tabJSON:
		b, failed := json.MarshalIndent(i, "", "  ")
		d.JSON, err = string(b), failed
	default:
		d.Sets, err = r.sets(ctx, o, &i, &offer.Service)
	}
	v := view{Template: "instance.html", Title: d.Name, Section: sectionServices, Data: &d}
	if err != nil { // the rest of the page is of use
		d.Sets, d.History, d.Resources, d.Diagnosis = nil, nil, nil, nil
		d.Wrong = r.problem(err)
		v.Status = d.Wrong.Status
	}
	return v, nil
}

func (r *request) instanceView(i *orders.Instance, s *definition.Service) instanceView {
	d := instanceView{
		ID: i.ID, Name: instanceName(i), Service: i.Service, ServiceURL: r.serviceURL(i.Service, ""),
		Version: i.Version, Definition: i.ServiceVersion, Status: lifecycleStatus(i.State, i.Label),
		Deleted: i.Deleted, Problem: i.Problem(), Created: r.time(i.Created), Updated: r.timeAgo(i.Updated),
		Tab: r.URL.Query().Get("tab"), Actions: r.actionsOf(i, s),
		Drawing: r.site.lifecycleDrawing(r, &s.Lifecycle, i.State, nil),
	}
	switch {
	case i.Transfer != nil:
		d.Busy = "its attributes are being validated"
	case !i.Settled && !i.Deleted:
		d.Busy = "the next state follows automatically"
	}
	if i.Failed {
		d.Diagnose = r.instanceURL(i.ID, "", "tab", tabDiagnose)
	}
	tabs := []struct{ key, title string }{
		{tabAttributes, "Attributes"}, {tabHistory, "History"}, {tabResources, "Resources"},
		{tabDiagnose, "Diagnose"}, {tabJSON, "JSON"},
	}
	docs := r.site.documentation(r, s, currentSet(i), r.offers(i, s))
	if len(docs.Tabs) > 0 {
		tabs = append([]struct{ key, title string }{{tabDocumentation, "Documentation"}}, tabs...)
	}
	known, q := false, r.URL.Query()
	for _, one := range tabs {
		known = known || d.Tab == one.key
	}
	if !known {
		d.Tab = tabs[0].key
	}
	if !known && q.Get("a") != "" {
		d.Tab = tabAttributes
	}
	for _, one := range tabs {
		d.Tabs = append(d.Tabs, navEntry{one.title, r.instanceURL(i.ID, "", "tab", one.key), d.Tab == one.key})
	}
	if d.Tab == tabDocumentation {
		d.Documents = &docs
	}
	return d
}

// offers returns the forms that request the states which the state of an instance offers.
func (r *request) offers(i *orders.Instance, s *definition.Service) func(string) *transferForm {
	return func(target string) *transferForm {
		if !r.canChange() || i.Deleted {
			return nil
		}
		for n := range s.Lifecycle.Transfers {
			t := &s.Lifecycle.Transfers[n]
			if t.Source == i.State && t.Target == target && t.APISetState {
				return &transferForm{Action: r.url("do/setstate"), Fields: [][2]string{
					{fieldID, i.ID}, {fieldSeen, strconv.FormatInt(i.Version, 10)}, {"target", target},
				}}
			}
		}
		return nil
	}
}

// actionsOf returns the actions that the state of an instance offers.
func (r *request) actionsOf(i *orders.Instance, s *definition.Service) instanceActionsView {
	var out instanceActionsView
	if !r.canChange() {
		return out
	}
	out.Duplicate = r.serviceURL(i.Service, "/new", "from", i.ID)
	if i.Deleted {
		return out
	}
	out.SetState, out.Configure = r.url("do/setstate"), r.url("do/configure")
	out.SetMetadata, out.Force = r.url("do/metadata"), r.instanceURL(i.ID, "/force")
	for n := range s.Lifecycle.Transfers {
		t := &s.Lifecycle.Transfers[n]
		if t.Source != i.State {
			continue
		}
		if t.OnUpdate {
			out.Edit = r.instanceURL(i.ID, "/edit")
		}
		if t.OnDelete {
			out.Delete = r.instanceURL(i.ID, "/delete")
		}
		if t.APISetState {
			out.States = append(out.States, stateActionOf(t))
		}
	}
	for _, name := range sortedNames(s.Config) {
		on, own := i.Config[name]
		if !own {
			on = s.Config[name]
		}
		out.Config = append(out.Config, configOption{name, on, own})
	}
	for _, name := range sortedNames(i.Metadata) {
		out.Metadata = append(out.Metadata, form.Pair{Name: name, Value: i.Metadata[name]})
	}
	return out
}

func stateActionOf(t *lifecycle.Transfer) stateAction {
	out := stateAction{Target: t.Target, Description: t.Description}
	out.Confirm, _ = t.Annotations["web_confirm"].(string)
	return out
}

// setsView are sets of attributes beside each other.
type setsView struct {
	Heads    []string
	Rows     []setsRow
	Versions []string // the two versions that are compared; none: the sets of the instance
	Form     string
	Last     int64
	Changed  bool
}

// setsRow is an attribute with its value in each set.
type setsRow struct {
	Path    string
	Values  []valueView
	Differs bool
}

// sets compares the sets of an instance, or its attributes at two versions.
func (r *request) sets(
	ctx context.Context, o api.Orders, i *orders.Instance, s *definition.Service,
) (*setsView, error) {
	q := r.URL.Query()
	d := &setsView{Form: r.instanceURL(i.ID, ""), Last: i.Version}
	if q.Get("a") != "" && q.Get("b") != "" {
		d.Versions = []string{q.Get("a"), q.Get("b")}
		var all []map[string]any
		for _, n := range d.Versions {
			set, err := r.atVersion(ctx, o, i, n)
			if err != nil {
				return d, err
			}
			d.Heads, all = append(d.Heads, "Version "+n), append(all, set)
		}
		r.fill(ctx, o, d, s, all)
		return d, nil
	}
	var all []map[string]any
	for _, one := range []struct {
		title string
		set   map[string]any
	}{{"Candidate", i.Candidate}, {"Active", i.Active}, {"Rollback", i.Rollback}} {
		if one.set != nil {
			d.Heads, all = append(d.Heads, one.title), append(all, one.set)
		}
	}
	r.fill(ctx, o, d, s, all)
	return d, nil
}

// atVersion returns the attributes of an instance at a version.
func (r *request) atVersion(
	ctx context.Context, o api.Orders, i *orders.Instance, n string,
) (map[string]any, error) {
	page, err := o.Log(ctx, r.Env, orders.Ref{Service: i.Service, ID: i.ID}, orders.LogQuery{
		Versions: []string{"ge:" + n, "le:" + n}, Place: orders.Place{Limit: 1},
	})
	if err != nil {
		return nil, err
	}
	if len(page.Items) == 0 {
		return nil, noVersion(i, n)
	}
	if page.Items[0].Candidate != nil {
		return page.Items[0].Candidate, nil
	}
	return page.Items[0].Active, nil
}

// fill adds a row for each attribute of the sets.
func (r *request) fill(
	ctx context.Context, o api.Orders, d *setsView, s *definition.Service, sets []map[string]any,
) {
	var paths []string
	links := r.instanceLinks(ctx, o, inventory.References(s, sets...))
	seen := map[string]bool{}
	flat := make([]*flattener, len(sets))
	for n, set := range sets {
		flat[n] = flatten(&s.Part, set)
		for _, path := range flat[n].paths {
			if !seen[path] {
				seen[path] = true
				paths = append(paths, path)
			}
		}
	}
	for _, path := range paths {
		row := setsRow{Path: path}
		for n := range sets {
			v, has := flat[n].values[path]
			shown := attributeValue(v)
			if flat[n].relations[path] {
				shown.Links = linksIn(v, links)
			}
			if !has {
				shown = valueView{Text: "–", None: true}
			}
			row.Values = append(row.Values, shown)
			first, had := flat[0].values[path]
			row.Differs = row.Differs || has != had || !inventory.Equal(first, v)
		}
		d.Changed = d.Changed || row.Differs
		d.Rows = append(d.Rows, row)
	}
}

// linksIn returns the links of the value of a relation.
func linksIn(v any, links map[string]form.Link) []form.Link {
	var out []form.Link
	for _, id := range idsIn(v) {
		if link, has := links[id]; has {
			out = append(out, link)
		}
	}
	return out
}

// historyView is the time line of an instance.
type historyView struct {
	Entries []historyEntry
	Pager   pagerView
}

// historyEntry is a version of an instance, with the events that led to it.
type historyEntry struct {
	Row     string
	Version int64
	At      timeView
	State   statusView
	Events  []eventRow
	Compare string // its attributes beside those of the version before
}

// eventRow is an event of an instance.
type eventRow struct {
	At       timeView
	Type     string
	From, To string
	Message  string
	Error    bool
	Problems []string
	Compile  compileView
}

// historyRows is the number of versions of a page.
const historyRows = 20

// history returns the newest versions and events of an instance.
func (r *request) history(
	ctx context.Context, o api.Orders, i *orders.Instance, s *definition.Service,
) (*historyView, error) {
	after := r.URL.Query().Get(inAfter)
	page, err := o.Log(ctx, r.Env, orders.Ref{Service: i.Service, ID: i.ID}, orders.LogQuery{
		Descending: true, Place: orders.Place{Limit: historyRows, After: after},
	})
	d := &historyView{}
	for n := range page.Items {
		l := &page.Items[n]
		e := historyEntry{
			Row: "v-" + strconv.FormatInt(l.Version, 10), Version: l.Version, At: r.timeAgo(l.At),
			State: lifecycleStatus(l.State, ""),
		}
		if state, is := s.Lifecycle.State(l.State); is {
			e.State = lifecycleStatus(l.State, state.Label)
		}
		if l.Version > 1 {
			e.Compare = r.instanceURL(i.ID, "", "tab", tabAttributes,
				"a", strconv.FormatInt(l.Version-1, 10), "b", strconv.FormatInt(l.Version, 10))
		}
		for m := range l.Events {
			e.Events = append(e.Events, r.eventRow(&l.Events[m]))
		}
		d.Entries = append(d.Entries, e)
	}
	d.Pager = r.turnsHere(inAfter, page.Next)
	d.Pager.Text = plural(len(d.Entries), "version")
	return d, err
}

func (r *request) eventRow(e *orders.Event) eventRow {
	row := eventRow{At: r.time(e.At), Type: e.Type, From: stringOf(e.From), To: stringOf(e.To),
		Message: e.Message, Error: e.Error, Compile: compileViewOf(e.Ran)}
	for _, p := range problemsIn(e.More) {
		row.Problems = append(row.Problems, p.String())
	}
	return row
}

// problemsIn returns the problems in the further data of an event.
func problemsIn(more json.RawMessage) []diag.Problem {
	var out struct {
		Problems []diag.Problem `json:"problems"`
	}
	if len(more) == 0 || json.Unmarshal(more, &out) != nil {
		return nil
	}
	return out.Problems
}
