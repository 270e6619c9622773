package workcmd

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
)

// Switches stop or resume claims: pause, resume, halt, unhalt.
type Switches struct {
	*output.Console
	*home.Location
	*home.Session
}

// Commands returns the commands that stop or resume claims.
func (s *Switches) Commands() []*cobra.Command {
	one, none := usage.ExactArgs(1, "one agent"), usage.ExactArgs(0, "nothing more")
	return []*cobra.Command{
		s.switchCommand("pause AGENT", "Pause an agent; running calls finish",
			"  southbound pause web1\n  southbound pause web1 --message 'new disk'", one,
			func(ctx context.Context, args []string) error { return s.pause(ctx, args[0]) }),
		s.switchCommand("resume AGENT", "Resume a paused agent", "  southbound resume web1", one,
			func(ctx context.Context, args []string) error {
				return s.Home.Pause(ctx, s.Env, false, args...)
			}),
		s.switchCommand("halt", "Halt the environment; running calls finish", "  southbound halt", none,
			func(ctx context.Context, _ []string) error { return s.Home.Halt(ctx, s.Env, true) }),
		s.switchCommand("unhalt", "Resume a halted environment", "  southbound unhalt", none,
			func(ctx context.Context, _ []string) error { return s.Home.Halt(ctx, s.Env, false) }),
	}
}

// switchCommand makes a command that stops or resumes claims: pause, resume, halt, unhalt.
func (s *Switches) switchCommand(
	use, short, example string, args cobra.PositionalArgs, do func(ctx context.Context,
		args []string) error,
) *cobra.Command {
	return usage.MessageFlag(&cobra.Command{Use: use, Short: short, Example: example, Args: args,
		RunE: usage.After(s.OpenToRead, func(ctx context.Context, args []string) error {
			// Stopping a home that does not exist, as in a wrong directory, would stop nothing.
			if err := s.There(ctx); err != nil {
				return err
			}
			if err := do(ctx, args); err != nil {
				return err
			}
			name, _, _ := strings.Cut(use, " ")
			if s.JSON {
				s.Line(struct {
					Environment string `json:"environment"`
					Done        string `json:"done"`
				}{s.Env, name})
			} else {
				s.Printf("%s: done in environment %s\n", name, s.Env)
			}
			return nil
		})})
}

// pause pauses an agent. The agent need not be in any version yet.
func (s *Switches) pause(ctx context.Context, agent string) error {
	agents, err := s.Home.Agents(ctx, s.Env)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(agents, func(g api.Agent) bool {
		return g.Name == agent && g.Transport != ""
	}) {
		s.Say("no version names the agent %q yet; it will be paused from the first version that names it",
			agent)
	}
	return s.Home.Pause(ctx, s.Env, true, agent)
}
