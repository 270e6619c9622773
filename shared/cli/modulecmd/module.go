// Package modulecmd has the commands that manage and test the modules of models.
package modulecmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/modtool"
	"southbound/shared/lang/module"
)

// Modules makes, installs and releases modules and projects.
type Modules struct{ *output.Console }

// tool returns the tool for the project or module in the working directory.
func (ms *Modules) tool() *modtool.Tool { return input.Tool(ms.Console) }

// ModuleCommand returns the command module with its subcommands.
func (ms *Modules) ModuleCommand(test *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: "module", Aliases: []string{"modules"},
		Short: "Create, list, verify, build and release modules",
		Long: "module works on the module in the working directory, or on the modules that the " +
			"project there imports. docs/language/modules.md shows examples.",
		Example: "  southbound module create net\n  southbound module list\n" +
			"  southbound module build",
		Args: usage.Subcommand, RunE: usage.Help,
	}
	cmd.AddCommand(
		ms.moduleCreate(),
		ms.moduleAdd(),
		ms.moduleList(),
		ms.moduleInstall(),
		ms.moduleUpdate(),
		ms.moduleEach(
			"status",
			"Show uncommitted changes of modules",
			ms.moduleStatus,
		),
		ms.moduleEach(
			"push",
			"Push commits and tags of modules",
			modulePush,
		),
		ms.moduleVerify(),
		ms.freezeCommand("module"),
		ms.moduleBuild(),
		ms.moduleCommit(),
		ms.moduleRelease(),
		ms.moduleConvert(),
		ms.moduleDownload(),
		test,
	)
	return cmd
}

func (ms *Modules) moduleCreate() *cobra.Command {
	var v1, v2 bool
	var template string
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Create a module in a new folder",
		Long: "create writes a module V2 into a folder of its name. With --v1 it writes a V1 " +
			"module into the last folder of the project's modulepath. --template takes the " +
			"files of a git repository and replaces {{ name }} and {{ package }} in them.",
		Example: "  southbound module create net\n  southbound module create --v1 site",
		Args:    usage.ExactArgs(1, "one name"), RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := ms.tool().CreateModule(cmd.Context(), args[0], v1, template)
			if err != nil {
				return err
			}
			ms.Say("the module %s is in %s", args[0], dir)
			return nil
		},
	}
	cmd.Flags().BoolVar(&v1, "v1", false, "of the first kind, in the modulepath of the project")
	cmd.Flags().BoolVar(&v2, "v2", false, "a package (the default)")
	cmd.MarkFlagsMutuallyExclusive("v1", "v2")
	cmd.Flags().
		StringVar(&template, "template", "", "a git repository with the files to begin with")
	return cmd
}

func (ms *Modules) moduleAdd() *cobra.Command {
	var v1, v2, override, only bool
	cmd := &cobra.Command{
		Use: "add REQUIREMENT", Short: "Add a required module; a project installs it",
		Example: "  southbound module add 'net ~=1.0'\n  southbound module add --override net",
		Args: usage.ExactArgs(
			1,
			"one module, perhaps with constraints",
		), RunE: func(cmd *cobra.Command, args []string) error {
			return ms.tool().Add(cmd.Context(), args[0], override, v1, !only)
		},
	}
	cmd.Flags().
		BoolVar(&v1, "v1", false,
			"into requires of project.yml or module.yml, for a module from git")
	cmd.Flags().BoolVar(&v2, "v2", false, "as a package (the default)")
	cmd.Flags().
		BoolVar(&override, "override", false,
			"another constraint for a module that is there already")
	cmd.Flags().BoolVar(&only, "no-install", false, "install nothing")
	cmd.MarkFlagsMutuallyExclusive("v1", "v2")
	return cmd
}

