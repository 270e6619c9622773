// Package servecmd has the commands that keep running: the server of a home and the runner of an
// agent.
package servecmd

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/patience"
)

// serveFlags are the flags for serving the API.
type serveFlags struct {
	listen    string
	remote    bool
	hosts     []string
	proxy     proxyFlags
	noConsole bool
}

// HomeServer is run: it does the work of the embedded home until it is stopped.
type HomeServer struct {
	*output.Console
	*home.Location
	*home.Session
	*home.Program
	Orders *home.OrderServer
}

// RunCommand returns the command run.
func (s *HomeServer) RunCommand() *cobra.Command {
	var f serveFlags
	open := func(ctx context.Context, path string) error {
		if err := f.check(); err != nil {
			return err
		}
		if err := s.Locate(path); err != nil {
			return err
		}
		s.API = "" // this process serves the embedded home
		return s.OpenAt(ctx, s.Data)
	}
	cmd := &cobra.Command{Use: "run",
		Short: "Run retries, timers and the HTTP API",
		Long: "run deploys scheduled resources, retries failed ones when they are due, and " +
			"starts deploys and repairs by timers, until it is stopped. It prints a line for " +
			"each change and each problem; with --json, actions in the format of logs. With " +
			"--listen it serves the HTTP API for all environments, and the web console at " +
			"/console/. The file api-token in the data directory holds the token that requests " +
			"and the sign-in page of the console need. With the token in api-token-read-only, " +
			"they may only read.",
		Example: "  southbound run\n  southbound run --environment production\n" +
			"  southbound run --listen 127.0.0.1:8300",
		Args: usage.ExactArgs(0, "nothing more"),
		RunE: usage.After(open, func(ctx context.Context, _ []string) error {
			if f.listen != "" {
				return s.serveAPI(ctx, f)
			}
			s.Say("serving environment %s in %s; stop with Ctrl-C", s.Env, s.Data)
			defer s.stopsRunning(ctx)()
			s.serve(ctx, s.Env, "")
			return nil
		})}
	cmd.Flags().StringVar(&f.listen, "listen", "",
		"address of the HTTP API, such as 127.0.0.1:8300; port 0 takes a free one")
	cmd.Flags().BoolVar(&f.remote, "allow-remote", false,
		"with --listen: allow an address that other machines reach. Without TLS in front, "+
			"the token can be read")
	cmd.Flags().StringSliceVar(&f.hosts, "host", nil,
		"with --listen: another host name and port that requests may use")
	cmd.Flags().BoolVar(&f.noConsole, "no-console", false, "with --listen: serve no web console")
	f.proxy.add(cmd.Flags())
	return cmd
}

// stopsRunning reports when the program is asked to stop. The function it returns ends that, after
// the report is written.
func (s *HomeServer) stopsRunning(ctx context.Context) func() {
	listening := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(listening)
		s.Say("stopping when running calls have finished; Ctrl-C again stops immediately")
	})
	return func() {
		if !stop() {
			<-listening
		}
	}
}

// serveAPI serves the API, and all environments, until ctx ends.
func (s *HomeServer) serveAPI(ctx context.Context, f serveFlags) error {
	s.Own.ForClients()
	token, err := makeToken(filepath.Join(s.Data, home.TokenFile))
	if err != nil {
		return err
	}
	readToken, err := makeToken(filepath.Join(s.Data, home.ReadTokenFile))
	if err != nil {
		return err
	}
	id, err := s.Own.ID()
	if err != nil {
		return err
	}
	l, guard, err := listen(ctx, f)
	if err != nil {
		return err
	}
	guard.Token, guard.ReadToken = token, readToken
	guard.Names = [2]string{home.TokenFile, home.ReadTokenFile}
	if err := f.proxy.apply(&guard); err != nil {
		return err
	}
	keep := s.keeper(ctx)
	defer keep.wait()
	service := api.New(api.Config{Engine: s.Engine, Agent: s.Packs.Check, Changed: keep.serve,
		History: s.Own.ParameterHistory, Jobs: s.Own, Audit: s.Own, Caller: home.OSUser(),
		Stopping: ctx,
		Services: s.TakesOrders(), Definitions: s.Own.Definitions(), Previews: s.Previewer(s.Data),
		Waits: func(env string) map[string]string { return s.Waits.Of(env, time.Now()) },
		About: api.Discovery{Version: home.Version, Auth: api.AuthBearer, Home: id}})
	defer service.WorkHere(ctx)()
	server := consoleServer(s.withConsole(ctx, f, guard, service))
	// first: scripts wait for this line
	s.Say("listening on http://%s; the token is in %s", l.Addr(), filepath.Join(s.Data, home.TokenFile))
	if !f.noConsole {
		s.Say("the console is at http://%s/console/", l.Addr())
	}
	keep.serve(s.Env)
	keep.wg.Go(keep.discover)
	done := context.AfterFunc(ctx, func() {
		late, cancel := patience.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_ = server.Shutdown(late)
	})
	defer done()
	defer s.stopsRunning(ctx)()
	if err := server.Serve(patience.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
		return fault.Wrap(fault.Unavailable, "serve", err)
	}
	return nil
}

