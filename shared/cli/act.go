package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/source"
)

func (a *app) actCommands() []*cobra.Command {
	cmds := []*cobra.Command{
		a.workCommand("deploy", "Deploy what is released and unfinished", "  southbound deploy\n  southbound deploy --retry-failed\n  southbound deploy 'fs::File[web1,*'"),
		a.workCommand("repair", "Check everything against reality and set it right", "  southbound repair\n  southbound repair agent=web1"),
		a.dryRunCommand(), a.parameterCommand(), a.gcCommand(), a.schemaCommand(), a.runCommand(),
		{Use: "version", Short: "Print the version", Args: exactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
			if a.json {
				a.line(map[string]string{"version": Version})
			} else {
				a.printf("southbound %s\n", Version)
			}
			return nil
		}},
		{Use: "discover TYPE", Short: "Describe what exists (not in this program yet)", RunE: func(*cobra.Command, []string) error {
			return fault.New(fault.Unsupported, "discover", "no handler in this program can discover yet")
		}},
	}
	for _, c := range []struct {
		use, short, example string
		args                cobra.PositionalArgs
		do                  func(ctx context.Context, args []string) error
	}{
		{"pause AGENT", "Stop claims of an agent; what runs is finished", "  southbound pause web1", exactArgs(1, "one agent"),
			func(ctx context.Context, args []string) error { return a.engine.Pause(ctx, a.env, true, args...) }},
		{"resume AGENT", "Let a paused agent go on", "  southbound resume web1", exactArgs(1, "one agent"),
			func(ctx context.Context, args []string) error { return a.engine.Pause(ctx, a.env, false, args...) }},
		{"halt", "Stop all claims of the environment", "  southbound halt", exactArgs(0, "nothing more"),
			func(ctx context.Context, _ []string) error { return a.engine.Halt(ctx, a.env, true) }},
		{"unhalt", "Let a halted environment go on", "  southbound unhalt", exactArgs(0, "nothing more"),
			func(ctx context.Context, _ []string) error { return a.engine.Halt(ctx, a.env, false) }},
	} {
		do := c.do
		cmds = append(cmds, &cobra.Command{Use: c.use, Short: c.short, Example: c.example, Args: c.args, RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			if err := do(cmd.Context(), args); err != nil {
				return err
			}
			if a.json {
				a.line(map[string]any{"environment": a.env, "done": cmd.Name()})
			} else {
				a.printf("%s: done\n", cmd.Name())
			}
			return nil
		}})
	}
	return cmds
}

// workCommand is deploy or repair.
func (a *app) workCommand(name, short, example string) *cobra.Command {
	var noWait, retry bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: name + " [FILTER]", Short: short, Example: example,
		Long: short + ". It waits, unless --no-wait. FILTER: type=, agent=, status=, set=, an id or a glob of one.",
		RunE: func(cmd *cobra.Command, args []string) error {
			began := time.Now()
			filter, err := deploy.ParseFilter(args)
			if err != nil {
				return err
			}
			if err := a.open(""); err != nil {
				return err
			}
			req := deploy.Request{Filter: filter, RetryFailed: retry}
			ctx := cmd.Context()
			n := 0
			if name == "repair" {
				n, err = a.engine.Repair(ctx, a.env, req)
			} else {
				n, err = a.engine.Deploy(ctx, a.env, req)
			}
			if err != nil {
				return err
			}
			if noWait {
				if a.json {
					a.line(map[string]any{"environment": a.env, "scheduled": n})
				} else {
					a.printf("%d resources scheduled\n", n)
				}
				return nil
			}
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			drained, err := a.drain(ctx)
			if err != nil {
				return a.interrupted(err)
			}
			p := drained.Progress
			r := report{Environment: a.env, Version: p.Env.Released, Resources: total(p), Unchanged: total(p), Repaired: drained.Fixed, Counts: allCounts(p),
				DurationMS: time.Since(began).Milliseconds()}
			return a.summary(ctx, r, drained)
		},
	}
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "only schedule it")
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop waiting after this long, with exit code 4")
	if name == "deploy" {
		cmd.Flags().BoolVar(&retry, "retry-failed", false, "include what failed and waits for its time, for a new intent or for a person")
	}
	return cmd
}