func (ms *Modules) moduleList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List imported modules",
		Example: "  southbound module list --json",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: func(*cobra.Command, []string) error {
			all, err := ms.tool().List()
			if err != nil {
				return err
			}
			if ms.JSON {
				for _, l := range all {
					ms.Line(l)
				}
				return nil
			}
			w := tabwriter.NewWriter(ms.Output(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tTYPE\tEDITABLE\tINSTALLED VERSION\tEXPECTED IN PROJECT\tMATCHES")
			yes := map[bool]string{true: "yes", false: "no"}
			for _, l := range all {
				fmt.Fprintln(w, strings.Join([]string{
					l.Name, cmp.Or(l.Type, "-"), yes[l.Editable], cmp.Or(l.Installed, "-"),
					l.Expected, yes[l.Matches],
				}, "\t"))
			}
			return fault.Wrap(fault.Unavailable, "write to standard output", w.Flush())
		},
	}
}

func (ms *Modules) moduleInstall() *cobra.Command {
	var editable bool
	cmd := &cobra.Command{
		Use: "install [PATH]", Short: "Install a module from a folder into .env",
		Example: "  southbound module install -e ../net",
		Args:    usage.AtMostOne("one folder"), RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return ms.tool().InstallModule(cmd.Context(), path, editable)
		},
	}
	cmd.Flags().
		BoolVarP(&editable, "editable", "e", false, "use the folder itself, so that changes apply immediately")
	return cmd
}

func (ms *Modules) moduleUpdate() *cobra.Command {
	return ms.installCommand(
		"module",
		"update",
		"Update modules to the highest compatible versions",
		true,
	)
}

// moduleEach is a command for all modules of the project, or for one.
func (ms *Modules) moduleEach(
	name, short string, do func(ctx context.Context, t *modtool.Tool, m *module.Module) error,
) *cobra.Command {
	only := ""
	cmd := &cobra.Command{
		Use: name, Short: short, Example: "  southbound module " + name + "\n  southbound module " +
			name + " -m net",
		Args: usage.ExactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			t := ms.tool()
			return t.EachClone(
				cmd.Context(),
				only,
				func(ctx context.Context, m *module.Module) error {
					return do(ctx, t, m)
				},
			)
		},
	}
	cmd.Flags().StringVarP(&only, "module", "m", "", "this module only")
	return cmd
}

func (ms *Modules) moduleStatus(ctx context.Context, _ *modtool.Tool, m *module.Module) error {
	text, err := modtool.Status(ctx, m)
	if err != nil || text == "" {
		return err
	}
	if ms.JSON {
		ms.Line(map[string]any{"name": m.Name, "path": m.Dir, "changed": strings.Split(text, "\n")})
		return nil
	}
	ms.Printf("%s (%s)\n  %s\n", m.Name, m.Dir, strings.ReplaceAll(text, "\n", "\n  "))
	return nil
}

func modulePush(ctx context.Context, t *modtool.Tool, m *module.Module) error {
	return t.Push(ctx, m)
}

func (ms *Modules) moduleVerify() *cobra.Command {
	return &cobra.Command{
		Use: "verify", Short: "Check that modules are installed in compatible versions",
		Example: "  southbound module verify", Args: usage.ExactArgs(0, "nothing more"),
		RunE: func(*cobra.Command, []string) error { return ms.tool().Verify() },
	}
}

func (ms *Modules) moduleBuild() *cobra.Command {
	var o modtool.BuildOptions
	cmd := &cobra.Command{
		Use: "build [PATH]", Short: "Build a wheel and a source distribution",
		Example: "  southbound module build\n  southbound module build net --dev --wheel -o " +
			"packages",
		Args: usage.AtMostOne("one folder"), RunE: func(_ *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			files, err := ms.tool().Build(path, o)
			if err == nil && ms.JSON {
				ms.Line(map[string]any{"files": files})
			}
			return err
		},
	}
	cmd.Flags().
		StringVarP(&o.Output, "output-dir", "o", "",
			"output directory (default: dist in the module's folder)")
	cmd.Flags().BoolVar(&o.Dev, "dev", false, "a development build, with the time in its version")
	cmd.Flags().BoolVarP(&o.Wheel, "wheel", "w", false, "a wheel only")
	cmd.Flags().BoolVarP(&o.Sdist, "sdist", "s", false, "a source distribution only")
	return cmd
}

