package cli

import (
	"github.com/spf13/cobra"
)

// The groups of commands in the help.
const (
	groupEveryday = "everyday"
	groupShow     = "show"
	groupAct      = "act"
	groupOther    = "other"
)

// root returns the tree of commands.
func root(a *app) *cobra.Command {
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
	addCommands(a, root)
	(&completer{location: a.location, session: a.session}).completions(root)
	strictHelp(root)
	fitHelp(root)
	return root
}

// addCommands adds the commands, by group.
func addCommands(a *app, root *cobra.Command) {
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
		(&pythonCommands{console: c, docs: d}).pythonCommand(), serviceCommand(a),
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