func total(p deploy.Progress) int {
	n := 0
	for s, c := range p.Counts {
		if s != deploy.StatusOrphaned {
			n += c
		}
	}
	return n
}

func (a *app) dryRunCommand() *cobra.Command {
	return &cobra.Command{
		Use: "dryrun [VERSION]", Short: "Compare a version with reality and change nothing",
		Example: "  southbound dryrun\n  southbound dryrun 12 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			number := 0
			if len(args) > 1 {
				return fault.New(fault.Usage, "dryrun", "expected one version")
			}
			if len(args) == 1 {
				if _, err := fmt.Sscanf(args[0], "%d", &number); err != nil || number < 1 {
					return fault.New(fault.Usage, "dryrun", "%q is no version", args[0]).WithHint("`southbound versions` lists them")
				}
			}
			if err := a.open(""); err != nil {
				return err
			}
			d, err := a.engine.DryRun(cmd.Context(), a.env, number)
			if err != nil {
				return err
			}
			a.say("dry run of version %d: %d of %d compared with reality", d.Version, d.Covered, len(d.Would))
			return a.showPlan(d.Would, false)
		},
	}
}

func (a *app) parameterCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "parameter", Short: "Set, get or delete a parameter",
		Example: "  southbound parameter set domain example.org\n  southbound parameter get domain"}
	cmd.AddCommand(
		&cobra.Command{Use: "set NAME VALUE", Short: "Set a parameter", Args: exactArgs(2, "a name and a value"), RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			return a.engine.SetParameters(cmd.Context(), a.env, deploy.Parameter{Name: args[0], Value: args[1], Source: "user"})
		}},
		&cobra.Command{Use: "get NAME", Short: "Print a parameter", Args: exactArgs(1, "a name"), RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			ps, err := a.home.Parameters(cmd.Context(), a.env, deploy.ParameterQuery{Keys: []deploy.ParameterKey{{Name: args[0]}}})
			if err != nil {
				return err
			}
			if len(ps) == 0 {
				return fault.New(fault.NotFound, "", "there is no parameter %q", args[0]).WithHint("`southbound parameters` lists them")
			}
			if a.json {
				a.line(ps[0])
			} else {
				a.printf("%s\n", ps[0].Value)
			}
			return nil
		}},
		&cobra.Command{Use: "delete NAME", Short: "Delete a parameter", Args: exactArgs(1, "a name"), RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			return a.engine.DeleteParameters(cmd.Context(), a.env, deploy.ParameterKey{Name: args[0]})
		}},
	)
	return cmd
}

func (a *app) gcCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{Use: "gc", Short: "Remove old versions, actions and unused files", Example: "  southbound gc\n  southbound gc --grace 1h",
		Args: exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			out, err := a.engine.Collect(cmd.Context(), a.env, grace)
			if err != nil {
				return err
			}
			if a.json {
				a.line(out)
			} else {
				a.printf("removed %d versions, %d actions, %d files\n", out.Versions, out.Actions, out.Files)
			}
			return nil
		}}
	cmd.Flags().DurationVar(&grace, "grace", 24*time.Hour, "keep unused files that are younger")
	return cmd
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{Use: "schema", Short: "Print the JSON Schema of resource documents", Example: "  southbound schema > southbound.schema.json",
		Args: exactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
			types, err := a.registry()
			if err != nil {
				return err
			}
			b, err := source.JSONSchema(types)
			a.printf("%s\n", b)
			return err
		}}
}

func (a *app) runCommand() *cobra.Command {
	return &cobra.Command{Use: "run", Short: "Keep the embedded home alive: retries, timers and repair, until stopped", Example: "  southbound run",
		Args: exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.open(""); err != nil {
				return err
			}
			a.say("serving environment %s in %s; stop with Ctrl-C", a.env, a.data)
			a.runner().Serve(cmd.Context(), a.env, func(err error) { a.say("southbound: %v", err) })
			return nil
		}}
}
