package modtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/resource"
)

// Bench is a project with an environment of its own, which a script works on.
type Bench interface {
	// Compile compiles the model, which later calls of DryRun and Deploy are about. What is wrong
	// with it are diag.Problems. What the model printed is there in either case.
	Compile(ctx context.Context) (*Compiled, error)
	// DryRun compares what a filter selects with reality.
	DryRun(ctx context.Context, filter []string) (*Ran, error)
	// Deploy deploys what a filter selects, also what has not changed.
	Deploy(ctx context.Context, filter []string) (*Ran, error)
	// Close lets go of all that it holds.
	Close()
}

// Compiled is what a model has come to.
type Compiled struct {
	Output    string
	Warnings  diag.Problems
	Resources []resource.Resource
}

// Ran is what came of a dry run or a deployment.
type Ran struct {
	Outcomes []Outcome
	Text     string // as people are told
}

// Outcome is what came of one resource. A dry run has no status but failed and undefined.
type Outcome struct {
	ID      resource.ID
	Change  diff.Change
	Status  state.Status
	Reason  string
	Changes map[string]diff.Diff
}

// Options say which scripts are run, and how.
type Options struct {
	Files []string
	Run   *regexp.Regexp // only scripts whose names, or paths, match; nil: all
	// Module is the folder of the module, absolute: places below it are told without it.
	Module string
	// Bench returns what a script works on, in its folder, in which its files are.
	Bench func(dir string) (Bench, error)
	// Done is told of each script.
	Done func(Result)
	// Verbose keeps what was logged of a script that has passed.
	Verbose bool
}

// State is what came of a test.
type State string

// The states of tests.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Result is what came of one test.
type Result struct {
	File       string `json:"file"`
	Name       string `json:"name"`
	State      State  `json:"state"`
	Line       int    `json:"line,omitempty"`  // where it has failed
	Error      string `json:"error,omitempty"` // why
	Log        string `json:"log,omitempty"`   // the commands with what they wrote
	DurationMS int64  `json:"duration_ms"`
}

// Run runs scripts, one after the other, until the context ends.
func Run(ctx context.Context, o Options) error {
	for _, file := range o.Files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		if !o.meant(name, file) {
			continue
		}
		if ctx.Err() != nil {
			return fault.Wrap(fault.KindOf(context.Cause(ctx)), "test the module",
				context.Cause(ctx))
		}
		r, err := o.one(ctx, file)
		if err != nil {
			return err
		}
		r.File, r.Name = file, name
		o.Done(r)
	}
	return nil
}

// meant reports whether a script is to run: its name matches, with or without what it ends in, or
// its path does if the expression is one of a path.
func (o *Options) meant(name, file string) bool {
	return o.Run == nil || o.Run.MatchString(name) || o.Run.MatchString(filepath.Base(file)) ||
		strings.Contains(o.Run.String(), "/") && o.Run.MatchString(filepath.ToSlash(file))
}

// one runs a script.
func (o *Options) one(ctx context.Context, file string) (Result, error) {
	dir, err := os.MkdirTemp("", "southbound-test-")
	if err != nil {
		return Result{}, fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	defer os.RemoveAll(dir)
	s := &script{ctx: ctx, module: o.Module}
	t := &run{verbose: o.Verbose}
	began := time.Now()
	params := testscript.Params{
		Files: []string{file}, WorkdirRoot: dir, RequireUniqueNames: true, Cmds: s.commands(),
		Setup: func(e *testscript.Env) (err error) {
			s.dir = e.WorkDir
			s.bench, err = o.Bench(e.WorkDir)
			return err
		},
	}
	if deadline, ok := ctx.Deadline(); ok {
		params.Deadline = deadline
	}
	t.do(func() { testscript.RunT(t, params) })
	if s.bench != nil {
		s.bench.Close()
	}
	r := t.result(file)
	r.DurationMS = time.Since(began).Milliseconds()
	return r, nil
}

// run is a script that is run, as testscript sees it.
type run struct {
	verbose         bool
	log             bytes.Buffer
	failed, skipped bool
}

// do calls f, which FailNow and Skip end.
func (t *run) do(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

// Log implements testscript.T.
func (t *run) Log(args ...any) { fmt.Fprintln(&t.log, args...) }

// Skip implements testscript.T.
func (t *run) Skip(args ...any) {
	t.Log(args...)
	t.skipped = true
	runtime.Goexit()
}

// Fatal implements testscript.T.
func (t *run) Fatal(args ...any) {
	t.Log(args...)
	t.FailNow()
}

// FailNow implements testscript.T.
func (t *run) FailNow() {
	t.failed = true
	runtime.Goexit()
}

// Parallel implements testscript.T.
func (t *run) Parallel() {}

// Verbose implements testscript.T.
func (t *run) Verbose() bool { return t.verbose }

// Run implements testscript.T.
func (t *run) Run(_ string, f func(testscript.T)) { t.do(func() { f(t) }) }

// variables are those of the script, with which a log begins.
var variables = pattern.Lazy(`\A(?:\S+=.*\n)+\n*`)

// result returns what came of the script. The log names the place of a failure behind its file.
func (t *run) result(file string) Result {
	log := strings.TrimSuffix(strings.TrimRight(t.log.String(), "\n"), "\nPASS")
	log = variables().ReplaceAllString(log, "")
	switch {
	case t.skipped:
		return Result{State: Skipped, Error: strings.TrimSpace(log)}
	case !t.failed && !t.verbose:
		return Result{State: Passed}
	case !t.failed:
		return Result{State: Passed, Log: log}
	}
	r := Result{State: Failed, Error: strings.TrimSpace(log), Log: log}
	mark := "FAIL: " + file + ":"
	if i := strings.LastIndex("\n"+log, "\n"+mark); i >= 0 {
		line, text, _ := strings.Cut(log[i+len(mark):], ": ")
		if n, err := strconv.Atoi(line); err == nil {
			r.Line, r.Error, r.Log = n, strings.TrimSpace(text), strings.TrimRight(log[:i], "\n")
		}
	}
	return r
}
