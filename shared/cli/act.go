package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/source"
)

func (a *app) actCommands() []*cobra.Command {
	return []*cobra.Command{
		a.releaseCommand(), a.forgetCommand(),
		a.workCommand("deploy", "Deploy what is released and unfinished",
			"  southbound deploy\n  southbound deploy --retry-failed\n  southbound deploy 'fs::File[web1,*'\n  southbound deploy agent=web1 --no-wait"),
		a.workCommand("repair", "Check everything against reality and set it right", "  southbound repair\n  southbound repair agent=web1"),
		a.dryRunCommand(),
		a.switchCommand("pause AGENT", "Stop claims of an agent; what runs is finished", "  southbound pause web1", exactArgs(1, "one agent"),
			func(ctx context.Context, args []string) error { return a.pause(ctx, args[0]) }),
		a.switchCommand("resume AGENT", "Let a paused agent go on", "  southbound resume web1", exactArgs(1, "one agent"),
			func(ctx context.Context, args []string) error { return a.home.Pause(ctx, a.env, false, args...) }),
		a.switchCommand("halt", "Stop all claims of the environment", "  southbound halt", exactArgs(0, "nothing more"),
			func(ctx context.Context, _ []string) error { return a.home.Halt(ctx, a.env, true) }),
		a.switchCommand("unhalt", "Let a halted environment go on", "  southbound unhalt", exactArgs(0, "nothing more"),
			func(ctx context.Context, _ []string) error { return a.home.Halt(ctx, a.env, false) }),
	}
}

func (a *app) otherCommands() []*cobra.Command {
	return []*cobra.Command{
		a.initCommand(), a.parameterCommand(), a.newCommand(), a.gcCommand(), a.schemaCommand(), a.runCommand(), a.reportCommand(), a.agentCommand(), a.discoverCommand(),
		a.machineCommand(), a.fmtCommand(), a.compileCommand(), a.lspCommand(), a.versionCommand(),
		a.projectCommand(), a.moduleCommand(), a.serviceCommand(),
	}
}

// switchCommand makes a command that stops claims or lets them go on: pause, resume, halt, unhalt.
func (a *app) switchCommand(use, short, example string, args cobra.PositionalArgs, do func(ctx context.Context, args []string) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Example: example, Args: args, RunE: after(a.open, func(ctx context.Context, args []string) error {
		if err := do(ctx, args); err != nil {
			return err
		}
		name, _, _ := strings.Cut(use, " ")
		if a.json {
			a.line(struct {
				Environment string `json:"environment"`
				Done        string `json:"done"`
			}{a.env, name})
		} else {
			a.printf("%s: done\n", name)
		}
		return nil
	})}
}

// pause pauses an agent. The agent may be one that no version has yet.
func (a *app) pause(ctx context.Context, agent string) error {
	agents, err := a.home.Agents(ctx, a.env)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(agents, func(g api.Agent) bool { return g.Name == agent && g.Transport != "" }) {
		a.say("no version names the agent %q so far; it is paused from the first one on that does", agent)
	}
	return a.home.Pause(ctx, a.env, true, agent)
}

// workFlags are the flags of deploy and repair.
type workFlags struct {
	noWait, retry bool
	timeout       time.Duration
	waves         waveFlags
}

// workCommand makes the command deploy or repair.
func (a *app) workCommand(name, short, example string) *cobra.Command {
	var f workFlags
	cmd := &cobra.Command{
		Use: name + " [FILTER]", Short: short, Example: example,
		Long: short + ". It waits, unless --no-wait. " + filterHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := state.ParseFilter(args); err != nil {
				return err
			}
			if err := notNegative(name, "timeout", f.timeout); err != nil {
				return err
			}
			if f.noWait && f.waves.set() {
				return fault.New(fault.Usage, name, "waves are waited for").WithHint("leave out --no-wait, or --batch and --max-parallel")
			}
			if _, err := f.waves.waves(nil); err != nil {
				return err
			}
			return a.work(cmd.Context(), api.Work{Filter: args, Repair: name == "repair", RetryFailed: f.retry}, f)
		},
	}
	f.waves.add(cmd.Flags())
	cmd.Flags().BoolVar(&f.noWait, "no-wait", false, "only schedule it")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop waiting after this long, with exit code 4")
	if name == "deploy" {
		cmd.Flags().BoolVar(&f.retry, "retry-failed", false, "include what failed and waits for its time, for a new intent or for a person")
	}
	return cmd
}

