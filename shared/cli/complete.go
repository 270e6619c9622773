package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/servicecmd"
	"southbound/shared/service/orders"
)

// completer provides shell completion of arguments.
type completer struct {
	*home.Location
	*home.Session
}

// complete makes the shell offer the results of list for the first argument of a command. If list
// fails, the shell offers nothing.
func (cp *completer) complete(
	c *cobra.Command, list func(ctx context.Context, word string) []string,
) {
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string,
		word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		if len(args) > 0 || cp.OpenToRead(cmd.Context(), "") != nil {
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

// maxOffered is how many resources completion offers.
const maxOffered = 500

func (cp *completer) offerIDs(ctx context.Context, word string) []string {
	var out []string
	_ = cp.Home.Resources(ctx, cp.Env, nil, func(r *api.Resource) error {
		if len(out) == maxOffered {
			return home.ErrEnough
		}
		if strings.HasPrefix(string(r.ID), word) {
			out = append(out, string(r.ID))
		}
		return nil
	})
	return out
}

func (cp *completer) offerFilters(ctx context.Context, word string) []string {
	out := cp.offerIDs(ctx, word)
	for _, s := range api.Statuses() {
		out = append(out, "status="+string(s))
	}
	for _, t := range cp.offerTypes(ctx, word) {
		out = append(out, "type="+t)
	}
	for _, g := range cp.offerAgents(ctx, word) {
		out = append(out, "agent="+g)
	}
	return out
}

func (cp *completer) offerTypes(ctx context.Context, _ string) []string {
	types, err := cp.Home.Types(ctx)
	if err != nil {
		return nil
	}
	var out []string
	for _, t := range types {
		out = append(out, t.Name)
	}
	return out
}

func (cp *completer) offerAgents(ctx context.Context, _ string) []string {
	agents, err := cp.Home.Agents(ctx, cp.Env)
	if err != nil {
		return nil
	}
	var out []string
	for _, g := range agents {
		out = append(out, g.Name)
	}
	return out
}

func (cp *completer) offerParameters(ctx context.Context, _ string) []string {
	ps, err := cp.Home.Parameters(ctx, cp.Env, false)
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
func (cp *completer) completions(root *cobra.Command) {
	for name, list := range map[string]func(context.Context, string) []string{
		"resource": cp.offerIDs, "logs": cp.offerIDs, "resources": cp.offerFilters,
		"deploy": cp.offerFilters, "repair": cp.offerFilters,
		"state show": cp.offerIDs, "state export": cp.offerIDs, "state forget": cp.offerIDs,
		"state import": cp.offerIDs,
		"type":         cp.offerTypes, "pause": cp.offerAgents, "resume": cp.offerAgents,
		"parameter get": cp.offerParameters, "parameter delete": cp.offerParameters,
		"parameter history": cp.offerParameters,
		"service show":      cp.offerServices, "service create": cp.offerServices,
		"service instances": cp.offerServices, "service instance": cp.offerInstances,
		"service update": cp.offerInstances, "service delete": cp.offerInstances,
		"service state": cp.offerInstances,
	} {
		if cmd, _, err := root.Find(strings.Fields(name)); err == nil {
			cp.complete(cmd, list)
		}
	}
}

// offerServices returns the names of services.
func (cp *completer) offerServices(ctx context.Context, _ string) []string {
	var out []string
	if o, err := cp.Home.Orders(); err == nil {
		all, _ := o.Catalog(ctx, cp.Env, false, false)
		for i := range all {
			out = append(out, all[i].Name)
		}
	}
	return out
}

// offerInstances completes instances by their services and identities, after the service is typed.
func (cp *completer) offerInstances(ctx context.Context, word string) []string {
	service, _, typed := strings.Cut(word, "/")
	var out []string
	if !typed {
		for _, name := range cp.offerServices(ctx, word) {
			out = append(out, name+"/")
		}
		return out
	}
	o, err := cp.Home.Orders()
	if err != nil {
		return nil
	}
	q := orders.Query{Filter: orders.Filter{Service: service}}
	q.Limit = maxOffered
	p, _ := o.List(ctx, cp.Env, q)
	for i := range p.Items {
		if p.Items[i].Identity != nil {
			out = append(out, servicecmd.InstanceName(&p.Items[i]))
		}
	}
	return out
}
