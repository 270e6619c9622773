package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// agentCommands list agents, and forget unused agents.
type agentCommands struct {
	*console
	*location
	*session
}

func (c *agentCommands) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Short: "List agents",
		Example: "  southbound agents\n  southbound agents --json\n  southbound agents prune",
		Args:    exactArgs(0, "nothing more"), RunE: c.reading(c.agents)}
	cmd.AddCommand(c.pruneCommand())
	return cmd
}

func (c *agentCommands) agents(ctx context.Context, _ []string) error {
	agents, err := c.home.Agents(ctx, c.env)
	for _, g := range agents {
		if c.json {
			c.line(g)
			continue
		}
		c.printf("%-20s  %s\n", g.Name, agentText(g))
	}
	if err == nil && len(agents) == 0 {
		c.none("", false)
	}
	return err
}

func (c *agentCommands) pruneCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{Use: "prune",
		Short: "Remove queues of agents that no longer exist",
		Long: "prune shows the queues and event source mappings of agents that no version names " +
			"and that have no scheduled work. With --yes it removes them. An agent that is " +
			"described again gets new ones. Only the AWS home has queues.",
		Example: "  southbound agents prune\n  southbound agents prune --yes",
		Args:    exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.openToRead(cmd.Context(), ""); err != nil {
				return err
			}
			pruned, err := c.home.Prune(cmd.Context(), c.env, yes)
			for _, p := range pruned {
				switch {
				case c.json:
					c.line(p)
				case p.Removed:
					c.printf("removed  %s  %s\n", p.Agent, p.Queue)
				default:
					c.printf("%s  %s\n", p.Agent, p.Queue)
				}
			}
			switch {
			case err != nil:
				return err
			case len(pruned) == 0:
				c.none("queue is without use", true)
			case !yes && !c.json:
				c.say("nothing was removed; --yes removes these queues")
			}
			return nil
		}}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove them")
	return cmd
}
