package console

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/diffview"
	"southbound/shared/fault"
)

const agentPattern = "GET /console/{env}/agents/{name}"

// agentsPages are the list of agents, one agent, and pause and resume.
func (s *site) agentsPages() []route {
	return append([]route{
		{pattern: "GET /console/{env}/agents", page: agentsPage},
		{pattern: agentPattern, page: agentPage},
	}, s.pausePages()...)
}

// agentURL returns the URL of an agent; "" if it has no page.
func (r *request) agentURL(name string) string {
	if name == "" || !r.hasPage(agentPattern) {
		return ""
	}
	return r.url("agents/" + url.PathEscape(name))
}

// agentRow is an agent of a list.
type agentRow struct {
	Row, Name, URL string
	Shown          string // the name, cut if it is long
	Transport      string
	Lanes          string
	Paused         bool
	Unserved       string // for how long no process has taken up its work; "": it has none
	Waits          string // why it is waited for
	Left           string // its scheduled resources
	Place          string // its address
	Counts         []countView
	Resources      string // the address of its resources
}

// agentsView is the list of agents.
type agentsView struct {
	Rows    []agentRow
	Pager   pagerView
	Word    string
	List    string
	Chips   []chip
	Buttons []button
	Back    string
	Unknown *problemView // why nothing is known of the work of agents
}

func (r *request) agentRow(a *api.Agent, p *api.Progress) agentRow {
	row := agentRow{Row: rowID("g", a.Name), Name: a.Name,
		Shown: cutMiddle(line(a.Name), maxPart), URL: r.agentURL(a.Name),
		Transport: a.Transport, Lanes: number(a.Lanes), Paused: a.Paused,
		Waits: shorten(p.Waiting[a.Name], 200), Resources: r.url("resources", paramAgent, a.Name)}
	if a.Transport == "" {
		row.Transport = "not in any version"
	}
	if a.UnservedMS > 0 {
		row.Unserved = duration(time.Duration(a.UnservedMS) * time.Millisecond)
	}
	if n := p.Left[a.Name]; n > 0 {
		row.Left = number(n)
	}
	return row
}

func agentsPage(ctx context.Context, r *request) (view, error) {
	q := r.URL.Query()
	h := r.home(ctx)
	word := strings.TrimSpace(q.Get(paramWord))
	query := api.AgentsQuery{Name: word}
	query.Cursor, query.Limit, query.Count = q.Get(paramCursor), pageRows, true
	list, err := h.AgentsPage(ctx, r.Env, query)
	if err = unlessNone(err); err != nil {
		return view{}, err
	}
	d := agentsView{Word: word, List: r.url("agents"), Back: r.here()}
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		d.Unknown = r.problem(err)
	}
	known, err := r.knownOfAgents(ctx, h, p.Released)
	if err != nil && d.Unknown == nil {
		d.Unknown = r.problem(err)
	}
	only := url.Values{}
	if word != "" {
		only.Set(paramWord, word)
		d.Chips = chipsOf(only, []string{paramWord}, func(v url.Values) string { return r.urlOf("agents", v) })
	}
	for i := range list.Items {
		row := r.agentRow(&list.Items[i], &p)
		row.Place, row.Counts = known.places[row.Name], known.counts[row.Name]
		d.Rows = append(d.Rows, row)
	}
	d.Pager = r.turns("agents", only, paramCursor, list.Next)
	d.Pager.Text = counted(len(d.Rows), list.Count)
	if len(d.Rows) > 0 && r.canChange() {
		d.Buttons = []button{
			{"Pause", r.url("do/pause"), "start no resource of the ticked agents"},
			{"Resume", r.url("do/resume"), "start resources of the ticked agents again"},
			{"Repair", r.url("do/repair"), "check all resources of the ticked agents, and correct drift"},
			{"Deploy", r.url("do/deploy"), "deploy unfinished resources of the ticked agents"},
		}
	}
	return view{Template: "agents.html", Title: "Agents", Section: "Agents", Data: d}, nil
}

// agentsKnown is what other calls than the list tell of agents, by name.
type agentsKnown struct {
	places map[string]string
	counts map[string][]countView
}

// knownOfAgents returns where the agents of a version are, and how many resources of which status
// the worst of them have.
func (r *request) knownOfAgents(ctx context.Context, h api.Home, version int) (agentsKnown, error) {
	out := agentsKnown{map[string]string{}, map[string][]countView{}}
	health, err := h.Health(ctx, r.Env)
	for i := range health.Agents {
		x := &health.Agents[i]
		out.counts[x.Name] = countsOf(x.Counts, func(s state.Status) string {
			return r.url("resources", paramAgent, x.Name, paramStatus, string(s))
		})
	}
	if version == 0 {
		return out, unlessNone(err)
	}
	v, wrong := h.Described(ctx, r.Env, version)
	for name, described := range v.Agents {
		out.places[name] = placeOf(described)
	}
	return out, cmp.Or(unlessNone(err), wrong)
}

