package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/aws/secrets"
	"southbound/shared/aws/sigv4"
	"southbound/shared/child"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/python"
	"southbound/shared/local"
	"southbound/shared/platform"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/orders"
	"southbound/shared/transport"
	"southbound/shared/transport/aws"
	"southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/ssh"
)

// session is the home that a command has opened: the embedded one, whose work this process does, or
// a server.
type session struct {
	console  *console
	location *location
	program  *program
	conns    *connections
	// findPython returns the Python that runs handlers of modules, and its folder
	findPython func() (path, dir string, err error)

	home    api.Home                       // the home that all commands use
	own     *local.Home                    // the embedded home; nil with --api
	engine  *deploy.Engine                 // over own
	python  *python.Pack                   // runs handlers of modules; nil with --api
	scratch string                         // the temporary directory that openToRead has made
	ran     atomic.Int64                   // resources that this process has run
	waits   waits                          // why agents are waited for
	calls   atomic.Pointer[platform.Calls] // of handlers here; nil: none runs here
	// children are the programs that this process has started
	children children
	// how long the handlers may take to finish when the program is asked to stop
	grace time.Duration
}

// connections are the sessions of this process with the targets of agents.
type connections struct {
	program *program

	aws  aws.Sessions
	http http.Sessions
	ssh  ssh.Sessions
	sql  postgresql.Sessions
}

// connector returns the connector of agents. close closes its connections.
func (c *connections) connector(known state.Secrets) state.Connector {
	return &transport.Connector{Local: true, AWS: &c.aws, HTTP: &c.http, SSH: &c.ssh,
		PostgreSQL: &c.sql, Packs: c.program.packs, Secrets: known}
}

// close closes them all.
func (c *connections) close() {
	_, _, _, _ = c.aws.Close(), c.http.Close(), c.ssh.Close(), c.sql.Close()
}

// openToRead opens the home for a command that only reads. If there is no data directory,
// openToRead opens an empty temporary one.
func (s *session) openToRead(ctx context.Context, path string) error {
	if err := s.location.locate(path); err != nil {
		return err
	}
	if s.location.remote() || !s.location.fresh() {
		return s.reach(ctx)
	}
	var err error
	if s.scratch, err = os.MkdirTemp("", "southbound-"); err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	return s.openAt(ctx, s.scratch)
}

// open opens the home, and creates it if it does not exist.
func (s *session) open(ctx context.Context, path string) error {
	if err := s.location.locate(path); err != nil {
		return err
	}
	return s.reach(ctx)
}

// reach is open for a command that has already called locate.
func (s *session) reach(ctx context.Context) error {
	if s.location.remote() {
		return s.connect()
	}
	return s.openAt(ctx, s.location.data)
}

func (s *session) openAt(ctx context.Context, dir string) error {
	if _, err := graceOf(); err != nil {
		return err
	}
	opened := make(chan error, 1)
	go func() { // compile the types concurrently, which takes as long
		var err error
		s.own, err = local.OpenWaiting(ctx, dir, heldUp(s.console))
		opened <- err
	}()
	types, err := s.program.registry()
	if failed := <-opened; err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	calls := platform.NewCalls()
	s.calls.Store(calls)
	known := secrets.New(secrets.Config{Machine: s.own.Secrets()})
	s.python = python.NewPack(python.PackOptions{Find: s.findPython})
	s.engine = deploy.New(deploy.Config{State: s.own, Files: s.own.Files(),
		Notifier: s.own.Notifier, Clock: local.Clock{}, Caller: local.Caller{Calls: calls},
		Secrets: known, Connector: s.conns.connector(known), Types: types,
		Handlers: s.program.handlers(), Code: s.python, Pack: platform.Build(),
		Holder: s.own.Holder(), NewID: s.own.NewID, Jitter: rand.Float64, Await: s.own.Await,
		Ended: s.own.Ended,
		Ran:   func(n int) { s.ran.Add(int64(n)) }, Waits: s.waits.note, Sizes: local.Sizes(),
		Keep: s.own.Definitions().Bundles, Owned: s.own.Instances().Owners})
	s.home = api.New(api.Config{Engine: s.engine, Agent: s.program.packs.Check, ByCommands: true,
		History:  s.own.ParameterHistory,
		Services: s.takesOrders(), Definitions: s.own.Definitions(), Previews: s.previewer(dir),
		Waits: func(env string) map[string]string { return s.waits.of(env, time.Now()) }})
	return nil
}

