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

// Bench is a project with its own environment, on which a script operates.
type Bench interface {
	// Compile compiles the model for later calls of DryRun and Deploy. It returns errors in the
	// model as diag.Problems. Compiled holds the output of the model even on an error.
	Compile(ctx context.Context) (*Compiled, error)
	// DryRun compares the resources that a filter selects with their actual state.
	DryRun(ctx context.Context, filter []string) (*Ran, error)
	// Deploy deploys the resources that a filter selects, including unchanged ones.
	Deploy(ctx context.Context, filter []string) (*Ran, error)
	// Close releases all resources of the bench.
	Close()
}

// Compiled is the result of a compilation.
type Compiled struct {
	Output    string
	Warnings  diag.Problems
	Resources []resource.Resource
}

// Ran is the result of a dry run or a deployment.
type Ran struct {
	Outcomes []Outcome
	Text     string // the report for users
}

// Outcome is the result for one resource. The only statuses of a dry run are failed and undefined.
type Outcome struct {
	ID      resource.ID
	Change  diff.Change
	Status  state.Status
	Reason  string
	Changes map[string]diff.Diff
}

// Options select and configure scripts.
type Options struct {
	Files []string
	Run   *regexp.Regexp // selects scripts by name or path; nil: all
	// Module is the absolute folder of the module; messages omit it from paths.
	Module string
	// Bench creates the bench of a script in the script's folder, which holds its files.
	Bench func(dir string) (Bench, error)
	// Done is called after each script.
	Done func(Result)
	// Verbose keeps the logs of passed scripts.
	Verbose bool
}

// State is the outcome of a test.
type State string

// The states of tests.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Result is the result of one test.
type Result struct {
	File       string `json:"file"`
	Name       string `json:"name"`
	State      State  `json:"state"`
	Line       int    `json:"line,omitempty"`  // of the failure
	Error      string `json:"error,omitempty"` // the reason of the failure
	Log        string `json:"log,omitempty"`   // the commands and their output
	DurationMS int64  `json:"duration_ms"`
}

// Run runs scripts one after the other, until the context ends.
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

// meant reports whether a script is selected: its name matches, with or without its extension. An
// expression with a slash is also matched against the path.
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

// run implements testscript.T for one script.
type run struct {
	verbose         bool
	log             bytes.Buffer
	failed, skipped bool
}

// do calls f in a goroutine, which FailNow and Skip exit, and waits for it.
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

// variables matches the variables of the script at the start of a log.
var variables = pattern.Lazy(`\A(?:\S+=.*\n)+\n*`)

// result returns the result of the script. It parses the place of a failure from the log.
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
