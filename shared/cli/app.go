// Package cli is the command line: it reads arguments, asks a home (the engine in this process, or
// a server), and writes output for people or for programs.
package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"southbound/shared/api"
	"southbound/shared/aws/secrets"
	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/fault"
	"southbound/shared/lang/module"
	"southbound/shared/lang/python"
	"southbound/shared/local"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/source"
	"southbound/shared/transport"
	"southbound/shared/transport/aws"
	"southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh"
)

// Version is the version of this program.
const Version = "0.1.0"

// The exit codes, which scripts rely on.
const (
	exitDone        = 0
	exitFault       = 1
	exitInput       = 2
	exitUnhealthy   = 3
	exitTimeout     = 4
	exitChanges     = 5
	exitInterrupted = 130
)

// app is one run of the program.
type app struct {
	stdin   io.Reader
	out     io.Writer
	err     io.Writer
	telling sync.Mutex // held while several write to standard output
	lost    error      // the first thing that could not be written to standard output
	code    int        // the exit code if there is no error

	// What flags say. env, data and api are completed by locate.
	json    bool
	quiet   bool
	noColor bool
	full    bool // whole values, however long they are
	env     string
	named   bool // somebody has said which environment
	data    string
	api     string
	project source.Project
	// projectDir is where commands that work on no path look for the project file; "": the working
	// directory.
	projectDir string

	definitions []provider.Definition // the types of this program with their handlers
	types       *schema.Registry      // made by registry
	mapper      *entity.Mapper        // of entities of models, made by registry; nil: nothing is mapped
	packs       transport.Packs       // the transports that come with them

	home    api.Home       // what all commands work through
	own     *local.Home    // the embedded home; nil with --api
	engine  *deploy.Engine // over own
	python  *python.Pack   // runs handlers of modules; nil with --api
	scratch string         // the temporary directory that look has made
	ran     atomic.Int64   // resources that this process has run
	waits   waits          // why agents are waited for
	// documents is the path that the command deploys; "": none, or standard input.
	documents string
	// handled is the model that was read and has handlers in Python; "": none was.
	handled string
	// modules are used by models as they stand, whatever else is installed under their names.
	modules []*module.Module
	// host runs the Python code of models; nil: each starts its own.
	host *python.Host
	// described says where a resource is written in documents; nil: not known.
	described func(id string) diag.Pos
	stop      chan struct{} // closed when what handlers do is to be ended
	abandon   atomic.Value  // func(), which closes stop; unset: no handler runs here
	grace     time.Duration // how long that may take to finish when the program is asked to stop

	aws  aws.Sessions
	http http.Sessions
	ssh  ssh.Sessions
	sql  postgresql.Sessions
}

// Main runs the program that has the types of definitions, with arguments, and returns its exit
// code.
func Main(
	definitions []provider.Definition, args []string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	a := &app{stdin: stdin, out: stdout, err: stderr, definitions: definitions, grace: graceOf()}
	defer a.watch(ctx)()
	a.ssh.Programs = &remote.Programs{Dir: os.Getenv("SOUTHBOUND_PROGRAMS")}
	root := a.root()
	root.SetArgs(args)
	var err error
	if a.packs, err = transport.BroughtBy(a.definitions); err == nil {
		err = root.ExecuteContext(ctx)
	}
	a.close()
	if a.lost != nil && (err == nil || errors.Is(err, a.lost)) {
		err = fault.Wrap(fault.Unavailable, "write to standard output", a.lost)
	}
	if err != nil {
		a.json = a.json || slices.Contains(args, "--json") // after a wrong flag, the others are not read
		return a.fail(err)
	}
	return a.code
}

// stopSignals are the signals that ask the program to stop. Under nohup the end of the terminal is
// none. An interrupt is one also where it is ignored at first: in the background of a script it is,
// and yet scripts send it.
func stopSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// handlers returns the handlers by type.
func (a *app) handlers() map[string]provider.Handler {
	out := map[string]provider.Handler{}
	for _, d := range a.definitions {
		out[d.Type.Name] = d.Handler
	}
	return out
}

