//go:build servers

package e2e

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/sigv4"
)

// dry are the scripts that compare things of an agent with reality without doing anything. Only a function does that, and it does not reach this machine.
const dry = "apply|json|recurse_purge"

// scripts runs the command line's own scripts against the stack. Their agents are on this machine, so a runner serves each as soon as it is there.
func scripts(t *testing.T, w *world) {
	api := w.gateway(t)
	ctx, stop := context.WithCancel(t.Context())
	runners := w.runners(ctx, t)
	defer runners.Wait()
	defer stop()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-timeout=10m", "-parallel=4", "-run=^TestScriptsOverAPI$", "-skip=/("+dry+")$", "./shared/cli")
	cmd.Dir = w.stack.Root
	cmd.Env = append(os.Environ(), "SOUTHBOUND_TEST_API="+api)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// gateway returns the address of a server on loopback that signs what it is asked and passes it on to the API function, so that scripts need no credentials.
func (w *world) gateway(t *testing.T) string {
	t.Helper()
	to, err := url.Parse(w.out["ApiUrl"])
	if err != nil {
		t.Fatal(err)
	}
	sign, err := sigv4.New(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if w.stack.Endpoint != "" {
		at, err := url.Parse(w.stack.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		sign.Next = roundTripper(func(r *http.Request) (*http.Response, error) {
			out := r.Clone(r.Context())
			out.Host, out.URL.Scheme, out.URL.Host = to.Host, at.Scheme, at.Host
			return http.DefaultTransport.RoundTrip(out)
		})
	}
	failed := func(rw http.ResponseWriter, r *http.Request, err error) {
		t.Logf("%s %s: %v", r.Method, r.URL, err)
		rw.WriteHeader(http.StatusBadGateway)
	}
	s := httptest.NewServer(&httputil.ReverseProxy{Transport: sign, ErrorHandler: failed, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = to.Host
	}})
	t.Cleanup(s.Close)
	return s.URL
}

type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// runners starts a runner for each agent of a script that no function serves, until the context ends.
func (w *world) runners(ctx context.Context, t *testing.T) *sync.WaitGroup {
	t.Helper()
	h := w.home(t)
	var all sync.WaitGroup
	all.Go(func() {
		served := map[string]bool{}
		tick := time.NewTicker(150 * time.Millisecond)
		defer tick.Stop()
		for {
			envs, _ := h.State.Envs(ctx)
			for _, env := range envs {
				if !strings.HasPrefix(env, "t") {
					continue // of another test
				}
				agents, _ := h.State.Agents(ctx, env)
				for name, a := range agents {
					if !queue.ByRunner(a.Agent) || served[env+" "+name] {
						continue
					}
					served[env+" "+name] = true
					u := &user{world: w, env: env, dir: os.TempDir()}
					cmd := u.command(ctx, "agent", "run", name, "--data", t.TempDir())
					cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
					all.Go(func() {
						if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil && !errors.Is(err, os.ErrProcessDone) {
							t.Logf("a runner ended: %v\n%s", err, out)
						}
					})
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	return &all
}

// home opens the home of the stack in this process.
func (w *world) home(t *testing.T) *home.Home {
	t.Helper()
	vars := map[string]string{"AWS_REGION": os.Getenv("AWS_REGION")}
	for _, v := range w.stack.Variables(w.out) {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	c, err := home.FromEnv(func(name string) string { return vars[name] })
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
