package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// overviewPages is the first page of an environment.
func (s *site) overviewPages() []route {
	return []route{{pattern: "GET /console/{env}/{$}", page: overviewPage}}
}

// wrongRow is a cause of problems.
type wrongRow struct {
	Row     string
	Status  statusView
	Text    string // such as "500 resources"
	Reason  string
	Of      *resourceRef // one of them
	List    string       // the address of these resources
	NotDone string       // how many others wait because of it
	First   []resourceRef
	NextAt  *timeView
	Since   *timeView // when its agent was last reached
	Acts    []actForm
}

// actForm is a button with the fields that it sends.
type actForm struct {
	Button button
	Fields []choice
	Link   bool // it is a link to another page
}

// overviewView is the first page of an environment.
//
// Large: it is the data of one template.
type overviewView struct {
	Exported   bool
	Released   int
	Version    string // the address of the version in force
	Unstaged   int    // a stored version that is not released; 0: none
	Compare    string // the address of its comparison
	Counts     []countView
	Total      string
	Wrong      []wrongRow
	MoreWrong  int
	Notes      []noteRow
	Unread     *problemView // why the progress is not known
	Unknown    *problemView // why problems are not known
	Well       bool
	WellStatus statusView
	Looked     timeView

	Done, All   int // of the resources, for the bar of progress
	Scheduled   string
	Running     []resourceRef
	MoreRunning int
	Left        []leftRow
	Acts        []actForm

	Orders     ordersView
	Versions   []versionRow
	NoVersions *problemView
	All24      string // the address of the list of versions
	Actions    string // the address of the log of changes and failures
	Graph      string // the address of the graph; "": there is none
}

// noteRow is something that stops work.
type noteRow struct {
	Text string
	URL  string
	Acts []actForm
}

// leftRow is how much work an agent has.
type leftRow struct {
	Name, URL, Count string
}

// maxWrong is how many causes, agents and notes the page names.
const maxWrong = 20

func overviewPage(ctx context.Context, r *request) (view, error) {
	h := r.home(ctx)
	p, err := h.Progress(ctx, r.Env)
	d := r.overview(&p)
	if err != nil {
		d.Unread, d.Exported, d.Well = r.problem(err), true, false
	}
	health, err := h.Health(ctx, r.Env)
	if err != nil {
		d.Unknown, d.Well = r.problem(err), false
	}
	for i := range health.Groups {
		if i == maxWrong {
			d.MoreWrong = len(health.Groups) - maxWrong
			break
		}
		d.Wrong = append(d.Wrong, r.wrongRow(&health.Groups[i]))
	}
	d.Orders = r.ordersView(ctx)
	if len(d.Wrong) > 0 || len(d.Orders.Failed) > 0 || d.Orders.Wrong != nil {
		d.Well = false
	}
	list, err := h.VersionsPage(ctx, r.Env, newestVersions("", 5))
	if err = unlessNone(err); err != nil {
		d.NoVersions = r.problem(err)
	}
	for i := range list.Items {
		if x := &list.Items[i]; r.today(x.At) {
			d.Versions = append(d.Versions, r.versionRow(x, p.Released))
		}
	}
	return view{Template: "overview.html", Title: "Overview", Section: "Overview", Data: d}, nil
}

// overview returns everything of the page that the progress tells.
func (r *request) overview(p *api.Progress) overviewView {
	d := overviewView{Exported: p.Last > 0, Released: p.Released, Version: r.versionURL(p.Released),
		Looked:     r.time(r.now()),
		WellStatus: statusView{Word: "Nothing is wrong.", Icon: "check", Tone: "good"},
		All24:      r.url("versions"), Actions: r.url("actions", paramNotable, "1"), Graph: r.graphURL(""),
		Counts: countsOf(p.ByStatus(), func(s state.Status) string {
			return r.url("resources", paramStatus, string(s))
		})}
	if p.Last != p.Released && p.Released > 0 {
		d.Unstaged, d.Compare = p.Last, r.compareURL(p.Released, p.Last)
	}
	for s, n := range p.Counts {
		if s != state.StatusOrphaned {
			d.All += n
		}
	}
	d.Total = plural(d.All, "resource")
	d.Done = max(0, d.All-p.Scheduled)
	if p.Scheduled > 0 {
		d.Scheduled = number(p.Scheduled)
	}
	d.Running, _ = r.refs(p.Running, 10)
	d.MoreRunning = p.RunningCount - len(d.Running)
	d.Left = r.leftRows(p.Left)
	d.Notes = r.noteRows(p)
	d.Well = d.Exported && len(d.Notes) == 0
	if r.canChange() && d.Exported {
		d.Acts = append(d.Acts, r.act("Deploy", "do/deploy", "deploy unfinished resources", "scope", "all"),
			r.act("Repair", "do/repair", "check all resources against reality, and correct drift", "scope", "all"))
		if !p.Halted {
			d.Acts = append(d.Acts, r.act("Halt", "do/halt", "start no resource"))
		}
	}
	return d
}

