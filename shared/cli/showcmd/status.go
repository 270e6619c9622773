// Package showcmd has the commands that show an environment, such as status, resources and logs.
package showcmd

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/work"
	"southbound/shared/deploy/state"
)

// StatusCommands is status: it shows the state of an environment.
type StatusCommands struct {
	*output.Console
	*home.Location
	*home.Session
	Results *work.Results
}

// StatusCommand returns the command status.
func (c *StatusCommands) StatusCommand() *cobra.Command {
	exitCode := false
	cmd := &cobra.Command{Use: "status",
		Short:   "Show the environment's status, problems first",
		Example: "  southbound status\n  southbound status --json\n  southbound status --exit-code",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: c.Reading(func(ctx context.Context, _ []string) error {
			return c.status(ctx, exitCode)
		})}
	output.FoldFlag(c.Console, cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false,
		"exit with 3 if a resource has a problem, or waits for a paused agent or a halted environment")
	return cmd
}

// neverExported is the message for an environment that has no version.
const neverExported = "environment %s: nothing was exported yet; `southbound apply PATH` starts"

func (c *StatusCommands) status(ctx context.Context, exitCode bool) error {
	p, err := c.Home.Progress(ctx, c.Env)
	if err != nil {
		return err
	}
	agents, err := c.Home.Agents(ctx, c.Env)
	if err != nil {
		return err
	}
	counts := p.ByStatus()
	if exitCode && (work.Ill(counts) || work.WaitsForPeople(p)) {
		c.Code = output.Unhealthy
	}
	if c.JSON {
		return c.statusJSON(ctx, p, counts, agents)
	}
	if p.Last == 0 {
		c.Printf(neverExported+"\n", c.Env)
		return nil
	}
	if work.Ill(counts) {
		if err := c.Results.Wrong(ctx, c.Out, 10); err != nil {
			return err
		}
	}
	c.Printf("environment %s, version %d: %s\n", c.Env, p.Released, output.CountsText(counts))
	if p.Last != p.Released {
		c.Printf("version %d is stored and not released; `southbound release %d` releases it\n",
			p.Last, p.Last)
	}
	for _, l := range work.UnfinishedText(p, !c.Remote()) {
		c.Printf("%s\n", l)
	}
	if tried := work.TriedAgain(p.Waiting); tried != "" {
		c.Printf("%s\n", tried)
	}
	c.agentsText(agents)
	return nil
}

func (c *StatusCommands) agentsText(agents []api.Agent) {
	var parts []string
	for i, g := range agents {
		if i == work.MaxAgents {
			parts = append(parts, output.Plural(len(agents)-i, "more agent")+", see `southbound agents`")
			break
		}
		parts = append(parts, g.Name+" ("+output.AgentText(g)+")")
	}
	if len(parts) > 0 {
		c.Printf("agents: %s\n", strings.Join(parts, ", "))
	}
}

func (c *StatusCommands) statusJSON(
	ctx context.Context, p api.Progress, counts map[state.Status]int, agents []api.Agent,
) error {
	if agents == nil {
		agents = []api.Agent{}
	}
	l := api.StatusLine{Environment: c.Env, Version: p.Released, LatestVersion: p.Last, Counts: counts,
		Scheduled: p.Scheduled, Running: p.RunningCount, Interrupted: p.Interrupted,
		Halted: p.Halted, PausedAgents: p.Paused, Waiting: p.Waiting,
		Agents: agents, Problems: []api.Problem{}}
	if work.Ill(counts) {
		health, err := c.Home.Health(ctx, c.Env)
		if err != nil {
			return err
		}
		l.Problems = health.Single
	}
	c.Line(l)
	return nil
}
