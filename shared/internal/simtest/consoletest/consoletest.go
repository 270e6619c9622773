// Package consoletest holds the world in which the pages of the console are tested: an embedded home
// with data, a home with faults, a browser without script, and a check of HTML.
package consoletest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/service/orders"
	"southbound/shared/transport"
)

// Env is the environment that Fill makes.
const Env = "production"

// token is the token of the API of a World.
const token = "a-token-of-a-test"

// World is an embedded home in a temporary directory, and its API over HTTP.
type World struct {
	Service *api.Service
	Own     *local.Home
	Engine  *deploy.Engine
	Dir     string // for files that resources manage

	types *schema.Registry
}

// Open opens a new home whose program has the given handlers.
func Open(t testing.TB, definitions []provider.Definition) *World {
	t.Helper()
	w := &World{Dir: t.TempDir()}
	var err error
	if w.Own, err = local.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Own.Close() })
	if w.types, err = schema.NewRegistry(provider.Types(definitions)...); err != nil {
		t.Fatal(err)
	}
	w.Engine = deploy.New(deploy.Config{State: w.Own, Files: w.Own.Files(),
		Notifier: w.Own.Notifier, Clock: local.Clock{}, Caller: local.Caller{},
		Secrets: w.Own.Secrets(), Connector: &transport.Connector{Local: true}, Types: w.types,
		Handlers: provider.Handlers(definitions), Pack: "p", Holder: w.Own.Holder(),
		NewID: w.Own.NewID, Jitter: rand.Float64, Owned: w.Own.Instances().Owners})
	t.Cleanup(w.Engine.Close)
	w.Service = api.New(api.Config{Engine: w.Engine, Jobs: w.Own, Services: orders.New(orders.Config{
		Definitions: w.Own.Definitions(), Instances: w.Own.Instances(), Book: w.Own.Instances(),
		Callbacks: w.Own.Callbacks(),
	}), Audit: w.Own, Definitions: w.Own.Definitions(), History: w.Own.ParameterHistory,
		About: api.Discovery{Version: "1", Auth: api.AuthBearer}})
	ctx, stop := context.WithCancel(context.Background())
	wait := w.Service.WorkHere(ctx)
	t.Cleanup(func() { stop(); wait() })
	return w
}

// Client returns the same home over HTTP.
func (w *World) Client(t testing.TB) api.Home {
	t.Helper()
	s := httptest.NewUnstartedServer(nil)
	s.Config.Handler = api.Guard{Token: token, Hosts: []string{s.Listener.Addr().String()}}.Wrap(
		api.Handler(w.Service))
	s.Start()
	t.Cleanup(s.Close)
	c, err := api.NewClient(api.ClientConfig{URL: s.URL, Token: token,
		Transport: &http.Transport{DisableKeepAlives: true}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Homes returns the home in this process and over HTTP, by name: each walk through pages is done
// with both.
func (w *World) Homes(t testing.TB) map[string]api.Home {
	t.Helper()
	return map[string]api.Home{"service": w.Service, "client": w.Client(t)}
}

// File returns a resource that manages a file of Dir on agent web1.
func (w *World) File(name, content string) resource.Resource {
	path := filepath.Join(w.Dir, name)
	return resource.Resource{ID: resource.NewID("fs::File", "web1",
		resource.Key{Name: "path", Value: path}), Type: "fs::File", Agent: "web1",
		Attributes: map[string]any{"path": path, "content": content},
		Flags:      resource.Flags{ReceiveEvents: true}}
}

// Null returns a resource of the type std::Null with more attributes, in pairs of name and value.
func Null(agent, name string, more ...any) resource.Resource {
	r := resource.Resource{ID: resource.NewID("std::Null", agent,
		resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: agent,
		Attributes: map[string]any{"name": name},
		Flags:      resource.Flags{ReceiveEvents: true}}
	for i := 0; i+1 < len(more); i += 2 {
		r.Attributes[fmt.Sprint(more[i])] = more[i+1]
	}
	return r
}

// Fill makes Env: two versions, agents web1, db1 (paused) and old, deployed files, a failed resource
// with two that are skipped because of it, scheduled ones, and parameters.
func (w *World) Fill(t testing.TB) {
	t.Helper()
	broken := Null("web1", "broken", "fail", "connection to 10.0.0.9 refused")
	after := Null("web1", "after")
	after.Requires = []resource.ID{broken.ID}
	last := Null("web1", "last")
	last.Requires = []resource.ID{after.ID}
	all := []resource.Resource{w.File("motd", "welcome\n"),
		w.File("app.conf", "listen 80\nworkers 4\nlog info\n"), broken, after, last,
		Null("db1", "schema"), Null("db1", "users")}
	w.Export(t, Env, all...)
	w.Deploy(t, Env)
	if err := w.Service.Pause(t.Context(), Env, true, "db1"); err != nil {
		t.Fatal(err)
	}
	all[1] = w.File("app.conf", "listen 8080\nworkers 4\nlog info\n")
	all[5] = Null("db1", "schema", "value", "2")
	w.Export(t, Env, all...)
	w.Deploy(t, Env)
	for name, value := range map[string]string{"region": "eu-west-1", "replicas": "3"} {
		if _, err := w.Service.SetParameter(t.Context(), Env, name, value); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Service.Suggest(t.Context(), Env, "region",
		[]any{"eu-west-1", "eu-central-1"}); err != nil {
		t.Fatal(err)
	}
}

// Many exports n resources on 10 agents and deploys none.
func (w *World) Many(t testing.TB, env string, n int) {
	t.Helper()
	all := make([]resource.Resource, n)
	for i := range all {
		all[i] = Null(fmt.Sprintf("node%d", i%10), fmt.Sprintf("item%06d", i))
	}
	w.Export(t, env, all...)
}

// Export exports and releases a version of these resources.
func (w *World) Export(t testing.TB, env string, all ...resource.Resource) {
	t.Helper()
	w.export(t, env, deploy.Export{}, all)
}

func (w *World) export(t testing.TB, env string, x deploy.Export, all []resource.Resource) {
	t.Helper()
	m := &model.Model{Resources: all, Fingerprint: w.Own.NewID()}
	seen := map[string]bool{}
	for _, r := range all {
		if !seen[r.Agent] {
			seen[r.Agent] = true
			m.Agents = append(m.Agents, resource.Agent{Name: r.Agent, Transport: "local", Lanes: 1})
		}
	}
	x.Model = m
	if x.Origin.Author == "" {
		x.Origin = state.Origin{Author: "ada", Message: "a change of a test"}
	}
	if _, err := w.Service.Export(t.Context(), env, x, nil); err != nil {
		t.Fatal(err)
	}
}

// Deploy runs the scheduled resources that can run now, each once.
func (w *World) Deploy(t testing.TB, env string) {
	t.Helper()
	ran := new(atomic.Int64)
	runner := &local.Runner{Engine: w.Engine, Notifier: w.Own.Notifier, Ran: ran}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if _, err := runner.Drain(ctx, env, nil); err != nil {
		t.Fatal(err)
	}
}

// Break changes a managed file by hand.
func (w *World) Break(t testing.TB, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.Dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
