// Package home opens the home that a command works on: the engine in this process, or a server.
package home

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
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/python"
	"southbound/shared/local"
	"southbound/shared/platform"
	"southbound/shared/provider"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/orders"
	"southbound/shared/transport"
	"southbound/shared/transport/aws"
	"southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/ssh"
)

// Session is the home that a command has opened: the embedded one, whose work this process does, or
// a server.
type Session struct {
	Console  *output.Console
	Location *Location
	Program  *Program
	Conns    *Connections
	// FindPython returns the Python that runs handlers of modules, and its folder
	FindPython func() (path, dir string, err error)

	Home    api.Home                       // the home that all commands use
	Own     *local.Home                    // the embedded home; nil with --api
	Engine  *deploy.Engine                 // over own
	python  *python.Pack                   // runs handlers of modules; nil with --api
	scratch string                         // the temporary directory that OpenToRead has made
	Ran     atomic.Int64                   // resources that this process has run
	Waits   waits                          // why agents are waited for
	calls   atomic.Pointer[platform.Calls] // of handlers here; nil: none runs here
	// Children are the programs that this process has started
	Children children
	// how long the handlers may take to finish when the program is asked to stop
	Grace time.Duration
}

// Connections are the sessions of this process with the targets of agents.
type Connections struct {
	Program *Program

	aws  aws.Sessions
	http http.Sessions
	SSH  ssh.Sessions
	sql  postgresql.Sessions
}

// Connector returns the connector of agents. close closes its connections.
func (c *Connections) Connector(known state.Secrets) state.Connector {
	return &transport.Connector{Local: true, AWS: &c.aws, HTTP: &c.http, SSH: &c.SSH,
		PostgreSQL: &c.sql, Packs: c.Program.Packs, Secrets: known}
}

// close closes them all.
func (c *Connections) close() {
	_, _, _, _ = c.aws.Close(), c.http.Close(), c.SSH.Close(), c.sql.Close()
}

// OpenToRead opens the home for a command that only reads. If there is no data directory,
// OpenToRead opens an empty temporary one.
func (s *Session) OpenToRead(ctx context.Context, path string) error {
	if err := s.Location.Locate(path); err != nil {
		return err
	}
	if s.Location.Remote() || !s.Location.Fresh() {
		return s.Reach(ctx)
	}
	var err error
	if s.scratch, err = os.MkdirTemp("", "southbound-"); err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	return s.OpenAt(ctx, s.scratch)
}

// Open opens the home, and creates it if it does not exist.
func (s *Session) Open(ctx context.Context, path string) error {
	if err := s.Location.Locate(path); err != nil {
		return err
	}
	return s.Reach(ctx)
}

// Reach is open for a command that has already called locate.
func (s *Session) Reach(ctx context.Context) error {
	if s.Location.Remote() {
		return s.Connect()
	}
	return s.OpenAt(ctx, s.Location.Data)
}

// OpenAt opens the embedded home in a data directory, and creates it if it does not exist.
func (s *Session) OpenAt(ctx context.Context, dir string) error {
	if _, err := GraceOf(); err != nil {
		return err
	}
	opened := make(chan error, 1)
	go func() { // compile the types concurrently, which takes as long
		var err error
		s.Own, err = local.OpenWaiting(ctx, dir, heldUp(s.Console))
		opened <- err
	}()
	types, err := s.Program.Registry(s.Location.Project.Dir)
	if failed := <-opened; err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	calls := platform.NewCalls()
	s.calls.Store(calls)
	known := secrets.New(secrets.Config{Machine: s.Own.Secrets()})
	s.python = python.NewPack(python.PackOptions{Find: s.FindPython})
	s.Engine = deploy.New(deploy.Config{State: s.Own, Files: s.Own.Files(),
		Notifier: s.Own.Notifier, Clock: local.Clock{}, Caller: local.Caller{Calls: calls},
		Secrets: known, Connector: s.Conns.Connector(known), Types: types,
		Handlers: s.Program.Handlers(), Code: s.python, Pack: platform.Build(),
		Bridges: provider.Bridges(s.Program.Definitions),
		Sealer:  s.Own.Sealer(known, os.Getenv("SOUTHBOUND_STATE_KEY")),
		Holder:  s.Own.Holder(), NewID: s.Own.NewID, Jitter: rand.Float64, Await: s.Own.Await,
		Ended: s.Own.Ended,
		Ran:   func(n int) { s.Ran.Add(int64(n)) }, Waits: s.Waits.Note, Sizes: local.Sizes(),
		Keep: s.Own.Definitions().Bundles, Owned: s.Own.Instances().Owners})
	s.Home = api.New(api.Config{Engine: s.Engine, Agent: s.Program.Packs.Check, ByCommands: true,
		Audit: s.Own, Caller: OSUser(),
		History:  s.Own.ParameterHistory,
		Services: s.TakesOrders(), Definitions: s.Own.Definitions(), Previews: s.Previewer(dir),
		Waits: func(env string) map[string]string { return s.Waits.Of(env, time.Now()) }})
	return nil
}

