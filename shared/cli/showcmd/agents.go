package showcmd

import (
	"context"

	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
)

// AgentCommands list agents, and forget unused agents.
type AgentCommands struct {
	*output.Console
	*home.Location
	*home.Session
}

// AgentsCommand returns the command agents.
func (c *AgentCommands) AgentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "agents", Short: "List agents",
		Example: "  southbound agents\n  southbound agents --json\n  southbound agents prune",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: c.Reading(c.agents)}
	cmd.AddCommand(c.pruneCommand())
	return cmd
}

func (c *AgentCommands) agents(ctx context.Context, _ []string) error {
	agents, err := c.Home.Agents(ctx, c.Env)
	for _, g := range agents {
		if c.JSON {
			c.Line(g)
			continue
		}
		c.Printf("%-20s  %s\n", g.Name, output.AgentText(g))
	}
	if err == nil && len(agents) == 0 {
		c.None("", false)
	}
	return err
}

func (c *AgentCommands) pruneCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{Use: "prune",
		Short: "Remove queues of agents that no longer exist",
		Long: "prune shows the queues and event source mappings of agents that no version names " +
			"and that have no scheduled work. With --yes it removes them. An agent that is " +
			"described again gets new ones. Only the AWS home has queues.",
		Example: "  southbound agents prune\n  southbound agents prune --yes",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.OpenToRead(cmd.Context(), ""); err != nil {
				return err
			}
			pruned, err := c.Home.Prune(cmd.Context(), c.Env, yes)
			for _, p := range pruned {
				switch {
				case c.JSON:
					c.Line(p)
				case p.Removed:
					c.Printf("removed  %s  %s\n", p.Agent, p.Queue)
				default:
					c.Printf("%s  %s\n", p.Agent, p.Queue)
				}
			}
			switch {
			case err != nil:
				return err
			case len(pruned) == 0:
				c.None("queue is unused", true)
			case !yes && !c.JSON:
				c.Say("nothing was removed; --yes removes these queues")
			}
			return nil
		}}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove them")
	return cmd
}
