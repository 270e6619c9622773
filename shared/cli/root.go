package cli

import (
	"github.com/spf13/cobra"

	"southbound/shared/cli/exportcmd"
	"southbound/shared/cli/home"
	"southbound/shared/cli/modelcmd"
	"southbound/shared/cli/modulecmd"
	"southbound/shared/cli/parts"
	"southbound/shared/cli/programcmd"
	"southbound/shared/cli/providercmd"
	"southbound/shared/cli/servecmd"
	"southbound/shared/cli/servicecmd"
	"southbound/shared/cli/showcmd"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/workcmd"
)

// The groups of commands in the help.
const (
	groupEveryday = "everyday"
	groupShow     = "show"
	groupAct      = "act"
	groupOther    = "other"
)

// root returns the tree of commands.
func root(a *parts.Parts) *cobra.Command {
	root := &cobra.Command{
		Use:   "southbound",
		Short: "Deploy desired state",
		Long: "Southbound deploys desired state: documents or models describe files, packages, " +
			"services, databases and objects behind APIs, and southbound creates, updates and " +
			"deletes the real things. It records every action.",
		Example: "  southbound apply examples/quickstart\n  southbound status\n" +
			"  southbound logs",
		SilenceErrors: true, SilenceUsage: true, Version: home.Version,
		Args: usage.Subcommand, RunE: usage.Help,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(a.Stdin)
	root.SetOut(a.Output())
	root.SetErr(a.Err)
	f := root.PersistentFlags()
	f.BoolVar(&a.JSON, "json", false, "write JSON to standard output")
	f.Var((*usage.Filled)(&a.Env), "environment",
		"environment (default: the last one applied, \"default\" for a PATH; SOUTHBOUND_ENVIRONMENT)")
	f.Var((*usage.Filled)(&a.Data), "data",
		"data directory (default \".southbound\"; SOUTHBOUND_DATA)")
	f.Var((*usage.Filled)(&a.ProjectDir), "project",
		"directory of southbound.yaml, for commands without a PATH (default: found from the working directory)")
	f.Var((*usage.Filled)(&a.API), "api", "address of the HTTP API (SOUTHBOUND_API)")
	f.BoolVar(&a.Quiet, "quiet", false, "no progress and no messages")
	f.BoolVar(&a.NoColor, "no-color", false, "no colours")
	root.SetFlagErrorFunc(usage.FlagError)
	root.AddGroup(&cobra.Group{ID: groupEveryday, Title: "Describe and deploy:"},
		&cobra.Group{ID: groupShow, Title: "Inspect:"},
		&cobra.Group{ID: groupAct, Title: "Work on the released version:"},
		&cobra.Group{ID: groupOther, Title: "More:"})
	root.SetHelpCommandGroupID(groupOther)
	root.SetCompletionCommandGroupID(groupOther)
	addCommands(a, root)
	(&completer{Location: a.Location, Session: a.Session}).completions(root)
	strictHelp(root)
	usage.FitHelp(root)
	return root
}

// addCommands adds the commands, by group.
func addCommands(a *parts.Parts, root *cobra.Command) {
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	c, l, p, s, d := a.Console, a.Location, a.Program, a.Session, a.Docs
	plans := &exportcmd.PlanFiles{Console: c, Location: l, Session: s, Program: p, Docs: d}
	exports := &exportcmd.Exporter{
		Console: c, Location: l, Session: s, Docs: d, Plans: plans,
		Waiter: a.Waiter, Waves: a.Waves, Results: a.Results,
	}
	plan := &exportcmd.Planner{Console: c, Location: l, Session: s, Docs: d, Files: plans}
	add(groupEveryday, exports.ExportCommands()...)
	add(groupEveryday, plan.PlanCommand(), plan.ValidateCommand())

	resources := &showcmd.ResourceCommands{Console: c, Location: l, Session: s, Docs: d, Actions: a.Actions}
	find := &showcmd.Finder{Console: c, Location: l, Session: s}
	history := &showcmd.History{Console: c, Location: l, Session: s}
	types := &programcmd.TypeCommands{Console: c, Location: l, Session: s, Program: p}
	parameters := &showcmd.ParameterCommands{Console: c, Location: l, Session: s}
	add(groupShow,
		(&showcmd.StatusCommands{Console: c, Location: l, Session: s, Results: a.Results}).StatusCommand(),
		(&showcmd.AgentCommands{Console: c, Location: l, Session: s}).AgentsCommand(),
		(&showcmd.LogCommands{Console: c, Location: l, Session: s, Actions: a.Actions}).LogsCommand(),
		resources.ResourcesCommand(), resources.ResourceCommand(),
		history.VersionsCommand(), history.DiffCommand(), history.ShowCommand(),
		history.EnvironmentsCommand(),
		find.SearchCommand(), find.GraphCommand(),
		(&showcmd.Audits{Console: c, Location: l, Session: s}).AuditCommand(),
		types.TypesCommand(), types.TypeCommand(),
	)
	add(groupShow, parameters.ListCommands()...)

	work := &workcmd.WorkCommands{
		Console: c, Location: l, Session: s, Waiter: a.Waiter, Waves: a.Waves, Results: a.Results,
	}
	release := &workcmd.Releaser{Console: c, Location: l, Session: s, Waiter: a.Waiter, Results: a.Results}
	upkeep := &workcmd.Upkeep{Console: c, Location: l, Session: s}
	add(groupAct, work.Commands()...)
	add(groupAct, (&workcmd.Switches{Console: c, Location: l, Session: s}).Commands()...)
	add(groupAct, release.ReleaseCommand(), upkeep.ForgetCommand(),
		(&workcmd.StateCommands{Console: c, Location: l, Session: s}).StateCommand(),
		(&workcmd.DryRunner{Console: c, Location: l, Session: s, Waves: a.Waves}).DryRunCommand())

	scaffolds := &programcmd.Scaffolds{Console: c, Program: p}
	self := &programcmd.ProgramCommands{Console: c, Program: p}
	modules := &modulecmd.Modules{Console: c}
	tests := &modulecmd.ModuleTester{Console: c, Session: s, Program: p}
	server := &servecmd.HomeServer{Console: c, Location: l, Session: s, Program: p, Orders: a.Orders}
	add(groupOther,
		scaffolds.InitCommand(), scaffolds.NewCommand(), parameters.ParameterCommand(),
		upkeep.GCCommand(), types.SchemaCommand(),
		(&modelcmd.Reports{Console: c, Docs: d}).ReportCommand(),
		(&showcmd.Discovery{Console: c, Location: l, Session: s, Program: p}).DiscoverCommand(),
		server.RunCommand(), server.ConsoleCommand(),
		(&servecmd.AgentRunner{Console: c, Location: l, Program: p, Docs: d, Conns: s.Conns}).AgentCommand(),
		self.MachineCommand(), self.VersionCommand(), self.LSPCommand(),
		(&modelcmd.Formatter{Console: c}).FmtCommand(), (&modelcmd.Compiler{Console: c, Docs: d}).CompileCommand(),
		(&providercmd.Commands{Console: c, Location: l, Program: p, Session: s}).ProviderCommand(),
		modules.ProjectCommand(), modules.ModuleCommand(tests.ModuleTest()),
		(&modulecmd.Python{Console: c, Docs: d}).PythonCommand(), servicecmd.ServiceCommand(a),
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
					err = usage.Subcommand(about, rest)
				}
				if err != nil {
					return err
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			c.Args, c.RunE = usage.Subcommand, usage.Help
			for _, shell := range c.Commands() {
				shell.Args = usage.ExactArgs(0, "nothing more")
			}
		}
	}
}
