package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
)

// switches stop or resume claims: pause, resume, halt, unhalt.
type switches struct {
	*console
	*location
	*session
}

// commands returns the commands that stop or resume claims.
func (s *switches) commands() []*cobra.Command {
	one, none := exactArgs(1, "one agent"), exactArgs(0, "nothing more")
	return []*cobra.Command{
		s.switchCommand("pause AGENT", "Pause an agent; running calls finish",
			"  southbound pause web1", one,
			func(ctx context.Context, args []string) error { return s.pause(ctx, args[0]) }),
		s.switchCommand("resume AGENT", "Resume a paused agent", "  southbound resume web1", one,
			func(ctx context.Context, args []string) error {
				return s.home.Pause(ctx, s.env, false, args...)
			}),
		s.switchCommand("halt", "Halt the environment; running calls finish", "  southbound halt", none,
			func(ctx context.Context, _ []string) error { return s.home.Halt(ctx, s.env, true) }),
		s.switchCommand("unhalt", "Resume a halted environment", "  southbound unhalt", none,
			func(ctx context.Context, _ []string) error { return s.home.Halt(ctx, s.env, false) }),
	}
}

// switchCommand makes a command that stops or resumes claims: pause, resume, halt, unhalt.
func (s *switches) switchCommand(
	use, short, example string, args cobra.PositionalArgs, do func(ctx context.Context,
		args []string) error,
) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: args,
		RunE: after(s.openToRead, func(ctx context.Context, args []string) error {
			// Stopping a home that does not exist, as in a wrong directory, would stop nothing.
			if err := s.there(ctx); err != nil {
				return err
			}
			if err := do(ctx, args); err != nil {
				return err
			}
			name, _, _ := strings.Cut(use, " ")
			if s.json {
				s.line(struct {
					Environment string `json:"environment"`
					Done        string `json:"done"`
				}{s.env, name})
			} else {
				s.printf("%s: done in environment %s\n", name, s.env)
			}
			return nil
		})}
}

// pause pauses an agent. The agent need not be in any version yet.
func (s *switches) pause(ctx context.Context, agent string) error {
	agents, err := s.home.Agents(ctx, s.env)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(agents, func(g api.Agent) bool {
		return g.Name == agent && g.Transport != ""
	}) {
		s.say("no version names the agent %q so far; it is paused from the first one on that does",
			agent)
	}
	return s.home.Pause(ctx, s.env, true, agent)
}