// work schedules work on what is released and, unless told otherwise, waits for it.
func (a *app) work(ctx context.Context, work api.Work, f workFlags) error {
	return a.within(ctx, f.timeout, func(ctx context.Context) error { return a.workNow(ctx, work, f) })
}

func (a *app) workNow(ctx context.Context, work api.Work, f workFlags) error {
	began := time.Now()
	if err := a.openExisting(ctx); err != nil {
		return err
	}
	of, err := a.mark(ctx)
	if err != nil {
		return a.interrupted(err)
	}
	of.filter = matching(work.Filter)
	if f.waves.set() {
		return a.inWaves(ctx, work, f, of, began)
	}
	n, err := a.home.Schedule(ctx, a.env, work)
	if err != nil {
		return a.interrupted(err)
	}
	if n == 0 && len(work.Filter) > 0 {
		a.say("nothing that matches is to be done")
	}
	if f.noWait {
		if a.json {
			a.line(map[string]any{"environment": a.env, "scheduled": n})
		} else {
			a.printf("%s scheduled\n", plural(n, "resource"))
		}
		return nil
	}
	done, err := a.wait(ctx, of)
	if err != nil {
		return a.interrupted(err)
	}
	return a.worked(ctx, work.Filter, done, began)
}

// worked writes what came of deploy or repair of what the terms of a filter select.
func (a *app) worked(ctx context.Context, terms []string, done waited, began time.Time) error {
	p := done.Progress
	if p.Released == 0 && !a.json {
		a.printf("environment %s: nothing is released yet; `southbound apply PATH` starts\n", a.env)
		return nil
	}
	r := api.Report{Environment: a.env, Version: p.Released, Resources: total(p), Unchanged: total(p), Repaired: done.Did.fixed, Counts: p.ByStatus(),
		DurationMS: time.Since(began).Milliseconds()}
	var err error
	if done.Scope, err = a.scopeOf(ctx, terms); err != nil {
		return err
	}
	if s := done.Scope; s != nil {
		r.Resources, r.Unchanged, r.Counts = s.total, s.total, s.counts
	}
	r.Tell(done.Did.changes)
	return a.summary(ctx, r, done, false)
}

// total counts the resources that are wanted.
func total(p api.Progress) int {
	n := 0
	for s, c := range p.Counts {
		if s != state.StatusOrphaned {
			n += c
		}
	}
	return n
}

func (a *app) dryRunCommand() *cobra.Command {
	var noWait, exitCode bool
	var waves waveFlags
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "dryrun [VERSION] [FILTER]", Short: "Compare a version with reality and change nothing",
		Long: "dryrun reads what a version describes, the released one unless another is named, and says what a repair would change.\n" +
			filterHelp,
		Example: "  southbound dryrun\n  southbound dryrun agent=web1\n  southbound dryrun 12 --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			number, terms, err := versionAndFilter(args)
			if err != nil {
				return err
			}
			if _, err := waves.waves(nil); err != nil {
				return err
			}
			if noWait {
				return fault.New(fault.Unsupported, "dryrun", "a dry run is made while the command waits").WithHint("leave out --no-wait")
			}
			if err := notNegative("dryrun", "timeout", timeout); err != nil {
				return err
			}
			return a.within(cmd.Context(), timeout, func(ctx context.Context) error {
				return a.dryRunNow(ctx, number, terms, waves, exitCode)
			})
		},
	}
	a.fullFlag(cmd)
	waves.add(cmd.Flags())
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "end after this long, with exit code 4")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "only ask for it (not in this program)")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 5 when something would change")
	return cmd
}

