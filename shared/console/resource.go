package console

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/orders"
)

// resourceView is one resource.
//
// Large: it is the data of one template.
type resourceView struct {
	Of         resourceRef
	Status     statusView
	Sentence   []sentencePart
	Vector     []vector
	Version    int
	VersionURL string
	Set        string
	Instance   *form.Link // the instance whose set it is in
	Agent      string     // the address of its agent
	Attempts   int

	Differ, Equal []attribute
	Compared      bool     // a seen value is known
	SeenAt        timeView // without a machine form: never
	Gone          bool     // the thing did not exist when it was seen last

	Requires, RequiredBy, Causes             []resourceRef
	MoreRequires, MoreRequiredBy, MoreCauses int

	Actions  []actionRow
	AllURL   string // the address of all its actions
	NoAction *problemView

	Facts     []parameterRow
	NoFacts   *problemView
	MoreFacts string // the address of all its facts; "": these are all
	Graph     string // the address of its graph; "": there is none
	Place     string // where the model describes it
	Acts      *oneForm
	Sides     sidesLink
}

// sentencePart is a part of a sentence with what it links to.
type sentencePart struct {
	Text string
	Of   *resourceRef
	At   *timeView
}

// oneForm is what can be done with one resource.
type oneForm struct {
	Back, ID string
	Buttons  []button
	Forget   string // the address that asks before it forgets; "": it is managed
}

// sidesLink switches between the two forms of differences of texts.
type sidesLink struct {
	Sides bool
	URL   string
}

// maxNeighbors is how many required and requiring resources a page names.
const maxNeighbors = 30

// lastActions is how many actions the page of a resource shows.
const lastActions = 20

// resourcePages is one resource.
func (s *site) resourcePages() []route {
	return []route{{pattern: "GET /console/{env}/resource", page: resourcePage}}
}

func resourcePage(ctx context.Context, r *request) (view, error) {
	id := resource.ID(r.URL.Query().Get("id"))
	if id == "" {
		return view{}, fault.New(fault.Usage, "resource", "the address names no resource").
			WithHint("open a resource from the list of resources")
	}
	h := r.home(ctx)
	d, err := h.Resource(ctx, r.Env, id)
	if err != nil {
		return view{}, err
	}
	v := r.resourceView(&d)
	v.Instance = r.instanceOf(ctx, d.Set)
	facts := api.ParametersQuery{Facts: true, Resource: id}
	facts.Limit = pageRows
	known, err := h.ParametersPage(ctx, r.Env, facts)
	if err = unlessNone(err); err != nil {
		v.NoFacts = r.problem(err)
	}
	for i := range known.Items {
		v.Facts = append(v.Facts, r.parameterRow(&known.Items[i]))
	}
	if known.Next != "" {
		v.MoreFacts = r.url("facts", paramResource, string(id))
	}
	found, err := h.Actions(ctx, r.Env, api.ActionQuery{Resource: id, Limit: lastActions})
	if err != nil {
		v.NoAction = r.problem(err)
	}
	for i := range found {
		v.Actions = append(v.Actions, r.actionRow(&found[i], v.Sides.Sides))
	}
	return view{Template: "resource.html", Title: v.Of.Whole, Section: "Resources", Data: v}, nil
}

// instanceOf returns the instance of a set, whose name is the id of the instance; nil if there is none.
func (r *request) instanceOf(ctx context.Context, set string) *form.Link {
	if uuid.Validate(set) != nil {
		return nil
	}
	o, err := r.orders(ctx)
	if err != nil {
		return nil
	}
	i, err := o.Instance(ctx, r.Env, orders.Ref{ID: set})
	if err != nil {
		return nil
	}
	link := r.instanceLink(&i)
	return &link
}

// resourceView returns everything of the page that one call answers.
func (r *request) resourceView(d *api.Detail) resourceView {
	v := resourceView{Of: r.ref(d.ID), Status: statusOf(d.Status), Vector: vectorOf(&d.Resource),
		Version: d.Version, VersionURL: r.versionURL(d.Version), Set: shorten(d.Set, 200),
		Agent: r.agentURL(d.Agent), Attempts: d.Attempts,
		AllURL: r.url("actions", "resource", string(d.ID)),
		Sides:  r.sidesLink("resource", "id", string(d.ID))}
	for i, p := range sentenceOf(d) {
		if i == 0 { // the status stands in front of the sentence
			p.Text = strings.TrimPrefix(p.Text, v.Status.Word)
		}
		v.Sentence = append(v.Sentence, r.sentencePart(p))
	}
	v.Differ, v.Equal = attributesOf(d.Desired, d.Seen, d.Seen != nil, v.Sides.Sides)
	v.Compared = len(v.Differ) > 0 ||
		slices.ContainsFunc(v.Equal, func(a attribute) bool { return d.Seen != nil && !a.Unknown })
	if d.SeenAt != nil {
		v.SeenAt = r.timeAgo(*d.SeenAt)
		v.Gone = d.Seen == nil
	}
	v.Requires, v.MoreRequires = r.refs(d.Requires, maxNeighbors)
	v.RequiredBy, v.MoreRequiredBy = r.refs(d.RequiredBy, maxNeighbors)
	v.Causes, v.MoreCauses = r.refs(d.Causes, maxNeighbors)
	v.Graph = r.graphURL(d.ID)
	if d.Place != nil {
		v.Place = line(d.Place.String())
	}
	if r.canChange() {
		v.Acts = r.oneForm(d)
	}
	return v
}

func (r *request) oneForm(d *api.Detail) *oneForm {
	f := &oneForm{Back: r.url("resource", "id", string(d.ID)), ID: string(d.ID)}
	if d.Status == state.StatusOrphaned {
		f.Forget = r.url("forget", "id", string(d.ID))
		return f
	}
	if d.LastRun == state.RunFailed || d.Blocked == state.NeedsDecision {
		f.Buttons = append(f.Buttons, button{"Retry", r.url("do/retry"), "try it again now"})
	}
	f.Buttons = append(f.Buttons,
		button{"Repair", r.url("do/repair"), "check it against reality, and correct drift"},
		button{"Deploy", r.url("do/deploy"), "deploy it, if it is unfinished"})
	if r.hasPage(dryrunPattern) {
		f.Buttons = append(f.Buttons, button{"Dry run", r.url("do/dryrun"),
			"compare it with reality, and change nothing"})
	}
	return f
}

func (r *request) sentencePart(p phrase) sentencePart {
	out := sentencePart{Text: p.Text}
	if p.Resource != "" {
		ref := r.ref(p.Resource)
		out.Of = &ref
	}
	if !p.At.Equal(time.Time{}) {
		at := r.timeAgo(p.At)
		out.At = &at
	}
	return out
}

// graphURL returns the URL of the graph of a resource, or of the environment; "" if it has no page.
func (r *request) graphURL(id resource.ID) string {
	if !r.hasPage("GET /console/{env}/graph") {
		return ""
	}
	return r.url("graph", "id", string(id))
}

// sidesLink returns the switch between the forms of differences for a page.
func (r *request) sidesLink(path string, pairs ...string) sidesLink {
	is := r.URL.Query().Get("diff") == "sides"
	if !is {
		pairs = append(pairs, "diff", "sides")
	}
	return sidesLink{is, r.url(path, pairs...)}
}