// placeOf returns the address of an agent as documents describe it; "": it is this machine, or has
// no host.
func placeOf(described map[string]any) string {
	text := func(name string) string {
		if v := described[name]; v != nil {
			return strings.Trim(diffview.Short(v), `"`)
		}
		return ""
	}
	place := cmp.Or(text("host"), text("url"), text("region"))
	if user := text("user"); user != "" && place != "" {
		place = user + "@" + place
	}
	if port := text("port"); port != "" && place != "" {
		place += ":" + port
	}
	return shorten(place, 80)
}

// agentView is one agent.
type agentView struct {
	Of        agentRow
	Address   []attribute // how it is reached, as documents describe it
	Unknown   *problemView
	Counts    []countView
	Wrong     *problemView
	Actions   []actionRow
	NoActions *problemView
	AllURL    string
	Back      string
	Buttons   []button
	Forget    string
}

func agentPage(ctx context.Context, r *request) (view, error) {
	name := r.PathValue("name")
	h := r.home(ctx)
	all, err := h.Agents(ctx, r.Env)
	if err != nil {
		return view{}, err
	}
	i := slices.IndexFunc(all, func(a api.Agent) bool { return a.Name == name })
	if i < 0 {
		return view{}, fault.New(fault.NotFound, "agent "+shorten(name, 80), "there is no such agent").
			WithHint("the list of agents has all")
	}
	d := agentView{Back: r.here(), AllURL: r.url("actions", paramAgent, name)}
	p, err := h.Progress(ctx, r.Env)
	if err != nil {
		d.Unknown = r.problem(err)
	}
	d.Of = r.agentRow(&all[i], &p)
	if p.Released > 0 && all[i].Transport != "" {
		v, err := h.Described(ctx, r.Env, p.Released)
		if err != nil {
			d.Unknown = r.problem(err)
		}
		d.Address = addressOf(v.Agents[name])
	}
	d.Counts, err = r.agentCounts(ctx, h, name)
	if err != nil {
		d.Wrong = r.problem(err)
	}
	found, err := h.Actions(ctx, r.Env, api.ActionQuery{Agent: name, Notable: true, Limit: 10})
	if err != nil {
		d.NoActions = r.problem(err)
	}
	for i := range found {
		found[i].Changes = nil
		d.Actions = append(d.Actions, r.actionRow(&found[i], false))
	}
	if r.canChange() {
		d.Buttons, d.Forget = r.agentButtons(&all[i])
	}
	return view{Template: "agent.html", Title: "Agent " + line(name), Section: "Agents", Data: d}, nil
}

// addressOf returns how an agent is reached, by attribute.
func addressOf(described map[string]any) []attribute {
	var out []attribute
	for _, k := range slices.Sorted(maps.Keys(described)) {
		text, is := described[k].(string)
		if !is {
			text = diffview.Short(described[k])
		}
		out = append(out, attribute{Name: line(k), Desired: line(cutEnd(text, maxReason))})
	}
	return out
}

// agentCounts counts the resources of an agent by status, each up to the limit of a page.
func (r *request) agentCounts(ctx context.Context, h api.Home, name string) ([]countView, error) {
	page, err := resourcesOf(ctx, h, r.Env, &selection{Agents: []string{name}}, "", maxCounted)
	if err != nil {
		return nil, err
	}
	counts := map[state.Status]int{}
	for i := range page.Items {
		counts[page.Items[i].Status]++
	}
	out := countsOf(counts, func(s state.Status) string {
		return r.url("resources", paramAgent, name, paramStatus, string(s))
	})
	for i := range out {
		if page.Next != "" {
			out[i].Count = fmt.Sprintf("%s of the first %s", out[i].Count, number(maxCounted))
		}
	}
	return out, nil
}

// agentButtons returns what can be done with an agent.
func (r *request) agentButtons(a *api.Agent) (out []button, forget string) {
	if a.Paused {
		out = append(out, button{"Resume", r.url("do/resume"), "start its resources again"})
	} else {
		out = append(out, button{"Pause", r.url("do/pause"), "start none of its resources"})
	}
	if a.Transport == "" {
		return out, r.url("forget", "agent", a.Name)
	}
	return append(out,
		button{"Repair", r.url("do/repair"), "check all its resources, and correct drift"},
		button{"Deploy", r.url("do/deploy"), "deploy its unfinished resources"},
		button{"Retry failed", r.url("do/retry"), "try its failed resources again now"}), ""
}
