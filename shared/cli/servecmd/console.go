package servecmd

import (
	"context"
	"errors"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/console"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

// consoleFlags are the flags of the command console.
type consoleFlags struct {
	listen   string
	hosts    []string
	base     string
	readOnly bool
	noOpen   bool
	behind   []string
	user     string
	role     string
}

// ConsoleCommand returns the command console.
func (s *HomeServer) ConsoleCommand() *cobra.Command {
	var f consoleFlags
	cmd := &cobra.Command{Use: "console",
		Short: "Serve and open the web console",
		Long: "console serves web pages on this machine, prints their address and opens it in a " +
			"browser. The address signs in once, within a minute. With --api the pages show the " +
			"home of that server; requests to it use the token or the credentials of this " +
			"command. Without --api they show the embedded home, and console does its work as " +
			"run does, unless --read-only is given. To serve other machines, put a proxy that " +
			"authenticates users in front: --listen with --behind or a Unix socket, and " +
			"--user-header. With --role-header, users without the role \"operator\" may only read.",
		Example: "  southbound console\n  southbound console --api http://127.0.0.1:8300\n" +
			"  southbound console --read-only --no-open --listen 127.0.0.1:8301\n" +
			"  southbound console --listen unix:/run/console --host c.example --user-header X-User",
		Args: usage.ExactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			proxy, err := f.check()
			if err != nil {
				return err
			}
			open := s.Open
			if f.readOnly {
				open = s.OpenToRead
			}
			if err := open(cmd.Context(), ""); err != nil {
				return err
			}
			return s.serveConsole(cmd.Context(), &f, proxy)
		}}
	v := cmd.Flags()
	v.StringVar(&f.listen, "listen", "127.0.0.1:0",
		"address to listen on, or unix:PATH; port 0 takes a free one")
	v.StringSliceVar(&f.hosts, "host", nil, "another host name and port that browsers may use")
	v.StringVar(&f.base, "base-path", "/console", "path of the first page")
	v.BoolVar(&f.readOnly, "read-only", false, "refuse all changes")
	v.BoolVar(&f.noOpen, "no-open", false, "open no browser")
	v.StringSliceVar(&f.behind, "behind", nil,
		"networks of a proxy that authenticates users, such as 10.0.0.0/24")
	v.StringVar(&f.user, "user-header", "", "header in which the proxy names the user")
	v.StringVar(&f.role, "role-header", "", "header in which the proxy lists the user's roles")
	return cmd
}

// check returns the proxy that the flags describe; nil: none.
func (f *consoleFlags) check() (*console.Proxy, error) {
	path, unix := strings.CutPrefix(f.listen, "unix:")
	switch {
	case unix && path == "":
		return nil, fault.New(fault.Usage, "console", "--listen unix: names no path").
			WithHint("write --listen unix:/run/southbound.sock")
	case (unix || len(f.behind) > 0) && f.user == "":
		return nil, fault.New(fault.Usage, "console", "the header with the user's name is missing").
			WithHint("add --user-header, such as X-Forwarded-User")
	case !unix && len(f.behind) == 0 && (f.user != "" || f.role != ""):
		return nil, fault.New(fault.Usage, "console",
			"--user-header and --role-header need a proxy").
			WithHint("name its networks with --behind, or listen on unix:PATH")
	case unix && len(f.hosts) == 0:
		return nil, fault.New(fault.Usage, "console", "a Unix socket has no host name").
			WithHint("name the host of the proxy with --host")
	}
	if strings.ContainsAny(f.base, "?#{}% \\") || strings.Contains(f.base, "//") {
		return nil, fault.New(fault.Usage, "console", "%q is not a path", f.base).
			WithHint("write it such as /console")
	}
	if !unix {
		host, _, err := net.SplitHostPort(f.listen)
		if err != nil {
			return nil, fault.New(fault.Usage, "console", "%q is not an address", f.listen).
				WithHint("write it such as 127.0.0.1:8301, or unix:PATH")
		}
		if len(f.behind) == 0 && !api.Loopback("http://"+net.JoinHostPort(host, "1")) {
			return nil, fault.New(fault.Usage, "console", "other machines can reach %q", f.listen).
				WithHint("listen on 127.0.0.1, or name the proxy in front with --behind")
		}
	}
	if f.user == "" {
		return nil, nil
	}
	p := &console.Proxy{Unix: unix, UserHeader: f.user, RoleHeader: f.role}
	for _, text := range f.behind {
		n, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fault.New(fault.Usage, "console", "--behind: %q is not a network", text).
				WithHint("write it such as 10.0.0.0/24, or 10.0.0.7/32 for one address")
		}
		p.Networks = append(p.Networks, n.Masked())
	}
	return p, nil
}

