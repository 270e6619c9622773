package modulecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/cli/actions"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/modtest"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
)

// testFlags are the flags of module test.
type testFlags struct {
	module  string
	run     string
	verbose bool
	install bool
	timeout time.Duration
}

// ModuleTester is module test: it runs the tests of a module.
type ModuleTester struct {
	*output.Console
	*home.Session
	Program *home.Program
}

// ModuleTest returns the command module test.
func (t *ModuleTester) ModuleTest() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use: "test [PATH...]", Short: "Run the tests of a module",
		Long: "test runs the tests in the folder tests of the module, or the named files and " +
			"folders. Tests are scripts (*.txtar) and Python tests (test_*.py), which pytest " +
			"runs with a fixture `project`. A script compiles a model with the module, checks " +
			"its resources and problems, and deploys them. The exit code is 3 if a test fails. " +
			"docs/language/testing.md shows examples.",
		Example: "  southbound module test\n  southbound module test tests/note.txtar --verbose\n" +
			"  southbound module test --module libs/net --run 'interface|route' --json",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := usage.NotNegative("module test", "timeout", f.timeout); err != nil {
				return err
			}
			return t.Within(cmd.Context(), f.timeout, func(ctx context.Context) error {
				return t.testModule(ctx, args, f)
			})
		},
	}
	cmd.Flags().StringVarP(&f.module, "module", "m", ".", "the folder of the module")
	cmd.Flags().StringVar(&f.run, "run", "", "only tests whose names match this regular expression")
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, "show the output of passed tests, too")
	cmd.Flags().BoolVar(&f.install, "install", false,
		"install pytest and the module's requirements into .env first")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this time with exit code 4")
	return cmd
}

// moduleTests is a run of tests of a module.
type moduleTests struct {
	*ModuleTester
	module *module.Module
	flags  testFlags
	match  *regexp.Regexp // nil: all
	paths  []string       // modulepath of the project around the module
	root   string         // the folder of that project, or that of the module
	env    string         // the virtual environment; "": there is none
	counts map[modtest.State]int
}

func (m *ModuleTester) testModule(ctx context.Context, args []string, f testFlags) error {
	t := &moduleTests{ModuleTester: m, flags: f, counts: map[modtest.State]int{}}
	if f.run != "" {
		var err error
		if t.match, err = regexp.Compile(f.run); err != nil {
			return fault.New(fault.Usage, "module test", "--run: %v", err)
		}
	}
	if err := t.open(); err != nil {
		return err
	}
	scripts, python, err := t.find(args)
	if err == nil && f.install {
		err = t.install(ctx)
	}
	if err != nil {
		return err
	}
	err = modtest.Run(ctx, modtest.Options{
		Files: scripts, Run: t.match, Module: t.module.Dir, Bench: t.bench, Done: t.done,
		Verbose: f.verbose,
	})
	if err == nil && len(python) > 0 {
		err = t.pytest(ctx, python)
	}
	if err != nil {
		return err
	}
	return t.end()
}

// open opens the module, and locates its requirements.
func (t *moduleTests) open() error {
	m, warnings, err := module.Open(t.flags.module)
	t.Warn(warnings)
	if err != nil {
		return err
	}
	if m.Dir, err = filepath.Abs(m.Dir); err != nil {
		return fault.Wrap(fault.Usage, "module test", err)
	}
	m.Code = filepath.Join(m.Dir, strings.TrimPrefix(filepath.ToSlash(m.Code),
		filepath.ToSlash(t.flags.module)))
	t.module = m
	enclosing, err := project.Around(m.Dir)
	if err != nil {
		return fault.Wrap(fault.Usage, "module test", err)
	}
	active := os.Getenv("VIRTUAL_ENV")
	if enclosing != "" {
		meta, _, err := project.ReadFile(enclosing)
		if err != nil {
			return err
		}
		t.paths = meta.Paths()
		active = project.Environment(enclosing, active)
	}
	t.root = cmp.Or(enclosing, m.Dir)
	if t.env = project.Environment(m.Dir, active); t.env != "" {
		t.env, err = filepath.Abs(t.env)
	}
	return fault.Wrap(fault.Usage, "module test", err)
}

// find returns the selected tests: scripts, and files in Python.
func (t *moduleTests) find(args []string) (scripts, python []string, err error) {
	if len(args) == 0 {
		args = []string{filepath.Join(t.flags.module, "tests")}
	}
	for _, arg := range args {
		before := len(scripts) + len(python)
		err := filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			name := filepath.Base(path)
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != arg &&
				(strings.HasPrefix(name, ".") || name == "__pycache__"):
				return fs.SkipDir
			case d.IsDir():
			case filepath.Ext(name) == ".txtar":
				scripts = append(scripts, path)
			case isPytest(name):
				python = append(python, path)
			}
			return nil
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fault.Wrap(fault.Usage, "find tests", err)
		}
		if len(scripts)+len(python) == before {
			return nil, nil, fault.New(fault.Invalid, "test the module", "there are no tests in %s",
				arg).
				WithHint("tests are scripts (*.txtar) and files in Python (test_*.py); " +
					"docs/language/testing.md shows how")
		}
	}
	return slices.Compact(scripts), slices.Compact(python), nil
}

// isPytest reports whether pytest collects tests from a file of this name.
func isPytest(name string) bool {
	return filepath.Ext(name) == ".py" &&
		(strings.HasPrefix(name, "test_") || strings.HasSuffix(name, "_test.py"))
}

// done reports the result of a test.
func (t *moduleTests) done(r modtest.Result) {
	a := t.Console
	t.counts[r.State]++
	switch {
	case a.JSON:
		a.Line(r)
	case r.State == modtest.Failed:
		at := r.File
		if r.Line > 0 {
			at = fmt.Sprintf("%s:%d", at, r.Line)
		}
		a.Printf("failed   %s: %s\n", at, actions.Indented(r.Error, "  "))
		if r.Log != "" {
			a.Printf("    %s\n", actions.Indented(r.Log, "    "))
		}
	default:
		a.Printf("%-8s %s (%.1f s)\n", r.State, r.File, float64(r.DurationMS)/1000)
		if log := r.Log; t.flags.verbose && log != "" {
			a.Printf("    %s\n", actions.Indented(log, "    "))
		}
	}
}

// end reports the number of tests.
func (t *moduleTests) end() error {
	a, n := t.Console, 0
	for _, count := range t.counts {
		n += count
	}
	if t.counts[modtest.Failed] > 0 {
		a.Code = output.Unhealthy
	}
	if n == 0 {
		return fault.New(fault.Invalid, "test the module", "no test has a name that matches %s",
			t.flags.run).WithHint("the names are those of files, such as page or tests/page.txtar, " +
			"and of functions in Python")
	}
	if a.JSON {
		a.Line(map[string]any{"summary": map[string]int{
			"passed": t.counts[modtest.Passed], "failed": t.counts[modtest.Failed],
			"skipped": t.counts[modtest.Skipped],
		}})
		return nil
	}
	a.Printf("%s: %d passed, %d failed, %d skipped\n", output.Plural(n, "test"), t.counts[modtest.Passed],
		t.counts[modtest.Failed], t.counts[modtest.Skipped])
	return nil
}
