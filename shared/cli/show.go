package cli

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/resource"
)

func (a *app) showCommands() []*cobra.Command {
	none := exactArgs(0, "nothing more")
	return []*cobra.Command{
		a.statusCommand(),
		{Use: "resources [FILTER]", Short: "List resources", Long: "resources lists what is wanted, or was left behind. " + filterHelp,
			Example: "  southbound resources\n  southbound resources status=failed\n  southbound resources type=fs::File agent=web1\n  southbound resources 'fs::File[web1,*'",
			RunE:    a.reading(a.resources)},
		a.resourceCommand(),
		{Use: "versions", Short: "List versions", Example: "  southbound versions\n  southbound versions --json", Args: none, RunE: a.reading(a.versions)},
		a.agentsCommand(),
		{Use: "parameters", Short: "List parameters", Example: "  southbound parameters\n  southbound parameters --json", Args: none,
			RunE: a.reading(func(ctx context.Context, _ []string) error { return a.parameters(ctx, false) })},
		{Use: "facts", Short: "List facts", Example: "  southbound facts\n  southbound facts --json", Args: none,
			RunE: a.reading(func(ctx context.Context, _ []string) error { return a.parameters(ctx, true) })},
		a.logsCommand(), a.typesCommand(), a.typeCommand(), a.diffCommand(), a.showCommand(), a.environmentsCommand(),
	}
}

// filterHelp explains filters.
const filterHelp = "FILTER: type=, agent=, status=, set=, an id or a glob of one; several must all match, but for agent=, of which any may."

func (a *app) resources(ctx context.Context, args []string) error {
	if _, err := state.ParseFilter(args); err != nil {
		return err
	}
	found := false
	err := a.home.Resources(ctx, a.env, args, func(r *api.Resource) error {
		found = true
		if a.json {
			a.line(r)
			return nil
		}
		a.printf("%s  %s\n", a.paint(r.Status, 13), r.ID)
		return nil
	})
	if err == nil && !found {
		a.none("resource matches", len(args) > 0)
	}
	return err
}

// none tells people that there is nothing to list.
func (a *app) none(what string, filtered bool) {
	switch {
	case a.json:
	case filtered:
		a.say("no %s", what)
	default:
		a.say("nothing is there; `southbound apply PATH` starts")
	}
}

func (a *app) resourceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "resource ID",
		Short: "Show one resource: its state, last action and dependencies",
		Example: "  southbound resource 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound resource 'fs::File[web1,path=/etc/motd]' --documents .",
		Args: exactArgs(1, "one id"),
		RunE: a.reading(a.resource),
	}
	a.fullFlag(cmd)
	cmd.Flags().StringVar(&a.documents, "documents", "",
		"where the documents or the model are, to say where the resource is written")
	return cmd
}

func (a *app) resource(ctx context.Context, args []string) error {
	d, err := a.home.Resource(ctx, a.env, resource.ID(args[0]))
	if err != nil {
		return err
	}
	if d.Last != nil {
		if err := a.whole(ctx, d.Last); err != nil {
			return err
		}
	}
	if a.json {
		a.line(written{d, a.writtenAt(ctx, d.ID)})
		return nil
	}
	a.printf("%s\n  status      %s\n  version     %d\n", d.ID, a.paint(d.Status, 0), d.Version)
	for _, f := range []struct{ name, value string }{{"waits", d.Waits}, {"reason", d.Reason}, {"set", d.Set}, {"requires", firstIDs(d.Requires, 10)}, {"required by", firstIDs(d.RequiredBy, 10)},
		{"because of", firstIDs(d.Causes, 10)}} {
		if f.value != "" {
			a.printf("  %-11s %s\n", f.name, f.value)
		}
	}
	if at := a.writtenAt(ctx, d.ID); at != nil {
		a.printf("  written at  %s\n", at)
	}
	if d.NextAt != nil {
		a.printf("  next try    %s\n", d.NextAt.Format(time.RFC3339))
	}
	a.attributes(&d)
	if d.Last != nil {
		a.printf("\nlast action\n")
		a.action(d.Last)
	}
	return nil
}

