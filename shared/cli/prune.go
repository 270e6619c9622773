package cli

import (
	"github.com/spf13/cobra"
)

func (a *app) pruneCommand() *cobra.Command {
	yes := false
	cmd := &cobra.Command{Use: "prune", Short: "Remove queues of agents that are not needed any more",
		Long: "prune shows the queues, and what listens to them, of agents that no version names and for which nothing is\n" +
			"scheduled; with --yes it removes them. An agent that comes back gets new ones. Only the AWS home makes queues.",
		Example: "  southbound agents prune\n  southbound agents prune --yes",
		Args:    exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.openToRead(""); err != nil {
				return err
			}
			pruned, err := a.home.Prune(cmd.Context(), a.env, yes)
			for _, p := range pruned {
				switch {
				case a.json:
					a.line(p)
				case p.Removed:
					a.printf("removed  %s  %s\n", p.Agent, p.Queue)
				default:
					a.printf("%s  %s\n", p.Agent, p.Queue)
				}
			}
			switch {
			case err != nil:
				return err
			case len(pruned) == 0:
				a.none("queue is without use", true)
			case !yes && !a.json:
				a.say("nothing was removed; --yes removes what stands here")
			}
			return nil
		}}
	cmd.Flags().BoolVar(&yes, "yes", false, "remove them")
	return cmd
}