// registry returns the known types.
func (a *app) registry() (*schema.Registry, error) {
	if a.types != nil {
		return a.types, nil
	}
	var types []schema.Type
	for _, d := range a.definitions {
		types = append(types, d.Type)
	}
	known, err := schema.NewRegistry(types...)
	if err != nil {
		return nil, err
	}
	if a.mapper, err = provider.Mapper(known, a.definitions); err != nil {
		return nil, err
	}
	a.types = known
	return known, nil
}

// pick returns the first value that is set: by a flag, an environment variable, the project file,
// or the default.
func pick(flag, variable, project, fallback string) string {
	for _, s := range []string{flag, os.Getenv(variable), project} {
		if s != "" {
			return s
		}
	}
	return fallback
}

// locate finds out which environment and data directory a command is to use that works on path (""
// if it works on none).
func (a *app) locate(path string) error {
	var err error
	if a.project, err = source.FindProject(cmp.Or(path, a.projectDir)); err != nil {
		return err
	}
	projectData := a.project.Data
	if projectData != "" && !filepath.IsAbs(projectData) {
		projectData = filepath.Join(a.project.Dir, projectData)
	}
	a.named = pick(a.env, "SOUTHBOUND_ENVIRONMENT", a.project.Environment, "") != ""
	a.env = pick(a.env, "SOUTHBOUND_ENVIRONMENT", a.project.Environment, "default")
	if !api.ValidEnvironment(a.env) {
		return fault.New(fault.Usage, "", "%q cannot name an environment", a.env).WithHint("use letters, digits, - and _, at most 100")
	}
	a.data = pick(a.data, "SOUTHBOUND_DATA", projectData, ".southbound")
	a.api = pick(a.api, "SOUTHBOUND_API", a.project.API, "")
	return nil
}

// remote reports whether a server is to be asked.
func (a *app) remote() bool { return a.api != "" }

// fresh reports whether there is no data directory yet.
func (a *app) fresh() bool {
	_, err := os.Stat(a.data)
	return errors.Is(err, fs.ErrNotExist)
}

// openToRead opens the home for a command that only reads. If there is no data directory, it opens
// an empty temporary one.
func (a *app) openToRead(path string) error {
	if err := a.locate(path); err != nil {
		return err
	}
	if a.remote() || !a.fresh() {
		return a.reach()
	}
	var err error
	if a.scratch, err = os.MkdirTemp("", "southbound-"); err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	return a.openAt(a.scratch)
}

// open opens the home, and makes it if it does not exist.
func (a *app) open(path string) error {
	if err := a.locate(path); err != nil {
		return err
	}
	return a.reach()
}

// reach is open for a command that has called locate already.
func (a *app) reach() error {
	if a.remote() {
		return a.connect()
	}
	return a.openAt(a.data)
}

// close closes what open and look have opened.
func (a *app) close() {
	if a.engine != nil {
		a.engine.Close()
		a.python.Close()
	}
	_, _, _, _ = a.aws.Close(), a.http.Close(), a.ssh.Close(), a.sql.Close()
	if a.own != nil {
		_ = a.own.Close()
	}
	if a.scratch != "" {
		_ = os.RemoveAll(a.scratch)
	}
}