// consoleLine is the output of console with --json.
type consoleLine struct {
	Address string `json:"address"` // without a code
	Open    string `json:"open"`    // signs in once
	Seconds int    `json:"seconds"` // how long it does
}

// serveConsole serves the console, and the work of the embedded home, until ctx ends.
func (s *HomeServer) serveConsole(ctx context.Context, f *consoleFlags, p *console.Proxy) error {
	token, err := s.consoleToken()
	if err != nil {
		return err
	}
	l, o, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	o.Version, o.Where, o.Token, o.ReadOnly, o.Proxy = home.Version, s.Location.Where(), token,
		f.readOnly, p
	o.User, o.Stop = home.OSUser().User, ctx
	c := console.New(s.Home, o)
	server := consoleServer(c)
	if s.Own != nil && !f.readOnly {
		keep := s.keeper(ctx)
		defer keep.wait()
		defer s.stopsRunning(ctx)()
		keep.serve(s.Env)
		keep.wg.Go(keep.discover)
	}
	s.announce(ctx, f, c, l)
	done := context.AfterFunc(ctx, func() {
		late, cancel := patience.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(late)
		_ = server.Close() // streams do not end otherwise
	})
	defer done()
	if err := server.Serve(patience.Listener(l)); !errors.Is(err, http.ErrServerClosed) {
		return fault.Wrap(fault.Unavailable, "serve", err)
	}
	return nil
}

// consoleServer returns a server that keeps an idle connection longer than proxies do, whose usual
// limit is a minute: a proxy that reuses a connection while it is closed answers 502.
func consoleServer(h http.Handler) *http.Server {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, ErrorLog: log.New(quiet{}, "", 0)}
	api.Bound(server)
	return server
}

// consoleToken returns the token that the sign-in page accepts: that of the API, if there is one.
func (s *HomeServer) consoleToken() (string, error) {
	if s.Own == nil {
		return s.Location.Token()
	}
	if s.Location.Fresh() {
		return "", nil
	}
	return makeToken(filepath.Join(s.Data, home.TokenFile))
}

// open listens, and returns the options that follow from the address.
func (f *consoleFlags) open(ctx context.Context) (net.Listener, console.Options, error) {
	o := console.Options{Base: f.base, Hosts: f.hosts}
	path, unix := strings.CutPrefix(f.listen, "unix:")
	if !unix {
		l, g, err := listen(ctx, serveFlags{listen: f.listen, hosts: f.hosts})
		o.Hosts = g.Hosts
		return l, o, err
	}
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSocket {
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = c.Close()
			return nil, o, fault.New(fault.Busy, "console", "another process listens on %s", path).
				WithHint("end it, or use another path")
		}
		_ = os.Remove(path) // of a process that was killed
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, o, fault.Wrap(fault.Unavailable, "listen on "+f.listen, err)
	}
	if err := os.Chmod(path, 0o660); err != nil { // for the proxy, which has its group
		_ = l.Close()
		return nil, o, fault.Wrap(fault.Denied, "listen on "+f.listen, err)
	}
	return l, o, nil
}

// announce prints the address, and opens it in a browser.
func (s *HomeServer) announce(
	ctx context.Context, f *consoleFlags, c *console.Console, l net.Listener,
) {
	root := "http://" + l.Addr().String()
	if l.Addr().Network() == "unix" {
		if s.JSON {
			s.Line(consoleLine{Address: f.listen})
		} else {
			s.Printf("%s\n", f.listen)
		}
		return
	}
	address, entry := root+c.Path(""), root+c.Path(c.Code())
	if s.JSON {
		s.Line(consoleLine{address, entry, int(console.CodeLife / time.Second)})
	} else {
		s.Printf("%s\n", entry)
		s.Say("this address signs in once, within %d s; stop with Ctrl-C",
			int(console.CodeLife/time.Second))
	}
	if _, terminal := output.Terminal(s.Out); !f.noOpen && terminal && !s.JSON {
		openBrowser(ctx, root+c.Path(c.Code()))
	}
}

// openBrowser opens an address in the user's browser, if this machine has one.
func openBrowser(ctx context.Context, address string) {
	name, args := "xdg-open", []string{address}
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "":
		return
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, args...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }()
	}
}
