package cli

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
)

// complete makes the shell offer what list returns for the first argument of a command. If list
// fails, nothing is offered.
func (a *app) complete(c *cobra.Command, list func(ctx context.Context, word string) []string) {
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		if len(args) > 0 || a.openToRead("") != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, s := range list(cmd.Context(), word) {
			if strings.HasPrefix(s, word) {
				out = append(out, s)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// maxOffered bounds how many resources are offered.
const maxOffered = 500

var errEnough = errors.New("enough")

func (a *app) offerIDs(ctx context.Context, word string) []string {
	var out []string
	_ = a.home.Resources(ctx, a.env, nil, func(r *api.Resource) error {
		if len(out) == maxOffered {
			return errEnough
		}
		if strings.HasPrefix(string(r.ID), word) {
			out = append(out, string(r.ID))
		}
		return nil
	})
	return out
}

func (a *app) offerFilters(ctx context.Context, word string) []string {
	out := a.offerIDs(ctx, word)
	for _, s := range api.Statuses() {
		out = append(out, "status="+string(s))
	}
	for _, t := range a.offerTypes(ctx, word) {
		out = append(out, "type="+t)
	}
	for _, g := range a.offerAgents(ctx, word) {
		out = append(out, "agent="+g)
	}
	return out
}

func (a *app) offerTypes(ctx context.Context, _ string) []string {
	types, err := a.home.Types(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range types {
		out = append(out, t.Name)
	}
	return out
}

func (a *app) offerAgents(ctx context.Context, _ string) []string {
	agents, err := a.home.Agents(ctx, a.env)
	if err != nil {
		return nil
	}
	var out []string
	for _, g := range agents {
		out = append(out, g.Name)
	}
	return out
}

func (a *app) offerParameters(ctx context.Context, _ string) []string {
	ps, err := a.home.Parameters(ctx, a.env, false)
	if err != nil {
		return nil
	}
	var out []string
	for _, p := range ps {
		out = append(out, p.Name)
	}
	return out
}

// completions adds completions of arguments to the commands.
func (a *app) completions(root *cobra.Command) {
	for name, list := range map[string]func(context.Context, string) []string{
		"resource": a.offerIDs, "logs": a.offerIDs, "resources": a.offerFilters, "deploy": a.offerFilters, "repair": a.offerFilters,
		"type": a.offerTypes, "pause": a.offerAgents, "resume": a.offerAgents, "parameter get": a.offerParameters, "parameter delete": a.offerParameters,
		"parameter history": a.offerParameters,
		"service show":      a.offerServices, "service create": a.offerServices,
		"service instances": a.offerServices, "service instance": a.offerInstances,
		"service update": a.offerInstances, "service delete": a.offerInstances,
		"service state": a.offerInstances,
	} {
		if cmd, _, err := root.Find(strings.Fields(name)); err == nil {
			a.complete(cmd, list)
		}
	}
}
