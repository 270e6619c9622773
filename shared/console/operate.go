package console

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// maxTicked is the number of resources or agents that one form may name.
const maxTicked = 200

// workPages are the actions that schedule work.
func (s *site) workPages() []route {
	return []route{
		{pattern: "POST /console/{env}/do/repair", page: workPage(api.Work{Repair: true}, "checked and repaired")},
		{pattern: "POST /console/{env}/do/deploy", page: workPage(api.Work{}, "deployed")},
		{pattern: "POST /console/{env}/do/retry", page: workPage(api.Work{RetryFailed: true}, "tried again")},
		{pattern: "POST /console/{env}/do/halt", page: haltPage(true)},
		{pattern: "POST /console/{env}/do/unhalt", page: haltPage(false)},
	}
}

// workPage schedules work of one kind on the resources that a form selects. done says what happens
// with them.
func workPage(w api.Work, done string) pageFunc {
	return func(ctx context.Context, r *request) (view, error) {
		filters, err := r.selected()
		if err != nil {
			return view{}, err
		}
		h, scheduled, idle := r.home(ctx), 0, 0
		for i, terms := range filters {
			w.Filter = terms
			n, err := h.Schedule(ctx, r.Env, w)
			if err != nil && i > 0 {
				return view{}, fault.Wrap(fault.KindOf(err),
					fmt.Sprintf("after %s of %d", plural(i, "resource"), len(filters)), err)
			}
			if err != nil {
				return view{}, err
			}
			if scheduled += n; n == 0 {
				idle++
			}
		}
		switch {
		case scheduled == 0:
			r.flash("Nothing was scheduled: no selected resource has work of this kind")
		case idle > 0:
			r.flash("%d of %s %s; the others have no work of this kind", len(filters)-idle,
				plural(len(filters), "selected resource"), isAre(len(filters)-idle, done))
		default:
			r.flash("%s %s", plural(scheduled, "resource"), isAre(scheduled, done))
		}
		return view{Redirect: r.back(r.url("resources"))}, nil
	}
}

// isAre returns the passive of a participle for a number of things.
func isAre(n int, participle string) string {
	if n == 1 {
		return "is " + participle
	}
	return "are " + participle
}

// selected returns the filters that a form selects: one for each ticked resource, or one for all that
// match.
func (r *request) selected() ([][]string, error) {
	sel := selectionOf(r.PostForm)
	switch r.PostForm.Get("scope") {
	case "all":
		return [][]string{sel.terms()}, nil
	case "agents":
		if len(sel.Agents) == 0 {
			return nil, fault.New(fault.Usage, "", "no agent is ticked").
				WithHint("go back and tick agents")
		}
		sel = selection{Agents: sel.Agents}
		return [][]string{sel.terms()}, nil
	}
	ids := distinct(r.PostForm["id"])
	switch {
	case len(ids) == 0:
		return nil, fault.New(fault.Usage, "", "no resource is ticked").
			WithHint("go back and tick resources, or choose all that match")
	case len(ids) > maxTicked:
		return nil, fault.New(fault.Usage, "", "%d resources are ticked, and %d are permitted", len(ids), maxTicked).
			WithHint("set a filter and choose all that match")
	}
	out := make([][]string, 0, len(ids))
	for _, id := range ids {
		if _, err := resource.ParseID(id); err != nil {
			return nil, fault.Wrap(fault.Usage, "", err)
		}
		out = append(out, []string{id})
	}
	return out, nil
}

