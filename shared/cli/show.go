package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

func (a *app) showCommands() []*cobra.Command {
	show := func(use, short, example string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) error) *cobra.Command {
		return &cobra.Command{Use: use, Short: short, Example: example, Args: args, RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			return run(cmd.Context(), args)
		}}
	}
	none := exactArgs(0, "nothing more")
	return []*cobra.Command{
		show("status", "Show how the environment is, and what is wrong first", "  southbound status --json", none, a.status),
		show("resources [FILTER]", "List resources", "  southbound resources status=failed\n  southbound resources 'fs::File[web1,*'", nil, a.resources),
		show("resource ID", "Show one resource", "  southbound resource 'fs::File[web1,path=/etc/motd]'", exactArgs(1, "one id"), a.resource),
		show("versions", "List versions", "  southbound versions", none, a.versions),
		show("agents", "List agents", "  southbound agents", none, a.agents),
		show("parameters", "List parameters", "  southbound parameters", none, func(ctx context.Context, _ []string) error { return a.parameters(ctx, false) }),
		show("facts", "List facts", "  southbound facts", none, func(ctx context.Context, _ []string) error { return a.parameters(ctx, true) }),
		a.logsCommand(), a.typesCommand(), a.typeCommand(),
	}
}

func (a *app) status(ctx context.Context, _ []string) error {
	p, err := a.engine.Progress(ctx, a.env)
	if err != nil {
		return err
	}
	counts := allCounts(p)
	paused := slices.Sorted(maps.Keys(p.Paused))
	if a.json {
		if paused == nil {
			paused = []string{}
		}
		a.line(map[string]any{"environment": a.env, "version": p.Env.Released, "latest_version": p.Env.Last, "counts": counts, "scheduled": p.Scheduled,
			"halted": p.Env.Halted, "paused_agents": paused, "running": len(p.Running)})
		return nil
	}
	if p.Env.Last == 0 {
		a.printf("environment %s: nothing was exported yet; `southbound apply PATH` starts\n", a.env)
		return nil
	}
	if slices.ContainsFunc(unhealthy, func(s deploy.Status) bool { return counts[s] > 0 }) {
		if err := a.wrong(ctx, 10); err != nil {
			return err
		}
	}
	a.printf("environment %s, version %d: %s\n", a.env, p.Env.Released, countsText(counts))
	if p.Env.Last != p.Env.Released {
		a.printf("version %d is stored and not released\n", p.Env.Last)
	}
	switch {
	case p.Env.Halted || len(paused) > 0 && p.Scheduled > 0:
		a.printf("%s\n", whyStuck(p))
	case p.Scheduled > 0 && len(p.Held) == 0:
		a.printf("%d resources are to be done and nobody is at it; `southbound deploy` goes on\n", p.Scheduled)
	case p.Scheduled > 0:
		a.printf("%d resources are to be done\n", p.Scheduled)
	}
	if len(paused) > 0 {
		a.printf("paused agents: %s\n", strings.Join(paused, ", "))
	}
	return nil
}

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
	return a.engine.EachRow(ctx, a.env, filter, func(r *deploy.Row) error {
		l := lineOf(r, running)
		if filter.Status != "" && l.Status != filter.Status {
			return nil
		}
		if a.json {
			a.line(l)
			return nil
		}
		a.printf("%-13s %s\n", a.paint(l.Status), l.ID)
		return nil
	})
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
			Requires   []resource.ID  `json:"requires"`
			RequiredBy []resource.ID  `json:"required_by"`
			Causes     []resource.ID  `json:"causes"`
			NextAt     any            `json:"next_at"`
			Attempts   int            `json:"attempts"`
			Last       *deploy.Action `json:"last"`
		}{l, orEmpty(requires), orEmpty(dependants), orEmpty(row.Causes), stamp(row.NextAt), row.Attempts, nil}
		if len(actions) > 0 {
			out.Last = &actions[0]
		}
		a.line(out)
		return nil
	}
	a.printf("%s\n  status      %s\n  version     %d\n", l.ID, a.paint(l.Status), l.Version)
	for _, f := range []struct{ name, value string }{{"reason", l.Reason}, {"set", l.Set}, {"requires", firstIDs(requires, 10)}, {"required by", firstIDs(dependants, 10)},
		{"because of", firstIDs(row.Causes, 10)}} {
		if f.value != "" {
			a.printf("  %-11s %s\n", f.name, f.value)
		}
	}
	if !row.NextAt.IsZero() {
		a.printf("  next try    %s\n", row.NextAt.Format(time.RFC3339))
	}
	if len(actions) > 0 {
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

func (a *app) versions(ctx context.Context, _ []string) error {
	vs, state, err := a.engine.VersionsOf(ctx, a.env)
	if err != nil {
		return err
	}
	for _, v := range vs {
		released := v.Number == state.Released
		if a.json {
			a.line(map[string]any{"version": v.Number, "at": stamp(v.At), "resources": v.Resources, "released": released, "partial": v.Base > 0, "pack": v.Pack, "digest": v.Digest})
			continue
		}
		mark := ""
		if released {
			mark = "  released"
		}
		a.printf("%5d  %s  %d resources%s\n", v.Number, v.At.Format(time.RFC3339), v.Resources, mark)
	}
	return nil
}

func (a *app) agents(ctx context.Context, _ []string) error {
	agents, err := a.home.Agents(ctx, a.env)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		g := agents[name]
		if a.json {
			a.line(map[string]any{"name": name, "transport": g.Transport, "lanes": max(g.Lanes, 1), "paused": g.Paused})
			continue
		}
		mark := ""
		if g.Paused {
			mark = "  paused"
		}
		a.printf("%-20s %-8s %d lanes%s\n", name, g.Transport, max(g.Lanes, 1), mark)
	}
	return nil
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
	return nil
}

