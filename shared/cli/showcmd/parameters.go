package showcmd

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
)

// ParameterCommands set, show and list parameters, and list facts.
type ParameterCommands struct {
	*output.Console
	*home.Location
	*home.Session
}

// ParameterCommand returns the command parameter with its subcommands.
func (c *ParameterCommands) ParameterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "parameter", Short: "Set, get, delete or trace a parameter",
		Args: usage.Subcommand, RunE: usage.Help,
		Example: "  southbound parameter set domain example.org\n" +
			"  southbound parameter get domain\n  southbound parameter delete domain\n" +
			"  southbound parameter history domain"}
	cmd.AddCommand(
		usage.MessageFlag(&cobra.Command{Use: "set NAME VALUE", Short: "Set a parameter",
			Example: "  southbound parameter set domain example.org",
			Long: "set gives a parameter a value. Resources that were undefined without it are " +
				"deployed next. Resources that use another value keep it until the next export.",
			Args: usage.ExactArgs(2, "a name and a value"), RunE: usage.After(c.Open, c.setParameter)}),
		&cobra.Command{Use: "get NAME", Short: "Print a parameter",
			Example: "  southbound parameter get domain", Args: usage.ExactArgs(1, "a name"),
			RunE: c.Reading(c.getParameter)},
		usage.MessageFlag(&cobra.Command{Use: "delete NAME", Short: "Delete a parameter",
			Example: "  southbound parameter delete domain", Args: usage.ExactArgs(1, "a name"),
			RunE: c.Reading(c.deleteParameter)}),
		&cobra.Command{Use: "history NAME",
			Short:   "Show earlier values of a parameter",
			Example: "  southbound parameter history domain",
			Long:    "The newest value comes first. Values are known for as long as actions are kept.",
			Args:    usage.ExactArgs(1, "a name"), RunE: c.Reading(c.parameterHistory)},
	)
	return cmd
}

func (c *ParameterCommands) getParameter(ctx context.Context, args []string) error {
	p, err := c.Home.Parameter(ctx, c.Env, args[0])
	if err != nil {
		return err
	}
	if c.JSON {
		c.Line(p)
	} else {
		c.Printf("%s\n", []byte(p.Value)) // unchanged: scripts read it
	}
	return nil
}

func (c *ParameterCommands) deleteParameter(ctx context.Context, args []string) error {
	p, err := c.Home.Parameter(ctx, c.Env, args[0])
	if err != nil {
		return err
	}
	if err := c.Home.DeleteParameter(ctx, c.Env, args[0]); err != nil {
		return err
	}
	if c.JSON {
		c.Line(p)
	}
	return nil
}

func (c *ParameterCommands) parameterHistory(ctx context.Context, args []string) error {
	changes, err := c.Home.ParameterHistory(ctx, c.Env, args[0])
	if err != nil {
		return err
	}
	for i := range changes {
		p := &changes[i]
		switch {
		case c.JSON:
			c.Line(struct {
				state.Parameter
				Gone bool `json:"gone"`
			}{p.Parameter, p.Gone})
		case p.Gone:
			c.Printf("%s  deleted\n", p.Updated.UTC().Format(time.RFC3339))
		default:
			c.Printf("%s  %s = %s\n", p.Updated.UTC().Format(time.RFC3339), p.Name,
				output.OneLine(p.Value))
		}
	}
	if len(changes) == 0 {
		c.None("change of that parameter is known", true)
	}
	return nil
}

func (c *ParameterCommands) setParameter(ctx context.Context, args []string) error {
	p, err := c.Home.SetParameter(ctx, c.Env, args[0], args[1])
	if err == nil && c.JSON {
		c.Line(p)
	}
	return err
}

// ListCommands are the commands that list parameters and facts.
func (c *ParameterCommands) ListCommands() []*cobra.Command {
	none := usage.ExactArgs(0, "nothing more")
	ps, facts := api.ParametersQuery{}, api.ParametersQuery{Facts: true}
	all := []*cobra.Command{
		{Use: "parameters", Short: "List parameters", Args: none,
			Example: "  southbound parameters\n  southbound parameters --prefix net. --json",
			RunE: c.Reading(func(ctx context.Context, _ []string) error {
				return c.parameters(ctx, ps)
			})},
		{Use: "facts", Short: "List facts", Args: none,
			Long: "A fact is a JSON value: a text is shown as it is, any other value as JSON. With " +
				"--json, value is the value itself.",
			Example: "  southbound facts\n  southbound facts --resource 'fs::File[web1,path=/etc/motd]'",
			RunE: c.Reading(func(ctx context.Context, _ []string) error {
				return c.parameters(ctx, facts)
			})},
	}
	const prefix = "only names that begin with this text"
	all[0].Flags().StringVar(&ps.Prefix, "prefix", "", prefix)
	all[1].Flags().StringVar(&facts.Prefix, "prefix", "", prefix)
	all[1].Flags().StringVar((*string)(&facts.Resource), "resource", "",
		"only facts of the resource with this id")
	return all
}

func (c *ParameterCommands) parameters(ctx context.Context, q api.ParametersQuery) error {
	var ps []state.Parameter
	for {
		page, err := c.Home.ParametersPage(ctx, c.Env, q)
		if err != nil {
			return err
		}
		ps = append(ps, page.Items...)
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	facts := q.Facts
	for _, p := range ps {
		switch {
		case c.JSON && facts:
			c.Line(api.FactOf(&p))
		case c.JSON:
			c.Line(p)
		case facts:
			c.Printf("%s  %s = %s\n", p.Of, p.Name, output.OneLine(p.Value))
		default:
			c.Printf("%s = %s\n", p.Name, output.OneLine(p.Value))
		}
	}
	if len(ps) == 0 && facts {
		c.None("fact is known", true)
	} else if len(ps) == 0 {
		c.None("parameter is set; `southbound parameter set NAME VALUE` sets one", true)
	}
	return nil
}
