package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

func (a *app) showCommands() []*cobra.Command {
	none := exactArgs(0, "nothing more")
	return []*cobra.Command{
		command("status", "Show how the environment is, and what is wrong first", "", "  southbound status\n  southbound status --json", none, a.look, a.status),
		command("resources [FILTER]", "List resources", "resources lists what is wanted, or was left behind. "+filterHelp,
			"  southbound resources\n  southbound resources status=failed\n  southbound resources type=fs::File agent=web1\n  southbound resources 'fs::File[web1,*'", nil, a.look, a.resources),
		command("resource ID", "Show one resource with its state, its last action and what it depends on", "", "  southbound resource 'fs::File[web1,path=/etc/motd]'",
			exactArgs(1, "one id"), a.look, a.resource),
		command("versions", "List versions", "", "  southbound versions\n  southbound versions --json", none, a.look, a.versions),
		command("agents", "List agents", "", "  southbound agents\n  southbound agents --json", none, a.look, a.agents),
		command("parameters", "List parameters", "", "  southbound parameters\n  southbound parameters --json", none, a.look,
			func(ctx context.Context, _ []string) error { return a.parameters(ctx, false) }),
		command("facts", "List facts", "", "  southbound facts\n  southbound facts --json", none, a.look,
			func(ctx context.Context, _ []string) error { return a.parameters(ctx, true) }),
		a.logsCommand(), a.typesCommand(), a.typeCommand(),
	}
}

// filterHelp explains filters.
const filterHelp = "FILTER: type=, agent=, status=, set=, an id or a glob of one; several must all match."

// resourceLine is one resource as programs see it.
type resourceLine struct {
	ID         resource.ID       `json:"id"`
	Type       string            `json:"type"`
	Agent      string            `json:"agent"`
	Status     deploy.Status     `json:"status"`
	Compliance deploy.Compliance `json:"compliance"`
	LastRun    deploy.LastRun    `json:"last_run"`
	Blocked    deploy.Blocked    `json:"blocked"`
	Deploying  bool              `json:"deploying"`
	Version    int               `json:"version"`
	Hash       string            `json:"hash"`
	Set        string            `json:"set"`
	Reason     string            `json:"reason"`
	LastAction string            `json:"last_action"`
}

func lineOf(r *deploy.Row, running map[resource.ID]bool) resourceLine {
	l := resourceLine{ID: r.ID, Type: r.ID.Type(), Agent: r.ID.Agent(), Status: r.Status(), Compliance: r.Compliance, LastRun: r.LastRun, Blocked: r.Blocked,
		Deploying: running[r.ID], Version: r.Version, Hash: r.Hash, Reason: r.Reason, LastAction: r.LastAction}
	if l.Deploying {
		l.Status = deploy.StatusDeploying
	}
	if res, err := resource.Decode(r.Body); err == nil {
		l.Set = res.Set
	}
	return l
}

func (a *app) running(ctx context.Context) (map[resource.ID]bool, error) {
	leases, err := a.home.Leases(ctx, a.env)
	out := map[resource.ID]bool{}
	now := time.Now()
	for _, l := range leases {
		if l.Holder != "" && l.Until.After(now) {
			for _, id := range l.Running {
				out[id] = true
			}
		}
	}
	return out, err
}

func (a *app) resources(ctx context.Context, args []string) error {
	filter, err := deploy.ParseFilter(args)
	if err != nil {
		return err
	}
	running, err := a.running(ctx)
	if err != nil {
		return err
	}
	found := false
	err = a.engine.EachRow(ctx, a.env, filter, func(r *deploy.Row) error {
		l := lineOf(r, running)
		if filter.Status != "" && l.Status != filter.Status {
			return nil
		}
		found = true
		if a.json {
			a.line(l)
			return nil
		}
		a.printf("%s  %s\n", a.paint(l.Status, 13), l.ID)
		return nil
	})
	if err == nil && !found {
		a.none("resource matches", len(args) > 0)
	}
	return err
}

// none tells people that a list is empty.
func (a *app) none(what string, filtered bool) {
	switch {
	case a.json:
	case filtered:
		a.say("no %s", what)
	default:
		a.say("nothing is there; `southbound apply PATH` starts")
	}
}