// written is a resource with the place where it is written.
type written struct {
	api.Detail
	At *diag.Pos `json:"written_at,omitempty"`
}

// writtenAt says where a resource is written in the documents that the command was told; nil: none,
// or not there.
func (a *app) writtenAt(ctx context.Context, id resource.ID) *diag.Pos {
	if a.documents == "" {
		return nil
	}
	if a.described == nil {
		a.described = a.describedAt(ctx, a.documents)
	}
	if a.described == nil {
		return nil
	}
	if at := a.described(string(id)); at.Line > 0 {
		return &at
	}
	return nil
}

func (a *app) versions(ctx context.Context, _ []string) error {
	vs, err := a.home.Versions(ctx, a.env)
	if err != nil {
		return err
	}
	for _, v := range vs {
		if a.json {
			a.line(v)
			continue
		}
		mark := ""
		if v.Released {
			mark = "  released"
		}
		a.printf("%5d  %s  %s%s%s\n", v.Version, v.At.Format(time.RFC3339), plural(v.Resources, "resource"), mark, originText(v.Origin))
	}
	if len(vs) == 0 {
		a.none("", false)
	}
	return nil
}

func (a *app) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Short: "List agents", Example: "  southbound agents\n  southbound agents --json\n  southbound agents prune",
		Args: exactArgs(0, "nothing more"), RunE: a.reading(a.agents)}
	cmd.AddCommand(a.pruneCommand())
	return cmd
}

func (a *app) agents(ctx context.Context, _ []string) error {
	agents, err := a.home.Agents(ctx, a.env)
	for _, g := range agents {
		if a.json {
			a.line(g)
			continue
		}
		a.printf("%-20s  %s\n", g.Name, agentText(g))
	}
	if err == nil && len(agents) == 0 {
		a.none("", false)
	}
	return err
}

// agentText describes the state of an agent.
func agentText(g api.Agent) string {
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
	if g.UnservedMS > 0 {
		text += ", has work and nobody serves it for " + (time.Duration(g.UnservedMS) * time.Millisecond).Round(time.Second).String()
	}
	return text
}

func (a *app) parameters(ctx context.Context, facts bool) error {
	ps, err := a.home.Parameters(ctx, a.env, facts)
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

// attributes shows what is wanted of a resource, and where what was seen last differs from it.
func (a *app) attributes(d *api.Detail) {
	a.printf("\nattributes\n")
	for _, name := range slices.Sorted(maps.Keys(d.Desired)) {
		if diffview.OfHandler(name) {
			continue // actions name the code that ran
		}
		want := a.style("").Value(d.Desired[name])
		a.printf("  %s: %s\n", name, want)
		if seen, known := d.Seen[name]; known {
			a.seen(seen, d.Desired[name], want)
		}
	}
	switch {
	case d.SeenAt == nil:
		a.printf("  never seen\n")
	case d.Seen == nil:
		a.printf("  did not exist at %s\n", d.SeenAt.Format(time.RFC3339))
	default:
		a.printf("  last seen at %s\n", d.SeenAt.Format(time.RFC3339))
	}
}

// seen shows a value that was seen last, if it differs from the one that is wanted, which is shown
// as want.
func (a *app) seen(seen, desired any, want string) {
	exact := diffview.Style{Whole: true}
	switch text := a.style("").Value(seen); {
	case exact.Value(seen) == exact.Value(desired):
	case text == want:
		a.printf("    last seen: differs after what is shown here; --full shows more\n")
	default:
		a.printf("    last seen: %s\n", text)
		if kept, size, cut := run.Cut(seen); cut && a.full {
			a.printf("      %s\n", keptOnly(kept, size, "it"))
		}
	}
}