// distinct returns the values that are not empty, each once, in their order.
func distinct(values []string) []string {
	var out []string
	for _, v := range values {
		if v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func haltPage(halted bool) pageFunc {
	return func(ctx context.Context, r *request) (view, error) {
		if err := r.home(ctx).Halt(ctx, r.Env, halted); err != nil {
			return view{}, err
		}
		if halted {
			r.flash("The environment is halted: running resources end, and no other starts")
		} else {
			r.flash("The environment is no longer halted: waiting resources start")
		}
		return view{Redirect: r.back(r.url(""))}, nil
	}
}

// pausePages pause and resume agents.
func (s *site) pausePages() []route {
	return []route{
		{pattern: "POST /console/{env}/do/pause", page: pausePage(true)},
		{pattern: "POST /console/{env}/do/resume", page: pausePage(false)},
	}
}

func pausePage(paused bool) pageFunc {
	return func(ctx context.Context, r *request) (view, error) {
		names := distinct(r.PostForm["agent"])
		switch {
		case len(names) == 0:
			return view{}, fault.New(fault.Usage, "", "no agent is ticked").
				WithHint("go back and tick agents")
		case len(names) > maxTicked:
			return view{}, fault.New(fault.Usage, "",
				"%d agents are ticked, and %d are permitted", len(names), maxTicked)
		}
		h := r.home(ctx)
		all, err := h.Agents(ctx, r.Env)
		if err != nil {
			return view{}, err
		}
		known, unknown := knownAgents(all, names)
		if len(known) > 0 {
			if err := h.Pause(ctx, r.Env, paused, known...); err != nil {
				return view{}, err
			}
		}
		r.flash("%s", pausedText(paused, known, unknown))
		return view{Redirect: r.back(r.url("agents"))}, nil
	}
}

// knownAgents divides names into those of agents and others.
func knownAgents(all []api.Agent, names []string) (known, unknown []string) {
	for _, name := range names {
		if slices.ContainsFunc(all, func(a api.Agent) bool { return a.Name == name }) {
			known = append(known, name)
		} else {
			unknown = append(unknown, name)
		}
	}
	return known, unknown
}

// pausedText says what happened with agents.
func pausedText(paused bool, known, unknown []string) string {
	done := "resumed"
	if paused {
		done = "paused"
	}
	all := len(known) + len(unknown)
	text := fmt.Sprintf("%s %s", plural(all, "agent"), done)
	switch {
	case all == 1 && len(known) == 1:
		text = fmt.Sprintf("Agent %s is %s", line(known[0]), done)
	case len(unknown) > 0:
		text = fmt.Sprintf("%d of %s %s", len(known), plural(all, "agent"), done)
	}
	switch len(unknown) {
	case 0:
		return text
	case 1:
		return fmt.Sprintf("%s; %s does not exist", text, line(unknown[0]))
	}
	shown := unknown[:min(3, len(unknown))]
	return fmt.Sprintf("%s; %s do not exist", text, line(strings.Join(shown, ", ")))
}

// forgetPages forget orphaned resources and retired agents.
func (s *site) forgetPages() []route {
	return []route{
		{pattern: "GET /console/{env}/forget", page: askForget},
		{pattern: "POST /console/{env}/do/forget", page: forgetPage},
	}
}

// forgetView asks before records are removed.
type forgetView struct {
	Of      *resourceRef // the resource
	Agent   string       // or the agent
	Name    string       // the name to type
	Typed   string
	Lost    []string // what is lost
	Managed string   // why it cannot be forgotten; "": it can be
	Wrong   *problemView
	Do      string
	Back    string
}

func askForget(ctx context.Context, r *request) (view, error) {
	return r.askForget(ctx, r.URL.Query(), nil)
}

// maxCounted is how many resources a page counts.
const maxCounted = 1000

// askForget returns the page that names what is lost; wrong is why the request before was rejected.
func (r *request) askForget(ctx context.Context, q url.Values, wrong error) (view, error) {
	d := forgetView{Do: r.url("do/forget"), Typed: r.PostForm.Get("typed")}
	if wrong != nil {
		d.Wrong = r.problem(wrong)
	}
	h := r.home(ctx)
	switch id, agent := q.Get("id"), q.Get("agent"); {
	case id != "":
		x, err := h.Resource(ctx, r.Env, resource.ID(id))
		if err != nil {
			return view{}, err
		}
		ref := r.ref(x.ID)
		d.Of, d.Name, d.Back = &ref, string(x.ID), ref.URL
		d.Lost = []string{"the record of this resource: its status and the last seen attributes"}
		if x.Status != "orphaned" {
			d.Managed = "The version in force describes this resource, so it cannot be forgotten."
		}
	case agent != "":
		page, err := resourcesOf(ctx, h, r.Env, &selection{Agents: []string{agent}}, "", maxCounted)
		if err != nil {
			return view{}, err
		}
		managed := 0
		for i := range page.Items {
			if page.Items[i].Status != "orphaned" {
				managed++
			}
		}
		n := plural(len(page.Items), "resource")
		if page.Next != "" {
			n = "more than " + n
		}
		d.Agent, d.Name, d.Back = agent, agent, r.agentURL(agent)
		d.Lost = []string{"the agent " + line(agent) + ", and whether it is paused", "the records of " + n}
		if managed > 0 {
			d.Managed = plural(managed, "resource") + " of this agent " +
				isAre(managed, "described by the version in force, so it cannot be forgotten.")
		}
	default:
		return view{}, fault.New(fault.Usage, "", "the address names nothing to forget").
			WithHint("open an orphaned resource or an agent, and choose Forget there")
	}
	v := view{Template: "forget.html", Title: "Forget", Section: "Resources", Data: d}
	if d.Agent != "" {
		v.Section = "Agents"
	}
	if wrong != nil {
		v.Status = d.Wrong.Status
	}
	return v, nil
}

func forgetPage(ctx context.Context, r *request) (view, error) {
	f := api.Forgetting{ID: resource.ID(r.PostForm.Get("id")), Agent: r.PostForm.Get("agent")}
	name := f.Agent
	if f.ID != "" {
		name, f.Agent = string(f.ID), ""
	}
	if name != "" && r.PostForm.Get("typed") != name {
		return r.askForget(ctx, r.PostForm, fault.New(fault.Usage, "", "the typed name differs").
			WithHint("type the name exactly as it is shown, or go back"))
	}
	out, err := r.home(ctx).Forget(ctx, r.Env, f)
	if err != nil {
		return view{}, err
	}
	r.flash("Forgot %s; the real things stay as they are", plural(out.Forgotten, "resource"))
	return view{Redirect: r.url("resources")}, nil
}
