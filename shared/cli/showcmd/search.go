package showcmd

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Finder finds things by a word, and shows the graph of dependencies.
type Finder struct {
	*output.Console
	*home.Location
	*home.Session
}

// SearchCommand returns the command search.
func (f *Finder) SearchCommand() *cobra.Command {
	limit := 0
	cmd := &cobra.Command{Use: "search TEXT", Short: "Find resources, instances and more by name",
		Long: "search lists resources, instances, services, agents, parameters and versions whose " +
			"names have the text, exact matches first.",
		Example: "  southbound search motd\n  southbound search customer/acme --json",
		Args:    usage.ExactArgs(1, "one text"),
		RunE: f.Reading(func(ctx context.Context, args []string) error {
			found, err := f.Home.Search(ctx, f.Env, args[0], limit)
			if err != nil {
				return err
			}
			for i := range found.Items {
				f.hit(&found.Items[i])
			}
			if len(found.Items) == 0 {
				f.None("name has that text", true)
			}
			if found.More {
				f.Say("there may be more: use a longer text, or --limit")
			}
			return nil
		})}
	cmd.Flags().IntVar(&limit, "limit", 0, "number of matches of each kind, at most 100 (0: 20)")
	return cmd
}

func (f *Finder) hit(h *api.SearchHit) {
	if f.JSON {
		f.Line(h)
		return
	}
	name := h.ID
	if h.Service != "" {
		name = h.Service + "/" + h.Label
	} else if h.Label != h.ID {
		name += " " + h.Label
	}
	f.Printf("%-9s  %s  %s\n", h.Kind, output.OneLine(name), cmp.Or(string(h.Status), h.State))
}

// GraphCommand returns the command graph.
func (f *Finder) GraphCommand() *cobra.Command {
	q := api.GraphQuery{}
	cmd := &cobra.Command{Use: "graph [ID | FILTER]", Short: "Show dependencies between resources",
		Long: "graph shows the neighbours of a resource, with its root causes, or the resources " +
			"that match FILTER, folded into boxes by agent and type. A line is a node, with the " +
			"nodes that it requires below it. " + usage.FilterHelp,
		Example: "  southbound graph\n  southbound graph 'fs::File[web1,path=/etc/motd]' --up 5\n" +
			"  southbound graph agent=web1 --fold type --open 'fs::File[]'\n" +
			"  southbound graph status=failed --fold none --json",
		Args: func(_ *cobra.Command, args []string) error {
			_, err := state.ParseFilter(args)
			return err
		}}
	cmd.RunE = f.Reading(func(ctx context.Context, args []string) error {
		q := q
		if len(args) == 1 {
			if _, err := resource.ParseID(args[0]); err == nil {
				q.ID = resource.ID(args[0])
			}
		}
		if q.ID == "" {
			q.Filter = args
		}
		if len(q.Fold) == 1 && q.Fold[0] == "none" {
			q.Fold = nil
		}
		g, err := f.Home.Graph(ctx, f.Env, q)
		if err != nil {
			return err
		}
		return f.graph(&g)
	})
	fl := cmd.Flags()
	fl.IntVar(&q.Up, "up", 2, "of an ID: steps to requirements")
	fl.IntVar(&q.Down, "down", 2, "of an ID: steps to dependants")
	fl.StringSliceVar(&q.Fold, "fold", []string{api.FoldAgent, api.FoldType},
		"common properties of a box: agent, type or both; none: no boxes")
	fl.StringArrayVar(&q.Open, "open", nil, "box whose resources are shown; may be repeated")
	fl.BoolVar(&q.Outside, "outside", false, "include requirements that FILTER excludes")
	fl.IntVar(&q.Limit, "limit", 500, "number of nodes, at most 2000")
	return cmd
}

func (f *Finder) graph(g *api.Graph) error {
	if f.JSON {
		f.Line(g)
		return nil
	}
	requires := map[string][]api.GraphEdge{}
	for _, e := range g.Edges {
		requires[e.From] = append(requires[e.From], e)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		count := ""
		if n.ID == "" {
			count = "  " + output.Plural(n.Count, "resource")
		}
		f.Printf("%s  %s%s\n", f.Paint(n.Status, 13), output.OneLine(n.Key), count)
		for _, e := range requires[n.Key] {
			f.Printf("%15s requires %s\n", "", output.OneLine(e.To))
		}
	}
	if len(g.Nodes) == 0 {
		f.None("resource matches", true)
	}
	if g.Left > 0 {
		f.Say("%s left out: only unhealthy nodes and their neighbours are shown; see --limit",
			output.Plural(g.Left, "node"))
	}
	return nil
}