// withConsole returns the handler of the API, with the console below /console/.
func (s *HomeServer) withConsole(
	ctx context.Context, f serveFlags, g api.Guard, service *api.Service,
) http.Handler {
	guarded := g.Wrap(api.Handler(service))
	if f.noConsole {
		return guarded
	}
	o := console.Options{Version: home.Version, Where: s.Location.Where(), Hosts: g.Hosts,
		AnyAddress: g.AnyAddress, Token: g.Token, ReadToken: g.ReadToken, User: g.Names[0],
		Stop: ctx}
	if g.UserHeader != "" {
		o.Proxy = &console.Proxy{Networks: g.Behind, UserHeader: g.UserHeader,
			RoleHeader: g.RoleHeader}
	}
	pages := console.New(service, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/console" || strings.HasPrefix(r.URL.Path, "/console/") {
			pages.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// quiet discards the messages of the HTTP server about faults of clients, which do not help its
// operator.
type quiet struct{}

// Write implements io.Writer.
func (quiet) Write(b []byte) (int, error) { return len(b), nil }

// keeper serves environments, each of them once.
type keeper struct {
	server *HomeServer
	ctx    context.Context // the context of the command; environments may be added while it runs
	mu     sync.Mutex
	got    map[string]bool
	wg     sync.WaitGroup
}

func (s *HomeServer) keeper(ctx context.Context) *keeper {
	return &keeper{server: s, ctx: ctx, got: map[string]bool{}}
}

// serve starts serving an environment.
func (k *keeper) serve(env string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.got[env] || k.ctx.Err() != nil {
		return
	}
	k.got[env] = true
	k.wg.Go(func() { k.server.serve(k.ctx, env, env+": ") })
}

// discoverEvery is how often keeper looks for environments that other processes have created.
const discoverEvery = 2 * time.Second

// discover starts serving all environments that exist.
func (k *keeper) discover() {
	for {
		envs, err := k.server.Own.Envs(k.ctx)
		if err != nil && k.ctx.Err() == nil {
			k.server.Say("southbound: %v", err)
		}
		for _, env := range envs {
			k.serve(env)
		}
		if (local.Clock{}).Sleep(k.ctx, discoverEvery) != nil {
			return
		}
	}
}

func (k *keeper) wait() { k.wg.Wait() }

// check rejects an address that other machines can reach, unless that is permitted.
func (f *serveFlags) check() error {
	if f.listen == "" {
		if f.remote || len(f.hosts) > 0 || f.noConsole || f.proxy.set() {
			return fault.New(fault.Usage, "run", "--allow-remote, --host, --no-console, --behind "+
				"and the headers are about --listen").
				WithHint("add --listen 127.0.0.1:8300")
		}
		return nil
	}
	if err := f.proxy.check(); err != nil {
		return err
	}
	host, _, err := net.SplitHostPort(f.listen)
	if err != nil {
		return fault.New(fault.Usage, "run", "%q is not an address", f.listen).
			WithHint("write it such as 127.0.0.1:8300")
	}
	if !f.remote && !api.Loopback("http://"+net.JoinHostPort(host, "1")) {
		return fault.New(fault.Usage, "run", "others can reach %q", f.listen).
			WithHint("listen on 127.0.0.1, or use --allow-remote and put TLS in front of it")
	}
	return nil
}

// listen opens the address to serve on.
func listen(ctx context.Context, f serveFlags) (net.Listener, api.Guard, error) {
	host, _, _ := net.SplitHostPort(f.listen)
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.listen)
	if err != nil {
		return nil, api.Guard{}, fault.Wrap(fault.Unavailable, "listen on "+f.listen, err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	g := api.Guard{Hosts: f.hosts, AnyAddress: f.remote}
	for _, h := range []string{host, "localhost", "127.0.0.1", "::1"} {
		g.Hosts = append(g.Hosts, net.JoinHostPort(h, port))
	}
	return l, g, nil
}

const maxToken = 4096

// makeToken returns the token in a file. If the file does not exist, makeToken creates it; of
// several processes, the first one that links its file wins.
func makeToken(path string) (string, error) {
	for {
		info, err := os.Lstat(path)
		switch {
		case err == nil &&
			(!info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 || info.Size() > maxToken):
			return "", fault.New(fault.Denied, "read token", "%s is not a file of its owner alone",
				path).WithHint("remove it: a new one is made")
		case err == nil:
			b, err := os.ReadFile(path)
			if token := strings.TrimSpace(string(b)); err != nil || len(token) >= 20 {
				return token, fault.Wrap(fault.Denied, "read token", err)
			}
			return "", fault.New(fault.Damaged, "read token", "%s holds no token", path).
				WithHint("remove it: a new one is made")
		case !errors.Is(err, fs.ErrNotExist):
			return "", fault.Wrap(fault.Denied, "read token", err)
		}
		raw := make([]byte, 32)
		_, _ = rand.Read(raw) // it never fails
		text := base64.RawURLEncoding.EncodeToString(raw)
		tmp := path + "." + text[:8]
		if err := os.WriteFile(tmp, []byte(text+"\n"), 0o600); err != nil {
			return "", fault.Wrap(fault.Denied, "write token", err)
		}
		err = os.Link(tmp, path)
		_ = os.Remove(tmp)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", fault.Wrap(fault.Denied, "write token", err)
		}
	}
}
