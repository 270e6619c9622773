package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/deploy/state"
)

// parameterCommands set, show and list parameters, and list facts.
type parameterCommands struct {
	*console
	*location
	*session
}

func (c *parameterCommands) parameterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "parameter", Short: "Set, get, delete or trace a parameter",
		Args: subcommand, RunE: help,
		Example: "  southbound parameter set domain example.org\n" +
			"  southbound parameter get domain\n  southbound parameter delete domain\n" +
			"  southbound parameter history domain"}
	cmd.AddCommand(
		&cobra.Command{Use: "set NAME VALUE", Short: "Set a parameter",
			Example: "  southbound parameter set domain example.org",
			Long: "set gives a parameter a value. Resources that were undefined without it are " +
				"deployed next. Resources that use another value keep it until the next export.",
			Args: exactArgs(2, "a name and a value"), RunE: after(c.open, c.setParameter)},
		&cobra.Command{Use: "get NAME", Short: "Print a parameter",
			Example: "  southbound parameter get domain", Args: exactArgs(1, "a name"),
			RunE: c.reading(c.getParameter)},
		&cobra.Command{Use: "delete NAME", Short: "Delete a parameter",
			Example: "  southbound parameter delete domain", Args: exactArgs(1, "a name"),
			RunE: c.reading(c.deleteParameter)},
		&cobra.Command{Use: "history NAME",
			Short:   "Show earlier values of a parameter",
			Example: "  southbound parameter history domain",
			Long:    "The newest value comes first. Values are known for as long as actions are kept.",
			Args:    exactArgs(1, "a name"), RunE: c.reading(c.parameterHistory)},
	)
	return cmd
}

func (c *parameterCommands) getParameter(ctx context.Context, args []string) error {
	p, err := c.home.Parameter(ctx, c.env, args[0])
	if err != nil {
		return err
	}
	if c.json {
		c.line(p)
	} else {
		c.printf("%s\n", []byte(p.Value)) // unchanged: scripts read it
	}
	return nil
}

func (c *parameterCommands) deleteParameter(ctx context.Context, args []string) error {
	p, err := c.home.Parameter(ctx, c.env, args[0])
	if err != nil {
		return err
	}
	if err := c.home.DeleteParameter(ctx, c.env, args[0]); err != nil {
		return err
	}
	if c.json {
		c.line(p)
	}
	return nil
}

func (c *parameterCommands) parameterHistory(ctx context.Context, args []string) error {
	changes, err := c.home.ParameterHistory(ctx, c.env, args[0])
	if err != nil {
		return err
	}
	for i := range changes {
		p := &changes[i]
		switch {
		case c.json:
			c.line(struct {
				state.Parameter
				Gone bool `json:"gone"`
			}{p.Parameter, p.Gone})
		case p.Gone:
			c.printf("%s  deleted\n", p.Updated.UTC().Format(time.RFC3339))
		default:
			c.printf("%s  %s = %s\n", p.Updated.UTC().Format(time.RFC3339), p.Name,
				oneLine(p.Value))
		}
	}
	if len(changes) == 0 {
		c.none("change of that parameter is known", true)
	}
	return nil
}

func (c *parameterCommands) setParameter(ctx context.Context, args []string) error {
	p, err := c.home.SetParameter(ctx, c.env, args[0], args[1])
	if err == nil && c.json {
		c.line(p)
	}
	return err
}

// listCommands are the commands that list parameters and facts.
func (c *parameterCommands) listCommands() []*cobra.Command {
	none := exactArgs(0, "nothing more")
	return []*cobra.Command{
		{Use: "parameters", Short: "List parameters", Args: none,
			Example: "  southbound parameters\n  southbound parameters --json",
			RunE: c.reading(func(ctx context.Context, _ []string) error {
				return c.parameters(ctx, false)
			})},
		{Use: "facts", Short: "List facts", Args: none,
			Example: "  southbound facts\n  southbound facts --json",
			RunE: c.reading(func(ctx context.Context, _ []string) error {
				return c.parameters(ctx, true)
			})},
	}
}

func (c *parameterCommands) parameters(ctx context.Context, facts bool) error {
	ps, err := c.home.Parameters(ctx, c.env, facts)
	if err != nil {
		return err
	}
	for _, p := range ps {
		switch {
		case c.json:
			c.line(p)
		case facts:
			c.printf("%s  %s = %s\n", p.Of, p.Name, oneLine(p.Value))
		default:
			c.printf("%s = %s\n", p.Name, oneLine(p.Value))
		}
	}
	if len(ps) == 0 && facts {
		c.none("fact is known", true)
	} else if len(ps) == 0 {
		c.none("parameter is set; `southbound parameter set NAME VALUE` sets one", true)
	}
	return nil
}
