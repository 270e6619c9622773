package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"southbound/shared/fault"
	"southbound/shared/schema"
)

// The groups of commands in the help.
const (
	groupEveryday = "everyday"
	groupShow     = "show"
	groupAct      = "act"
	groupOther    = "other"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "southbound",
		Short: "Deploy desired state",
		Long: "Southbound deploys desired state: documents or models describe files, packages, " +
			"services, databases and objects behind APIs, and southbound creates, updates and " +
			"deletes the real things. It records every action.",
		Example: "  southbound apply examples/quickstart\n  southbound status\n" +
			"  southbound logs",
		SilenceErrors: true, SilenceUsage: true, Version: Version,
		Args: subcommand, RunE: help,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(a.stdin)
	root.SetOut(a.output())
	root.SetErr(a.err)
	f := root.PersistentFlags()
	f.BoolVar(&a.json, "json", false, "write JSON to standard output")
	f.Var((*filled)(&a.env), "environment",
		"environment (default: the last one applied, \"default\" for a PATH; SOUTHBOUND_ENVIRONMENT)")
	f.Var((*filled)(&a.data), "data",
		"data directory (default \".southbound\"; SOUTHBOUND_DATA)")
	f.Var((*filled)(&a.projectDir), "project",
		"directory of southbound.yaml, for commands without a PATH (default: found from the working directory)")
	f.Var((*filled)(&a.api), "api", "address of the HTTP API (SOUTHBOUND_API)")
	f.BoolVar(&a.quiet, "quiet", false, "no progress and no messages")
	f.BoolVar(&a.noColor, "no-color", false, "no colours")
	root.SetFlagErrorFunc(flagError)
	root.AddGroup(&cobra.Group{ID: groupEveryday, Title: "Describe and deploy:"},
		&cobra.Group{ID: groupShow, Title: "Inspect:"},
		&cobra.Group{ID: groupAct, Title: "Work on the released version:"},
		&cobra.Group{ID: groupOther, Title: "More:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	a.addCommands(root)
	(&completer{location: a.location, session: a.session}).completions(root)
	strictHelp(root)
	fitHelp(root)
	return root
}

// addCommands adds the commands, by group.
func (a *app) addCommands(root *cobra.Command) {
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	c, l, p, s, d := a.console, a.location, a.program, a.session, a.docs
	plans := &planFiles{console: c, location: l, session: s, program: p, docs: d}
	exports := &exporter{
		console: c, location: l, session: s, docs: d, plans: plans,
		waiter: a.waiter, waves: a.waves, results: a.results,
	}
	plan := &planner{console: c, location: l, session: s, docs: d, files: plans}
	add(groupEveryday, exports.exportCommands()...)
	add(groupEveryday, plan.planCommand(), plan.validateCommand())

	resources := &resourceCommands{console: c, location: l, session: s, docs: d, actions: a.actions}
	history := &history{console: c, location: l, session: s}
	types := &typeCommands{console: c, location: l, session: s, program: p}
	parameters := &parameterCommands{console: c, location: l, session: s}
	add(groupShow,
		(&statusCommands{console: c, location: l, session: s, results: a.results}).statusCommand(),
		(&agentCommands{console: c, location: l, session: s}).agentsCommand(),
		(&logCommands{console: c, location: l, session: s, actions: a.actions}).logsCommand(),
		resources.resourcesCommand(), resources.resourceCommand(),
		history.versionsCommand(), history.diffCommand(), history.showCommand(),
		history.environmentsCommand(), types.typesCommand(), types.typeCommand(),
	)
	add(groupShow, parameters.listCommands()...)

	work := &workCommands{
		console: c, location: l, session: s, waiter: a.waiter, waves: a.waves, results: a.results,
	}
	release := &releaser{console: c, location: l, session: s, waiter: a.waiter, results: a.results}
	upkeep := &upkeep{console: c, location: l, session: s}
	add(groupAct, work.commands()...)
	add(groupAct, (&switches{console: c, location: l, session: s}).commands()...)
	add(groupAct, release.releaseCommand(), upkeep.forgetCommand(),
		(&dryRunner{console: c, location: l, session: s, waves: a.waves}).dryRunCommand())

	scaffolds := &scaffolds{console: c, program: p}
	self := &programCommands{console: c, program: p}
	modules := &modules{console: c}
	tests := &moduleTester{console: c, session: s, program: p}
	add(groupOther,
		scaffolds.initCommand(), scaffolds.newCommand(), parameters.parameterCommand(),
		upkeep.gcCommand(), types.schemaCommand(),
		(&reports{console: c, docs: d}).reportCommand(),
		(&discovery{console: c, location: l, session: s}).discoverCommand(),
		(&homeServer{console: c, location: l, session: s, program: p,
			orders: a.orders}).runCommand(),
		(&agentRunner{console: c, location: l, program: p, docs: d, conns: s.conns}).agentCommand(),
		self.machineCommand(), self.versionCommand(), self.lspCommand(),
		(&formatter{console: c}).fmtCommand(), (&compiler{console: c, docs: d}).compileCommand(),
		modules.projectCommand(), modules.moduleCommand(tests.moduleTest()),
		(&pythonCommands{console: c, docs: d}).pythonCommand(), a.serviceCommand(),
	)
}

// strictHelp makes the library's help and completion commands reject unknown words, as our own
// commands do; by default they ignore them.
func strictHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Find(args)
				if err == nil {
					err = subcommand(about, rest)
				}
				if err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			c.Args, c.RunE = subcommand, help
			for _, shell := range c.Commands() {
				shell.Args = exactArgs(0, "nothing more")
			}
		}
	}
}