func (a *app) logsCommand() *cobra.Command {
	var follow bool
	var limit int
	var level, text string
	cmd := &cobra.Command{Use: "logs [ID]", Short: "Show what was done, newest last",
		Example: "  southbound logs\n  southbound logs 'fs::File[web1,path=/etc/motd]'\n  southbound logs --follow --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fault.New(fault.Usage, "logs", "expected at most one id")
			}
			if err := a.open(""); err != nil {
				return err
			}
			q := deploy.ActionQuery{Limit: limit, Level: provider.Level(strings.ToUpper(level)), Text: text}
			if len(args) == 1 {
				q.Resource = resource.ID(args[0])
			}
			return a.logs(cmd.Context(), q, follow)
		}}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what happens, until stopped")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many, the newest (0: all)")
	cmd.Flags().StringVar(&level, "level", "", "only those with a line at least this severe: debug, info, warning, error")
	cmd.Flags().StringVar(&text, "text", "", "only those with a line that contains this")
	return cmd
}

func (a *app) logs(ctx context.Context, q deploy.ActionQuery, follow bool) error {
	for {
		actions, err := a.home.Actions(ctx, a.env, q)
		if err != nil {
			return err
		}
		slices.Reverse(actions)
		for i := range actions {
			q.After = max(q.After, actions[i].ID)
			if a.json {
				a.line(actionLine(&actions[i]))
			} else {
				a.action(&actions[i])
			}
		}
		if !follow || a.engine.Clock.Sleep(ctx, 300*time.Millisecond) != nil {
			return nil
		}
	}
}

// actionLine has every member, also those that are empty.
func actionLine(x *deploy.Action) any {
	type plain deploy.Action
	out := struct {
		*plain
		Changes  map[string]plan.Diff `json:"changes"`
		Messages []provider.Line      `json:"messages"`
	}{(*plain)(x), x.Changes, x.Messages}
	if out.Changes == nil {
		out.Changes = map[string]plan.Diff{}
	}
	if out.Messages == nil {
		out.Messages = []provider.Line{}
	}
	return out
}

func (a *app) action(x *deploy.Action) {
	a.printf("%s  %-7s %-12s %-8s %s\n", x.Finished.Format("2006-01-02 15:04:05.000"), x.Action, x.Outcome, x.Change, x.Resource)
	a.diff(x.Changes)
	for _, l := range x.Messages {
		a.printf("    %-7s %s", l.Level, l.Msg)
		for _, k := range slices.Sorted(maps.Keys(l.Kwargs)) {
			a.printf(" %s=%s", k, short(l.Kwargs[k]))
		}
		a.printf("\n")
	}
}

// typeLine is a type as programs see it.
type typeLine struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Attributes  []attributeLine `json:"attributes"`
	Features    []string        `json:"features"`
	Providers   []string        `json:"providers"`
}

type attributeLine struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Behaviour   string `json:"behaviour"`
	Default     any    `json:"default"`
	Description string `json:"description"`
	Sensitive   bool   `json:"sensitive"`
}

func typeLineOf(t *schema.Compiled) typeLine {
	l := typeLine{Name: t.Name, Description: t.Description, Features: t.Features, Providers: []string{"default"}, Attributes: []attributeLine{}}
	if l.Features == nil {
		l.Features = []string{}
	}
	for _, at := range t.Attributes {
		l.Attributes = append(l.Attributes, attributeLine{at.Name, at.Type, string(at.Behaviour), at.Default, at.Description, at.Sensitive})
	}
	return l
}

func (a *app) typesCommand() *cobra.Command {
	return &cobra.Command{Use: "types", Short: "List resource types", Example: "  southbound types", Args: exactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
		types, err := a.registry()
		if err != nil {
			return err
		}
		for _, name := range types.Names() {
			t, _ := types.Type(name)
			if a.json {
				a.line(typeLineOf(t))
			} else {
				a.printf("%-16s %s\n", name, t.Description)
			}
		}
		return nil
	}}
}

func (a *app) typeCommand() *cobra.Command {
	return &cobra.Command{Use: "type NAME", Short: "Show one resource type", Example: "  southbound type fs::File", Args: exactArgs(1, "one type"), RunE: func(_ *cobra.Command, args []string) error {
		types, err := a.registry()
		if err != nil {
			return err
		}
		t, ok := types.Type(args[0])
		if !ok {
			e := fault.New(fault.NotFound, "", "unknown type %q", args[0]).WithHint("`southbound types` lists them")
			if near := types.Nearest(args[0]); near != "" {
				e = e.WithHint("did you mean %q?", near)
			}
			return e
		}
		if a.json {
			a.line(typeLineOf(t))
			return nil
		}
		a.printf("%s\n%s\n\n", t.Name, t.Description)
		for _, at := range t.Attributes {
			a.printf("  %-14s %s", at.Name, at.Type)
			if at.Behaviour != schema.Property {
				a.printf("  (%s)", at.Behaviour)
			}
			if at.Default != nil {
				a.printf("  default %s", short(at.Default))
			}
			a.printf("\n      %s\n", at.Description)
		}
		return nil
	}}
}