// heldUp returns a function that explains to people why the database does not respond.
func heldUp(c *output.Console) func() {
	return func() {
		c.Say("another process has locked the database, and this command waits for it. Find out "+
			"whether that process is suspended: ps -o pid,stat,args -C %s", filepath.Base(os.Args[0]))
	}
}

// Close closes everything that open and look have opened.
func (s *Session) Close() {
	if s.Engine != nil {
		s.Engine.Close()
		s.python.Close()
	}
	s.Children.end(s.Console) // before the next process can acquire the locks of this process
	s.Conns.close()
	if s.Own != nil {
		_ = s.Own.Close()
	}
	if s.scratch != "" {
		_ = os.RemoveAll(s.scratch)
	}
}

// children are programs that a process has started.
type children struct{ child.Table }

// end ends the programs that are still running.
func (c *children) end(say *output.Console) {
	if left := c.End(); len(left) > 0 {
		say.Complain("southbound: killed, but held by the system: process %s",
			strings.Trim(fmt.Sprint(left), "[]"))
	}
}

// Connect makes commands send requests to a server.
func (s *Session) Connect() error {
	token, err := s.Location.Token()
	if err != nil {
		return err
	}
	via, err := Emulated()
	if err != nil {
		return err
	}
	client, err := api.NewClient(api.ClientConfig{URL: s.Location.API, Token: token,
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
	s.Home = client
	return nil
}

// There rejects an environment that does not exist.
func (s *Session) There(ctx context.Context) error {
	names, err := s.Home.Environments(ctx)
	if err != nil || slices.Contains(names, s.Location.Env) {
		return err
	}
	return s.Location.Missing(names)
}

// OpenExisting is OpenToRead for a command that needs an environment that exists.
func (s *Session) OpenExisting(ctx context.Context) error {
	if err := s.OpenToRead(ctx, ""); err != nil {
		return err
	}
	return s.There(ctx)
}

// Reading makes the run function of a command without a path that needs an existing environment.
func (s *Session) Reading(
	run func(ctx context.Context, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := s.OpenExisting(cmd.Context()); err != nil {
			return err
		}
		return run(cmd.Context(), args)
	}
}

// endHandlers ends the handlers of this process, which is about to exit.
func (s *Session) endHandlers() {
	if calls := s.calls.Load(); calls != nil {
		calls.End()
	}
}

// Runner returns the runner of the embedded home, which does scheduled work in this process.
func (s *Session) Runner() *local.Runner {
	return &local.Runner{Engine: s.Engine, Notifier: s.Own.Notifier, Ran: &s.Ran,
		Abandon: s.endHandlers, Grace: s.Grace, Late: s.late}
}

// HomeID identifies the open home; "": it does not exist yet, or its server returns no identity.
func (s *Session) HomeID(ctx context.Context) (string, error) {
	if h, has := s.Home.(interface {
		Identity(ctx context.Context) (string, error)
	}); has {
		return h.Identity(ctx)
	}
	if s.scratch != "" || s.Own == nil {
		return "", nil
	}
	return s.Own.ID()
}

// Keyed creates the key of a data directory that does not exist yet, for a kept plan that refers to
// secrets. When the plan is applied, that key shows whether a secret has changed. The plan must not
// contain the key, which would help to guess the secrets.
func (s *Session) Keyed(m *model.Model) error {
	if s.scratch == "" || !m.HasSecrets() {
		return nil
	}
	if err := s.Own.TakeKey(s.Location.Data); err != nil {
		return err
	}
	s.Console.Say("created the data directory %s, which contains only the key that detects changed "+
		"secrets", s.Location.Where())
	return nil
}

// Previewer returns the previewer of orders and models in the embedded home.
func (s *Session) Previewer(dir string) *fulfil.Previewer {
	return &fulfil.Previewer{Config: fulfil.Config{
		Instances: s.Own.Instances(), Definitions: s.Own.Definitions(), Engine: s.Engine,
		Types: s.Program.own, Mapper: s.Program.Mapper, Agent: s.Program.Packs.Check,
		Dir: filepath.Join(dir, modelsDir),
	}}
}

// TakesOrders returns the service that accepts orders of services in the embedded home.
func (s *Session) TakesOrders() *orders.Service {
	return orders.New(orders.Config{
		Definitions: s.Own.Definitions(), Instances: s.Own.Instances(), Book: s.Own.Instances(),
		Callbacks: s.Own.Callbacks(),
	})
}