func (a *app) parameterCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "parameter", Short: "Set, get or delete a parameter, or see what became of it", Args: subcommand, RunE: help,
		Example: "  southbound parameter set domain example.org\n  southbound parameter get domain\n  southbound parameter delete domain\n  southbound parameter history domain"}
	cmd.AddCommand(
		&cobra.Command{Use: "set NAME VALUE", Short: "Set a parameter", Example: "  southbound parameter set domain example.org",
			Long: "set gives a parameter a value. What was undefined without it is deployed next; what had another value keeps it until the next export.",
			Args: exactArgs(2, "a name and a value"), RunE: after(a.open, a.setParameter)},
		&cobra.Command{Use: "get NAME", Short: "Print a parameter", Example: "  southbound parameter get domain", Args: exactArgs(1, "a name"),
			RunE: a.reading(a.getParameter)},
		&cobra.Command{Use: "delete NAME", Short: "Delete a parameter", Example: "  southbound parameter delete domain", Args: exactArgs(1, "a name"),
			RunE: a.reading(a.deleteParameter)},
		&cobra.Command{Use: "history NAME", Short: "Tell what a parameter was, and when it was set or deleted", Example: "  southbound parameter history domain",
			Long: "The newest first, as far back as actions are kept.", Args: exactArgs(1, "a name"), RunE: a.reading(a.parameterHistory)},
	)
	return cmd
}

func (a *app) getParameter(ctx context.Context, args []string) error {
	p, err := a.home.Parameter(ctx, a.env, args[0])
	if err != nil {
		return err
	}
	if a.json {
		a.line(p)
	} else {
		a.printf("%s\n", []byte(p.Value)) // to the letter: scripts take it
	}
	return nil
}

func (a *app) deleteParameter(ctx context.Context, args []string) error {
	p, err := a.home.Parameter(ctx, a.env, args[0])
	if err != nil {
		return err
	}
	if err := a.home.DeleteParameter(ctx, a.env, args[0]); err != nil {
		return err
	}
	if a.json {
		a.line(p)
	}
	return nil
}

func (a *app) parameterHistory(ctx context.Context, args []string) error {
	changes, err := a.home.ParameterHistory(ctx, a.env, args[0])
	if err != nil {
		return err
	}
	for i := range changes {
		p := &changes[i]
		switch {
		case a.json:
			a.line(struct {
				state.Parameter
				Gone bool `json:"gone"`
			}{p.Parameter, p.Gone})
		case p.Gone:
			a.printf("%s  deleted\n", p.Updated.UTC().Format(time.RFC3339))
		default:
			a.printf("%s  %s = %s\n", p.Updated.UTC().Format(time.RFC3339), p.Name, p.Value)
		}
	}
	if len(changes) == 0 {
		a.none("change of that parameter is known", true)
	}
	return nil
}

func (a *app) setParameter(ctx context.Context, args []string) error {
	p, err := a.home.SetParameter(ctx, a.env, args[0], args[1])
	if err == nil && a.json {
		a.line(p)
	}
	return err
}

func (a *app) gcCommand() *cobra.Command {
	var grace time.Duration
	cmd := &cobra.Command{Use: "gc", Short: "Remove old versions, actions and unused files", Example: "  southbound gc\n  southbound gc --grace 1h",
		Args: exactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if err := notNegative("gc", "grace", grace); err != nil {
				return err
			}
			if err := a.openExisting(cmd.Context()); err != nil {
				return err
			}
			// None is said by the shortest there is: 0 stands for the default.
			out, err := a.home.Collect(cmd.Context(), a.env, max(grace, time.Millisecond))
			if err != nil {
				return err
			}
			if a.json {
				a.line(out)
			} else {
				a.printf("removed %s, %s, %s\n", plural(out.Versions, "version"), plural(out.Actions, "action"), plural(out.Files, "file"))
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
			a.printf("%s", b)
			return err
		}}
}
