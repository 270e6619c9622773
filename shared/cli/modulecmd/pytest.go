package modulecmd

import (
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"

	"southbound/shared/cli/parts"
	"southbound/shared/compile"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/modtest"
	"southbound/shared/lang/module"
	"southbound/shared/lang/python"
)

// install installs the requirements of tests in Python and of the module.
func (t *moduleTests) install(ctx context.Context) error {
	tool := (&Modules{Console: t.Console}).tool()
	tool.Dir = t.root
	if err := tool.InstallTests(ctx, t.module, t.env); err != nil {
		return err
	}
	return t.open()
}

// pytest runs tests in Python.
func (t *moduleTests) pytest(ctx context.Context, files []string) error {
	path, wrong := python.Find(cmp.Or(t.env, module.EnvDir))
	if wrong != "" {
		return fault.New(fault.Invalid, "test the module", "%s is a test in Python, and %s",
			files[0], wrong).
			WithHint("`southbound module test --install` installs the requirements")
	}
	dir, err := os.MkdirTemp("", "southbound-test-")
	if err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	defer os.RemoveAll(dir)
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	work := filepath.Join(dir, "project")
	if err := os.MkdirAll(filepath.Join(work, "libs"), 0o750); err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	made, err := t.bench(work)
	if err != nil {
		return err
	}
	defer made.Close()
	o := python.Options{Python: path, Dir: t.module.Dir, Print: t.print}
	if t.module.Generation == 2 {
		o.Path = []string{t.module.Dir}
	}
	host, err := python.Start(ctx, o)
	if err != nil {
		return err
	}
	defer host.Close()
	sub := made.(*bench).app
	sub.Docs.Host = host
	return t.python(ctx, host, sub, work, files)
}

// print copies the output of pytest, unless programs read the output.
func (t *moduleTests) print(text string) {
	if !t.JSON {
		_, _ = io.WriteString(t.Output(), text)
	}
}

// python runs tests in a host.
func (t *moduleTests) python(
	ctx context.Context, host *python.Host, sub *parts.Parts, work string, files []string,
) error {
	args := []string{"--rootdir", t.module.Dir, "-p", "no:inmanta"}
	if t.flags.verbose {
		args = append(args, "-v")
	}
	for _, file := range files {
		full, err := filepath.Abs(file)
		if err != nil {
			return fault.Wrap(fault.Usage, "module test", err)
		}
		args = append(args, full)
	}
	paths := append([]string{filepath.Join(work, "libs")}, t.paths...)
	if t.module.Generation == 1 {
		paths = append([]string{filepath.Dir(t.module.Dir)}, paths...)
	}
	var last *compile.Compiled
	code, err := host.Pytest(python.Tests{
		Args: args, Module: t.module.Name, Dir: t.module.Dir, Project: work, Paths: paths,
		Run: t.flags.run, Done: t.report,
		Compile: func() (*eval.Result, diag.Problems, error) {
			var err error
			if last, err = sub.Docs.Model(ctx, work, false, false); last == nil {
				return nil, nil, err
			}
			return last.Result, last.Warnings, err
		},
	})
	// exit codes of pytest: interrupted and above, and that there was no test
	const wrong, none = 2, 5
	if err == nil && code >= wrong && code != none && t.counts[modtest.Failed] == 0 {
		err = fault.New(fault.Invalid, "test the module", "pytest ends with %d", code)
	}
	return err
}

// report prints the result of a test in Python.
func (t *moduleTests) report(x python.Test) {
	r := modtest.Result{
		File: filepath.Join(t.flags.module, x.File), Name: x.Name, State: modtest.State(x.Outcome),
		DurationMS: x.Took.Milliseconds(),
	}
	if r.State != modtest.Passed {
		r.Line, r.Error, r.Log = x.Line, x.Why, x.Text
	}
	if t.JSON {
		t.done(r)
		return
	}
	t.counts[r.State]++ // pytest reports the result to people
}