func (a *app) resource(ctx context.Context, args []string) error {
	row, err := a.engine.Row(ctx, a.env, resource.ID(args[0]))
	if err != nil {
		return err
	}
	running, err := a.running(ctx)
	if err != nil {
		return err
	}
	requires, dependants, err := a.engine.Neighbours(ctx, a.env, row.ID)
	if err != nil {
		return err
	}
	actions, err := a.home.Actions(ctx, a.env, deploy.ActionQuery{Resource: row.ID, Limit: 1})
	if err != nil {
		return err
	}
	l := lineOf(&row, running)
	if a.json {
		out := struct {
			resourceLine
			Requires   []resource.ID `json:"requires"`
			RequiredBy []resource.ID `json:"required_by"`
			Causes     []resource.ID `json:"causes"`
			NextAt     any           `json:"next_at"`
			Attempts   int           `json:"attempts"`
			Last       any           `json:"last"`
		}{l, orEmpty(requires), orEmpty(dependants), orEmpty(row.Causes), stamp(row.NextAt), row.Attempts, nil}
		if len(actions) > 0 {
			out.Last = actionLine(&actions[0])
		}
		a.line(out)
		return nil
	}
	a.printf("%s\n  status      %s\n  version     %d\n", l.ID, a.paint(l.Status, 0), l.Version)
	for _, f := range []struct{ name, value string }{{"reason", l.Reason}, {"set", l.Set}, {"requires", firstIDs(requires, 10)}, {"required by", firstIDs(dependants, 10)},
		{"because of", firstIDs(row.Causes, 10)}} {
		if f.value != "" {
			a.printf("  %-11s %s\n", f.name, f.value)
		}
	}
	if !row.NextAt.IsZero() {
		a.printf("  next try    %s\n", row.NextAt.UTC().Format(time.RFC3339))
	}
	if len(actions) > 0 {
		a.printf("\nlast action\n")
		a.action(&actions[0])
	}
	return nil
}

func orEmpty(ids []resource.ID) []resource.ID {
	if ids == nil {
		return []resource.ID{}
	}
	return ids
}

// versionLine is a version as programs see it.
type versionLine struct {
	Version   int    `json:"version"`
	At        any    `json:"at"`
	Resources int    `json:"resources"`
	Released  bool   `json:"released"`
	Partial   bool   `json:"partial"`
	Pack      string `json:"pack"`
	Digest    string `json:"digest"`
}

func (a *app) versions(ctx context.Context, _ []string) error {
	vs, state, err := a.engine.VersionsOf(ctx, a.env)
	if err != nil {
		return err
	}
	for _, v := range vs {
		released := v.Number == state.Released
		if a.json {
			a.line(versionLine{v.Number, stamp(v.At), v.Resources, released, v.Base > 0, v.Pack, v.Digest})
			continue
		}
		mark := ""
		if released {
			mark = "  released"
		}
		a.printf("%5d  %s  %s%s\n", v.Number, v.At.UTC().Format(time.RFC3339), plural(v.Resources, "resource"), mark)
	}
	if len(vs) == 0 {
		a.none("", false)
	}
	return nil
}

// agentLine is an agent as programs see it.
type agentLine struct {
	Name      string `json:"name"`
	Transport string `json:"transport"` // "" while nothing has named the agent, which can be paused all the same
	Lanes     int    `json:"lanes"`
	Paused    bool   `json:"paused"`
}

func (a *app) agentLines(ctx context.Context) ([]agentLine, error) {
	agents, err := a.home.Agents(ctx, a.env)
	if err != nil {
		return nil, err
	}
	out := make([]agentLine, 0, len(agents))
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		g := agents[name]
		out = append(out, agentLine{name, g.Transport, max(g.Lanes, 1), g.Paused})
	}
	return out, nil
}

func (a *app) agents(ctx context.Context, _ []string) error {
	lines, err := a.agentLines(ctx)
	for _, g := range lines {
		if a.json {
			a.line(g)
			continue
		}
		a.printf("%-20s  %s\n", g.Name, g.text())
	}
	if err == nil && len(lines) == 0 {
		a.none("", false)
	}
	return err
}

// text says how an agent is.
func (g agentLine) text() string {
	text := g.Transport
	if text == "" {
		text = "not in any version"
	}
	if g.Lanes > 1 {
		text += ", " + plural(g.Lanes, "lane")
	}
	if g.Paused {
		text += ", paused"
	}
	return text
}

func (a *app) parameters(ctx context.Context, facts bool) error {
	ps, err := a.home.Parameters(ctx, a.env, deploy.ParameterQuery{Facts: facts})
	if err != nil {
		return err
	}
	for _, p := range ps {
		switch {
		case a.json:
			a.line(p)
		case facts:
			a.printf("%s  %s = %s\n", p.Of, p.Name, p.Value)
		default:
			a.printf("%s = %s\n", p.Name, p.Value)
		}
	}
	if len(ps) == 0 && facts {
		a.none("fact is known", true)
	} else if len(ps) == 0 {
		a.none("parameter is set; `southbound parameter set NAME VALUE` sets one", true)
	}
	return nil
}