// help is the run function of commands that only have subcommands: it shows the subcommands.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// subcommand rejects an argument that is not a subcommand.
func subcommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	e := fault.New(fault.Usage, "", "%q is not a command of %s", args[0], cmd.CommandPath()).
		WithHint("`%s --help` lists them", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if similar := suggestion(cmd, args[0]); similar != "" {
		e = e.WithHint("did you mean `%s %s`?", cmd.CommandPath(), similar)
	}
	return e
}

// filled is the value of a flag that must not be empty. An empty value, such as that of an unset
// variable of a shell, would otherwise select another environment or another home.
type filled string

// String implements pflag.Value.
func (v *filled) String() string { return string(*v) }

// Type implements pflag.Value.
func (*filled) Type() string { return "string" }

// Set implements pflag.Value.
func (v *filled) Set(text string) error {
	if text == "" {
		return errors.New("it is empty")
	}
	*v = filled(text)
	return nil
}

// flagError converts an error about a flag into one of ours.
func flagError(cmd *cobra.Command, err error) error {
	hint, text := "", err.Error()
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if similar := schema.Nearest(unknown.GetSpecifiedName(), names); similar != "" {
			hint = "did you mean --" + similar + "?"
		}
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "duration":
		hint = "write a number with its unit, such as 30s or 5m"
	case errors.As(err, &invalid) && invalid.GetFlag().Value.Type() == "int":
		text = fmt.Sprintf("--%s: %q is not a whole number", invalid.GetFlag().Name,
			invalid.GetValue())
	case errors.As(err, &invalid) && invalid.GetValue() == "":
		text, hint = fmt.Sprintf("--%s has no value", invalid.GetFlag().Name),
			"write one, or leave the flag out"
	}
	e := fault.New(fault.Usage, words(cmd), "%s", text).WithHint("`%s --help` lists the flags",
		cmd.CommandPath())
	if hint != "" {
		e = e.WithHint("%s", hint)
	}
	return e
}

// words returns the words of a command without the name of the program.
func words(cmd *cobra.Command) string {
	_, rest, _ := strings.Cut(cmd.CommandPath(), " ")
	return rest
}

// exactArgs is cobra.ExactArgs with one of our errors.
func exactArgs(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return fault.New(fault.Usage, words(cmd), "expected %s, got %s", what,
				plural(len(args), "argument")).WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// atLeastOne is cobra.MinimumNArgs(1) with one of our errors.
func atLeastOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fault.New(fault.Usage, words(cmd), "expected %s, got nothing", what).
				WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// atMostOne is cobra.MaximumNArgs(1) with one of our errors.
func atMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return fault.New(fault.Usage, words(cmd), "expected at most %s, got %s", what,
				plural(len(args), "argument")).WithHint("see `%s --help`", cmd.CommandPath())
		}
		return nil
	}
}

// notNegative rejects a negative duration, which would otherwise mean no limit.
func notNegative(op, flag string, d time.Duration) error {
	if d < 0 {
		return fault.New(fault.Usage, op, "--%s is negative", flag).
			WithHint("write a number with its unit, such as 30s or 5m")
	}
	return nil
}

// after makes the run function of a command without a path: it opens the home, by app.open or
// app.openToRead, and then runs.
func after(
	open func(ctx context.Context, path string) error, run func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := open(cmd.Context(), ""); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}