// heldUp returns a function that explains to people why the database does not respond.
func heldUp(c *console) func() {
	return func() {
		c.say("another process holds the database for long; this one goes on after it. Find out "+
			"whether that is suspended: ps -o pid,stat,args -C %s", filepath.Base(os.Args[0]))
	}
}

// close closes everything that open and look have opened.
func (s *session) close() {
	if s.engine != nil {
		s.engine.Close()
		s.python.Close()
	}
	s.children.end(s.console) // before the next process can acquire the locks of this process
	s.conns.close()
	if s.own != nil {
		_ = s.own.Close()
	}
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch)
	}
}

// children are programs that a process has started.
type children struct{ child.Table }

// end ends the programs that are still running.
func (c *children) end(say *console) {
	if left := c.End(); len(left) > 0 {
		say.complain("southbound: killed, but held by the system: process %s",
			strings.Trim(fmt.Sprint(left), "[]"))
	}
}

// connect makes commands send requests to a server.
func (s *session) connect() error {
	token, err := s.location.token()
	if err != nil {
		return err
	}
	via, err := emulated()
	if err != nil {
		return err
	}
	client, err := api.NewClient(api.ClientConfig{URL: s.location.api, Token: token,
		Program: "southbound/" + Version, Transport: via,
		Sign: func(ctx context.Context, _, region string) (nethttp.RoundTripper, error) {
			t, err := sigv4.New(ctx, region)
			if err == nil {
				t.Next = via
			}
			return t, err
		}})
	if err != nil {
		return err
	}
	s.home = client
	return nil
}

// there rejects an environment that does not exist.
func (s *session) there(ctx context.Context) error {
	names, err := s.home.Environments(ctx)
	if err != nil || slices.Contains(names, s.location.env) {
		return err
	}
	return s.location.missing(names)
}

// openExisting is openToRead for a command that needs an environment that exists.
func (s *session) openExisting(ctx context.Context) error {
	if err := s.openToRead(ctx, ""); err != nil {
		return err
	}
	return s.there(ctx)
}

// reading makes the run function of a command without a path that needs an existing environment.
func (s *session) reading(
	run func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := s.openExisting(cmd.Context()); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// endHandlers ends the handlers of this process, which is about to exit.
func (s *session) endHandlers() {
	if calls := s.calls.Load(); calls != nil {
		calls.End()
	}
}

func (s *session) runner() *local.Runner {
	return &local.Runner{Engine: s.engine, Notifier: s.own.Notifier, Ran: &s.ran,
		Abandon: s.endHandlers, Grace: s.grace, Late: s.late}
}

// homeID identifies the open home; "": it does not exist yet, or its server returns no identity.
func (s *session) homeID(ctx context.Context) (string, error) {
	if h, has := s.home.(interface {
		Identity(ctx context.Context) (string, error)
	}); has {
		return h.Identity(ctx)
	}
	if s.scratch != "" || s.own == nil {
		return "", nil
	}
	return s.own.ID()
}

// keyed creates the key of a data directory that does not exist yet, for a kept plan that refers to
// secrets. When the plan is applied, that key shows whether a secret has changed. The plan must not
// contain the key, which would help to guess the secrets.
func (s *session) keyed(m *model.Model) error {
	if s.scratch == "" || !m.HasSecrets() {
		return nil
	}
	if err := s.own.TakeKey(s.location.data); err != nil {
		return err
	}
	s.console.say("made the data directory %s for the key that tells whether secrets have changed; "+
		"nothing else is in it", s.location.where())
	return nil
}

// previewer returns the previewer of orders and models in the embedded home.
func (s *session) previewer(dir string) *fulfil.Previewer {
	return &fulfil.Previewer{Config: fulfil.Config{
		Instances: s.own.Instances(), Definitions: s.own.Definitions(), Engine: s.engine,
		Types: s.program.types, Mapper: s.program.mapper, Agent: s.program.packs.Check,
		Dir: filepath.Join(dir, modelsDir),
	}}
}

// takesOrders returns the service that accepts orders of services in the embedded home.
func (s *session) takesOrders() *orders.Service {
	return orders.New(orders.Config{
		Definitions: s.own.Definitions(), Instances: s.own.Instances(), Book: s.own.Instances(),
		Callbacks: s.own.Callbacks(),
	})
}
