package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
)

// statusCommands is status: it shows the state of an environment.
type statusCommands struct {
	*console
	*location
	*session
	results *results
}

func (c *statusCommands) statusCommand() *cobra.Command {
	exitCode := false
	cmd := &cobra.Command{Use: "status",
		Short:   "Show the environment's status, problems first",
		Example: "  southbound status\n  southbound status --json\n  southbound status --exit-code",
		Args:    exactArgs(0, "nothing more"),
		RunE: c.reading(func(ctx context.Context, _ []string) error {
			return c.status(ctx, exitCode)
		})}
	foldFlag(c.console, cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false,
		"exit with 3 if a resource has a problem, or waits for a paused agent or a halted environment")
	return cmd
}

// neverExported is the message for an environment that has no version.
const neverExported = "environment %s: nothing was exported yet; `southbound apply PATH` starts"

func (c *statusCommands) status(ctx context.Context, exitCode bool) error {
	p, err := c.home.Progress(ctx, c.env)
	if err != nil {
		return err
	}
	agents, err := c.home.Agents(ctx, c.env)
	if err != nil {
		return err
	}
	counts := p.ByStatus()
	if exitCode && (ill(counts) || waitsForPeople(p)) {
		c.code = exitUnhealthy
	}
	if c.json {
		return c.statusJSON(ctx, p, counts, agents)
	}
	if p.Last == 0 {
		c.printf(neverExported+"\n", c.env)
		return nil
	}
	if ill(counts) {
		if err := c.results.wrong(ctx, c.out, 10); err != nil {
			return err
		}
	}
	c.printf("environment %s, version %d: %s\n", c.env, p.Released, countsText(counts))
	if p.Last != p.Released {
		c.printf("version %d is stored and not released; `southbound release %d` releases it\n",
			p.Last, p.Last)
	}
	for _, l := range unfinishedText(p, !c.remote()) {
		c.printf("%s\n", l)
	}
	if tried := triedAgain(p.Waiting); tried != "" {
		c.printf("%s\n", tried)
	}
	c.agentsText(agents)
	return nil
}

func (c *statusCommands) agentsText(agents []api.Agent) {
	var parts []string
	for i, g := range agents {
		if i == maxAgents {
			parts = append(parts, plural(len(agents)-i, "more agent")+", see `southbound agents`")
			break
		}
		parts = append(parts, g.Name+" ("+agentText(g)+")")
	}
	if len(parts) > 0 {
		c.printf("agents: %s\n", strings.Join(parts, ", "))
	}
}

func (c *statusCommands) statusJSON(
	ctx context.Context, p api.Progress, counts map[state.Status]int, agents []api.Agent,
) error {
	if agents == nil {
		agents = []api.Agent{}
	}
	l := api.StatusLine{Environment: c.env, Version: p.Released, LatestVersion: p.Last, Counts: counts,
		Scheduled: p.Scheduled, Running: p.RunningCount, Interrupted: p.Interrupted,
		Halted: p.Halted, PausedAgents: p.Paused, Waiting: p.Waiting,
		Agents: agents, Problems: []api.Problem{}}
	if ill(counts) {
		health, err := c.home.Health(ctx, c.env)
		if err != nil {
			return err
		}
		l.Problems = health.Single
	}
	c.line(l)
	return nil
}
