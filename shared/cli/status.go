package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// statusLine is the state of an environment as programs see it.
type statusLine struct {
	Environment   string                `json:"environment"`
	Version       int                   `json:"version"`
	LatestVersion int                   `json:"latest_version"`
	Counts        map[deploy.Status]int `json:"counts"`
	Scheduled     int                   `json:"scheduled"`
	Running       int                   `json:"running"`
	Halted        bool                  `json:"halted"`
	PausedAgents  []string              `json:"paused_agents"`
	Agents        []agentLine           `json:"agents"`
	Problems      []problemLine         `json:"problems"`
}

// problemLine is a resource that is not well by itself, with those that are not done because of it.
type problemLine struct {
	ID      resource.ID   `json:"id"`
	Status  deploy.Status `json:"status"`
	Reason  string        `json:"reason"`
	NextAt  any           `json:"next_at"`
	Because []resource.ID `json:"not_done_because_of_it"`
}

// mostProblems is how many problems programs get.
const mostProblems = 100

func (a *app) status(ctx context.Context, _ []string) error {
	p, err := a.engine.Progress(ctx, a.env)
	if err != nil {
		return err
	}
	agents, err := a.agentLines(ctx)
	if err != nil {
		return err
	}
	counts := allCounts(p)
	if a.json {
		return a.statusJSON(ctx, p, counts, agents)
	}
	if p.Env.Last == 0 {
		a.printf("environment %s: nothing was exported yet; `southbound apply PATH` starts\n", a.env)
		return nil
	}
	if ill(counts) {
		if err := a.wrong(ctx, a.out, 10); err != nil {
			return err
		}
	}
	a.printf("environment %s, version %d: %s\n", a.env, p.Env.Released, countsText(counts))
	if p.Env.Last != p.Env.Released {
		a.printf("version %d is stored and not released; exporting the same without --no-release releases it\n", p.Env.Last)
	}
	switch {
	case p.Env.Halted || len(p.Paused) > 0 && p.Scheduled > 0:
		a.printf("%s\n", whyStuck(p))
	case p.Scheduled > 0 && len(p.Held) == 0:
		a.printf("%s to be done and nobody is at it; `southbound deploy` goes on\n", plural(p.Scheduled, "resource"))
	case p.Scheduled > 0:
		a.printf("%s to be done\n", plural(p.Scheduled, "resource"))
	}
	a.agentsText(agents)
	return nil
}

// mostAgents is how many agents the status names.
const mostAgents = 10

func (a *app) agentsText(agents []agentLine) {
	var parts []string
	for i, g := range agents {
		if i == mostAgents {
			parts = append(parts, plural(len(agents)-i, "more agent")+", see `southbound agents`")
			break
		}
		parts = append(parts, g.Name+" ("+g.text()+")")
	}
	if len(parts) > 0 {
		a.printf("agents: %s\n", strings.Join(parts, ", "))
	}
}

func (a *app) statusJSON(ctx context.Context, p deploy.Progress, counts map[deploy.Status]int, agents []agentLine) error {
	l := statusLine{Environment: a.env, Version: p.Env.Released, LatestVersion: p.Env.Last, Counts: counts, Scheduled: p.Scheduled,
		Running: len(p.Running), Halted: p.Env.Halted, PausedAgents: slices.Sorted(maps.Keys(p.Paused)), Agents: agents, Problems: []problemLine{}}
	if l.PausedAgents == nil {
		l.PausedAgents = []string{}
	}
	if ill(counts) {
		groups, because, err := a.roots(ctx)
		if err != nil {
			return err
		}
		for _, g := range groups {
			for _, r := range g {
				if len(l.Problems) < mostProblems {
					l.Problems = append(l.Problems, problemLine{r.ID, r.Status(), r.Reason, stamp(r.NextAt), orEmpty(because[r.ID])})
				}
			}
		}
	}
	a.line(l)
	return nil
}

// ill reports whether something is not well.
func ill(counts map[deploy.Status]int) bool {
	return slices.ContainsFunc(unhealthy, func(s deploy.Status) bool { return counts[s] > 0 })
}

// roots returns what is not well by itself, put together by reason, and what is not done because of each.
func (a *app) roots(ctx context.Context) ([][]*deploy.Row, map[resource.ID][]resource.ID, error) {
	var rows []deploy.Row
	because := map[resource.ID][]resource.ID{}
	err := a.engine.EachRow(ctx, a.env, deploy.Filter{}, func(r *deploy.Row) error {
		switch s := r.Status(); {
		case !slices.Contains(unhealthy, s):
		case len(r.Causes) > 0 && r.Causes[0] != r.ID:
			for _, c := range r.Causes {
				because[c] = append(because[c], r.ID)
			}
		default:
			rows = append(rows, *r)
		}
		return nil
	})
	return grouped(rows), because, err
}

// wrong lists what is not well: what failed by itself first, each with what was skipped because of it.
func (a *app) wrong(ctx context.Context, w io.Writer, most int) error {
	groups, because, err := a.roots(ctx)
	if err != nil {
		return err
	}
	out := &app{out: w, noColor: a.noColor}
	for i, g := range groups {
		if i == most {
			out.printf("… and more; see `southbound resources status=failed`\n")
			break
		}
		out.group(g, because)
	}
	return nil
}

// group writes what is not well for one reason.
func (a *app) group(g []*deploy.Row, because map[resource.ID][]resource.ID) {
	r := g[0]
	a.printf("%s  %s", a.paint(r.Status(), 0), r.ID)
	if len(g) > 1 {
		a.printf(" and %d more for the same reason", len(g)-1)
	}
	a.printf("\n")
	for _, l := range strings.Split(strings.TrimSpace(r.Reason), "\n") {
		a.printf("    %s\n", l)
	}
	if r.Status() == deploy.StatusUndefined && strings.HasPrefix(r.Reason, "parameter ") {
		a.printf("    `southbound parameter set NAME VALUE` sets it\n")
	}
	if !r.NextAt.IsZero() {
		a.printf("    tried again from %s on\n", r.NextAt.UTC().Format(time.RFC3339))
	}
	var skipped []resource.ID
	for _, r := range g {
		skipped = append(skipped, because[r.ID]...)
	}
	slices.Sort(skipped)
	if skipped = slices.Compact(skipped); len(skipped) > 0 {
		a.printf("    because of it %d not done: %s\n", len(skipped), firstIDs(skipped, 3))
	}
}

// grouped puts rows together that are not well for the same reason, but for their own names in it; the largest groups first.
func grouped(rows []deploy.Row) [][]*deploy.Row {
	index := map[string]int{}
	var out [][]*deploy.Row
	for i := range rows {
		reason := string(rows[i].Status()) + rows[i].Reason
		if parts, err := resource.ParseID(string(rows[i].ID)); err == nil {
			for _, k := range parts.Keys {
				reason = strings.ReplaceAll(reason, k.Value, "…")
			}
		}
		at, ok := index[reason]
		if !ok {
			at = len(out)
			index[reason] = at
			out = append(out, nil)
		}
		out[at] = append(out[at], &rows[i])
	}
	slices.SortStableFunc(out, func(a, b []*deploy.Row) int { return len(b) - len(a) })
	return out
}