// act returns a button with the fields that it sends, in pairs.
func (r *request) act(text, path, title string, pairs ...string) actForm {
	a := actForm{Button: button{text, r.url(path), title}, Fields: []choice{{Value: r.here(), Text: "back"}}}
	for i := 0; i+1 < len(pairs); i += 2 {
		a.Fields = append(a.Fields, choice{Value: pairs[i+1], Text: pairs[i]})
	}
	return a
}

// leftRows returns the agents with the most work.
func (r *request) leftRows(left map[string]int) []leftRow {
	names := slices.SortedFunc(slices.Values(sortedKeys(left)), func(a, b string) int {
		return cmp.Or(cmp.Compare(left[b], left[a]), strings.Compare(a, b))
	})
	var out []leftRow
	for _, name := range names[:min(len(names), 10)] {
		if left[name] > 0 {
			out = append(out, leftRow{cutMiddle(line(name), maxPart), r.agentURL(name), number(left[name])})
		}
	}
	return out
}

// noteRows returns what stops work: a halt, paused agents, waits and interrupted runs.
func (r *request) noteRows(p *api.Progress) []noteRow {
	var out []noteRow
	change := r.canChange()
	if p.Halted {
		n := noteRow{Text: "The environment is halted: no resource starts."}
		if change {
			n.Acts = []actForm{r.act("Resume", "do/unhalt", "start resources again")}
		}
		out = append(out, n)
	}
	if len(p.Paused) > 0 {
		shown := p.Paused[:min(len(p.Paused), 5)]
		n := noteRow{URL: r.url("agents"), Text: plural(len(p.Paused), "agent") + " " +
			isAre(len(p.Paused), "paused: "+line(strings.Join(shown, ", ")))}
		if more := len(p.Paused) - len(shown); more > 0 {
			n.Text += fmt.Sprintf(" and %d more", more)
		}
		if change && len(p.Paused) <= maxTicked {
			a := r.act("Resume", "do/resume", "start their resources again")
			for _, name := range p.Paused {
				a.Fields = append(a.Fields, choice{Value: name, Text: "agent"})
			}
			n.Acts = []actForm{a}
		}
		out = append(out, n)
	}
	for i, name := range sortedKeys(p.Waiting) {
		if i == maxWrong {
			break
		}
		out = append(out, noteRow{URL: r.agentURL(name),
			Text: "Agent " + line(name) + " is tried again: " + shorten(p.Waiting[name], 400)})
	}
	if n := len(p.Interrupted); n > 0 {
		out = append(out, noteRow{Text: plural(n, "resource") + " " +
			isAre(n, "interrupted: the process ended during the run, and no process has taken it up yet"),
			URL: r.url("resource", "id", string(p.Interrupted[0]))})
	}
	return out
}

// wrongRow returns a cause of problems with the buttons that may help.
func (r *request) wrongRow(g *api.Group) wrongRow {
	ref := r.ref(g.ID)
	w := wrongRow{Row: rowID("w", string(g.ID)), Status: statusOf(g.Status), Reason: shorten(g.Reason, 600),
		Of: &ref, Text: plural(g.Count, "resource"), List: r.url("resources", paramStatus, string(g.Status))}
	if g.NotDone > 0 {
		w.NotDone = plural(g.NotDone, "other")
		w.First, _ = r.refs(g.FirstNot, 3)
	}
	if g.NextAt != nil {
		at := r.timeAgo(*g.NextAt)
		w.NextAt = &at
	}
	if g.Agent != "" {
		w.Text = "Agent " + line(g.Agent) + ", " + w.Text
		w.List = r.url("resources", paramAgent, g.Agent)
		if g.Since != nil {
			at := r.timeAgo(*g.Since)
			w.Since = &at
		}
	}
	if r.canChange() {
		w.Acts = r.cures(g)
	}
	return w
}

// cures returns the buttons that may remove a cause.
func (r *request) cures(g *api.Group) []actForm {
	const now = "try it again now"
	switch {
	case g.Parameter != "":
		return []actForm{{Link: true, Button: button{"Set " + shorten(g.Parameter, 60),
			r.url("parameters", "set", g.Parameter), "the parameter that is not known"}}}
	case g.Agent != "":
		return []actForm{r.act("Retry", "do/retry", now, "scope", "agents", paramAgent, g.Agent)}
	case g.Status == state.StatusUndefined:
		return nil
	case g.Count == 1:
		return []actForm{r.act("Retry", "do/retry", now, "id", string(g.ID))}
	}
	return []actForm{r.act("Retry all "+string(g.Status), "do/retry", now, "scope", "all",
		paramStatus, string(g.Status))}
}