// bumpFlags adds the flags that choose which number of a version is raised.
func bumpFlags(cmd *cobra.Command) func() modtool.Bump {
	names := []string{"", "major", "minor", "patch", "revision"}
	set := make([]bool, len(names))
	for i, name := range names[1:] {
		cmd.Flags().BoolVar(&set[i+1], name, false, "raise this number of the version")
	}
	cmd.MarkFlagsMutuallyExclusive(names[1:]...)
	return func() modtool.Bump {
		for i, on := range set {
			if on {
				return modtool.Bump(i)
			}
		}
		return modtool.NoBump
	}
}

func (ms *Modules) moduleCommit() *cobra.Command {
	var o modtool.CommitOptions
	cmd := &cobra.Command{
		Use:   "commit -m MESSAGE",
		Short: "Commit staged changes as the next version",
		Long: "commit writes the next version into the module and commits it with the staged " +
			"changes: a development release, or with --release a tagged release. `module " +
			"release` also keeps the changelog and starts the next version.",
		Example: "  southbound module commit -m \"First commit\"\n" +
			"  southbound module commit -r -m \"First Release\" -v 1.0.1",
		Args: usage.ExactArgs(0, "nothing more"),
	}
	bump := bumpFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.Bump = bump()
		return ms.tool().Commit(cmd.Context(), o)
	}
	cmd.Flags().StringVarP(&o.Message, "message", "m", "", "message of the commit")
	cmd.Flags().BoolVarP(&o.Release, "release", "r", false, "a release, not a development release")
	cmd.Flags().StringVarP(&o.Version, "version", "v", "", "this version")
	cmd.Flags().
		BoolVarP(&o.All, "all", "a", false, "commit all changes, not only staged ones")
	cmd.Flags().BoolVarP(&o.Tag, "tag", "t", false, "tag a development release, too")
	cmd.Flags().BoolVarP(&o.NoTag, "no-tag", "n", false, "no tag")
	return cmd
}

func (ms *Modules) moduleRelease() *cobra.Command {
	var o modtool.ReleaseOptions
	cmd := &cobra.Command{
		Use: "release", Short: "Commit and tag a release",
		Long: "release writes the version without its tag into the module, dates its section of " +
			"CHANGELOG.md, commits both, tags the commit with that section, and commits the " +
			"next development version. With --dev it makes only a development version, at the " +
			"distance that --revision, --patch, --minor or --major give. It pushes nothing.",
		Example: "  southbound module release\n  southbound module release --dev --minor -c " +
			"\"Hosts have two names\"",
		Args: usage.ExactArgs(0, "nothing more"),
	}
	bump := bumpFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		o.Bump = bump()
		return ms.tool().Release(cmd.Context(), o)
	}
	cmd.Flags().BoolVar(&o.Dev, "dev", false, "a development version only")
	cmd.Flags().StringVarP(&o.Message, "message", "m", "", "message of the commit")
	cmd.Flags().StringVarP(&o.Changelog, "changelog-message", "c", "", "a line for CHANGELOG.md")
	cmd.Flags().BoolVarP(&o.All, "all", "a", false, "commit all changes")
	return cmd
}

func (ms *Modules) moduleConvert() *cobra.Command {
	return &cobra.Command{
		Use: "v1tov2", Short: "Convert a V1 module to V2 in place",
		Example: "  southbound module v1tov2", Args: usage.ExactArgs(0, "nothing more"),
		RunE: func(*cobra.Command, []string) error { return ms.tool().Convert(".") },
	}
}

// ProjectCommand returns the command project with its subcommands.
func (ms *Modules) ProjectCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "project", Short: "Create a project; install, update and freeze modules",
		Example: "  southbound project init site\n  southbound project install", Args: usage.Subcommand,
		RunE: usage.Help,
	}
	cmd.AddCommand(
		ms.projectInit(),
		ms.freezeCommand("project"),
		ms.installCommand(
			"project",
			"install",
			"Install missing modules and packages",
			false,
		),
		ms.installCommand(
			"project",
			"update",
			"Update modules to the highest compatible versions",
			true,
		),
		ms.projectDownload(),
	)
	return cmd
}