func (a *app) openAt(dir string) error {
	types, err := a.registry()
	if err != nil {
		return err
	}
	if a.own, err = local.Open(dir); err != nil {
		return err
	}
	stop := make(chan struct{})
	a.stop = stop
	a.abandon.Store(sync.OnceFunc(func() { close(stop) }))
	known := secrets.New(secrets.Config{Machine: a.own.Secrets()})
	a.python = python.NewPack(python.PackOptions{Find: a.findPython})
	a.engine = deploy.New(deploy.Config{State: a.own, Files: a.own.Files(), Notifier: a.own.Notifier, Clock: local.Clock{}, Caller: local.Caller{Stop: a.stop},
		Secrets: known, Connector: a.connector(known), Types: types, Handlers: a.handlers(), Code: a.python, Pack: platform.Build(),
		Holder: a.own.Holder(), NewID: a.own.NewID, Jitter: rand.Float64, Await: a.own.Await,
		Ran: func(n int) { a.ran.Add(int64(n)) }, Waits: a.waits.note, Sizes: local.Sizes(),
		Keep: a.own.Definitions().Bundles, Owned: a.own.Instances().Live})
	a.home = api.New(api.Config{Engine: a.engine, Agent: a.packs.Check, History: a.own.ParameterHistory,
		Services: a.takesOrders(), Definitions: a.own.Definitions(),
		Waits: func(env string) map[string]string { return a.waits.of(env, time.Now()) }})
	return nil
}

// connector returns what opens the connections of agents. close closes them.
func (a *app) connector(known state.Secrets) state.Connector {
	return &transport.Connector{Local: true, AWS: &a.aws, HTTP: &a.http, SSH: &a.ssh, PostgreSQL: &a.sql, Packs: a.packs, Secrets: known}
}

// endHandlers ends what handlers do in this process, which is about to end.
func (a *app) endHandlers() {
	if end, ok := a.abandon.Load().(func()); ok {
		end()
	}
}

func (a *app) runner() *local.Runner {
	return &local.Runner{Engine: a.engine, Notifier: a.own.Notifier, Ran: &a.ran, Abandon: a.endHandlers, Grace: a.grace, Late: a.late}
}

// say writes a message for people.
func (a *app) say(format string, args ...any) {
	if !a.quiet {
		a.complain(format, args...)
	}
}

// printf writes a result for people.
func (a *app) printf(format string, args ...any) {
	_, err := fmt.Fprintf(a.out, format, harmless(args)...)
	a.wrote(err)
}

// line writes one JSON object.
func (a *app) line(v any) {
	enc := json.NewEncoder(a.out)
	enc.SetEscapeHTML(false)
	a.wrote(enc.Encode(v))
}

// output is standard output for those who write there themselves.
type output struct{ a *app }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) {
	n, err := o.a.out.Write(b)
	o.a.wrote(err)
	return n, err
}

// wrote notes what became of a write to standard output: a result that did not get there is none.
func (a *app) wrote(err error) {
	if a.lost == nil {
		a.lost = err
	}
}

// fail reports an error and returns the exit code for it.
func (a *app) fail(err error) int {
	problems, more := diag.Of(err)
	kind := fault.KindOf(err)
	if len(problems) > 0 && kind != fault.Refused {
		kind = fault.Invalid
	}
	if a.json {
		a.line(api.ErrorLine{Error: api.FailureOf(err)})
	}
	if !a.json || !a.quiet {
		a.failText(err, problems, more)
	}
	switch kind {
	case fault.Invalid, fault.Refused:
		return exitInput
	case fault.Timeout:
		return exitTimeout
	case fault.Canceled:
		return exitInterrupted
	}
	return exitFault
}

func (a *app) failText(err error, problems diag.Problems, more int) {
	if len(problems) == 0 {
		a.complain("southbound: %v", err)
		if hint := fault.HintOf(err); hint != "" {
			a.complain("  %s", hint)
		}
		return
	}
	lines := compile.Lines()
	for _, p := range problems {
		a.complainOf(p, "", lines)
	}
	if more > 0 {
		a.complain("and %d more", more)
	}
	if fault.Is(err, fault.Refused) {
		a.complain("southbound: %s", api.FailureOf(err).Message)
		if hint := fault.HintOf(err); hint != "" {
			a.complain("  %s", hint)
		}
		return
	}
	a.complain("southbound: %s; nothing was stored", api.CountProblems(len(problems)+more))
}

// complain writes a line about what went wrong, also when messages are not wanted.
func (a *app) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(a.err, format+"\n", harmless(args)...)
}