func (ms *Modules) projectInit() *cobra.Command {
	var name, in string
	var plain bool
	cmd := &cobra.Command{
		Use: "init [NAME]", Short: "Create a project in a new folder",
		Example: "  southbound project init site\n" +
			"  southbound project init --name site --output-dir projects",
		Args: usage.AtMostOne("one name"), RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				name = args[0]
			}
			dir, err := ms.tool().CreateProject(in, name)
			if err != nil {
				return err
			}
			dir = filepath.Clean(dir)
			if ms.JSON {
				ms.Line(map[string]string{"name": name, "path": dir})
				return nil
			}
			ms.Say("the project %s is in %s", name, dir)
			return nil
		},
	}
	cmd.Flags().StringVarP(&name, "name", "n", "", "of the project")
	cmd.Flags().StringVarP(&in, "output-dir", "o", ".", "where its folder is made")
	cmd.Flags().BoolVar(&plain, "default", false, "ask nothing; nothing is asked anyhow")
	return cmd
}

func (ms *Modules) installCommand(of, name, short string, update bool) *cobra.Command {
	var strict, lax bool
	o := modtool.InstallOptions{Update: update}
	cmd := &cobra.Command{
		Use: name, Short: short,
		Long: short + ".\nV2 modules are packages: pip, or uv if it is installed, installs them from the " +
			"index into .env. V1 modules come from git into downloadpath. Models without " +
			"Python code need no Python. Uncommitted changes in a module stay as they are.",
		Example: "  southbound " + of + " " + name + "\n  southbound " + of + " " + name +
			" --no-python",
		Args: usage.ExactArgs(0, "nothing more"), RunE: func(cmd *cobra.Command, _ []string) error {
			if strict || lax {
				o.StrictDeps = &strict
			}
			return ms.tool().Install(cmd.Context(), o)
		},
	}
	cmd.Flags().
		BoolVar(&strict, "strict-deps-check", false, "unmet requirements between modules are errors")
	cmd.Flags().
		BoolVar(&lax, "no-strict-deps-check", false, "unmet requirements between modules are warnings")
	cmd.Flags().
		BoolVar(&o.NoPython, "no-python", false,
			"install models only, without packages that their Python code needs")
	cmd.MarkFlagsMutuallyExclusive("strict-deps-check", "no-strict-deps-check")
	return cmd
}

// freezeCommand makes the command freeze of a project or of a module.
func (ms *Modules) freezeCommand(of string) *cobra.Command {
	var out, operator, name string
	var recursive bool
	file := map[string]string{"project": "project.yml", "module": "module.yml"}[of]
	cmd := &cobra.Command{
		Use: "freeze", Short: "Write the installed versions into " + file,
		Example: "  southbound " + of + " freeze --recursive --operator ==",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch operator {
			case "", "==", "~=", ">=":
			default:
				return fault.New(
					fault.Usage,
					"freeze versions",
					"--operator is %s, expected ==, ~= or >=",
					operator,
				)
			}
			var deep *bool
			if cmd.Flags().Changed("recursive") {
				deep = &recursive
			}
			path, text, err := ms.tool().Freeze(name, deep, operator)
			if err != nil {
				return err
			}
			if out == "-" {
				_, err := ms.Output().Write(text)
				return fault.Wrap(fault.Unavailable, "write to standard output", err)
			}
			if out != "" {
				path = out
			}
			return modtool.Replace(path, text)
		},
	}
	cmd.Flags().StringVarP(&out, "outfile", "o", "", "where to; - for standard output")
	cmd.Flags().BoolVarP(&recursive, "recursive", "r", false, "include modules that modules import")
	cmd.Flags().StringVar(&operator, "operator", "", "==, ~= or >= (default: from "+file+")")
	if of == "module" {
		cmd.Flags().StringVarP(&name, "module", "m", "", "this module of the project")
	}
	return cmd
}
