package fulfil_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/handlers/fs"
	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/project"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/service/bundle"
	"southbound/shared/service/catalog"
	"southbound/shared/service/definition"
	"southbound/shared/service/fulfil"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/transport"
)

const env = "default"

// world is an embedded home with a model.
type world struct {
	testing.TB
	home   *local.Home
	engine *deploy.Engine
	types  *schema.Registry
	all    map[string]provider.Handler
	runner *local.Runner
	store  inventory.Store
	srv    string // where files are deployed
	n      int
}

// newWorld returns a home to which the services of a model were exported. SRV in it is srv.
func newWorld(t testing.TB, model string) *world {
	t.Helper()
	w := &world{TB: t, srv: t.TempDir()}
	w.open(filepath.Join(t.TempDir(), "home"))
	w.offer(model)
	return w
}

// open opens a home, with an engine that remembers nothing, as in a process that has just begun.
func (w *world) open(dir string) {
	w.Helper()
	var err error
	if w.home, err = local.Open(dir); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = w.home.Close() })
	var types []schema.Type
	w.all = map[string]provider.Handler{}
	for _, d := range []provider.Definition{fs.Directory(), fs.File()} {
		types = append(types, d.Type)
		w.all[d.Type.Name] = d.Handler
	}
	if w.types, err = schema.NewRegistry(types...); err != nil {
		w.Fatal(err)
	}
	ran := new(atomic.Int64)
	w.engine = w.over(w.home, ran)
	w.runner = &local.Runner{Engine: w.engine, Notifier: w.home.Notifier, Ran: ran}
	w.store = w.home.Instances()
}

// over returns an engine over a state, which counts what it has run.
func (w *world) over(s state.State, ran *atomic.Int64) *deploy.Engine {
	e := deploy.New(deploy.Config{
		State: s, Files: w.home.Files(), Notifier: w.home.Notifier, Clock: local.Clock{},
		Caller: local.Caller{}, Connector: &transport.Connector{Local: true}, Types: w.types,
		Secrets:  w.home.Secrets(),
		Handlers: w.all, Holder: w.home.Holder(), NewID: w.home.NewID, Jitter: rand.Float64,
		Ran: func(n int) { ran.Add(int64(n)) }, Sizes: local.Sizes(), Pack: "test",
		Keep: w.home.Definitions().Bundles, Owned: w.home.Instances().Owners,
	})
	w.Cleanup(e.Close)
	return e
}

// begin closes the home, and opens it as another process would.
func (w *world) begin() {
	w.Helper()
	w.engine.Close()
	if err := w.home.Close(); err != nil {
		w.Fatal(err)
	}
	w.open(w.home.Dir)
}

// offer exports the services of a model.
func (w *world) offer(model string) {
	w.Helper()
	w.offerIn(w.TempDir(), model)
}

// offerIn exports the services of a model that stands in a folder.
func (w *world) offerIn(dir, model string) {
	w.Helper()
	main := filepath.Join(dir, "main.cf")
	text := strings.ReplaceAll(model, "SRV", w.srv)
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	c, err := compile.Model(w.Context(), compile.Options{Path: main, Types: w.types})
	if err != nil {
		w.Fatal(err)
	}
	services, err := catalog.Of(c.Result)
	if err != nil {
		w.Fatal(err)
	}
	p, err := bundle.Pack(bundle.Model{
		Main: main, Modules: c.Project.Modules, Env: project.Environment(dir, ""),
	})
	if err != nil {
		w.Fatal(err)
	}
	if err := w.home.Files().Put(w.Context(), []state.Blob{
		{Hash: p.Digest, Size: int64(len(p.Data)), Data: p.Data},
	}); err != nil {
		w.Fatal(err)
	}
	if err := w.home.Definitions().Put(w.Context(), env, p.Digest, services); err != nil {
		w.Fatal(err)
	}
}

// worker returns one that deploys what it exports.
func (w *world) worker(store inventory.Store) *fulfil.Worker {
	return fulfil.New(fulfil.Config{
		Env: env, Instances: store, Definitions: w.home.Definitions(), Engine: w.engine,
		Types: w.types, Dir: filepath.Join(w.home.Dir, "models"), Alone: w.home.Alone,
		Deploy: func(ctx context.Context) error {
			_, err := w.runner.Drain(ctx, env, nil)
			return err
		},
		Failed: func(err error) { w.Error(err) },
	})
}

// running returns a worker beside which somebody else deploys.
func (w *world) running() *fulfil.Worker {
	out := w.worker(w.store)
	out.Deploy = nil
	return out
}

// rounds does rounds, at least one, and deploys after each, until no instance has tasks.
func (w *world) rounds(worker *fulfil.Worker) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Minute)
	defer cancel()
	began := false
	err := worker.Run(ctx, func(ctx context.Context) (bool, error) {
		if !began {
			began = true
			return false, nil
		}
		if _, err := w.runner.Drain(ctx, env, nil); err != nil {
			return false, err
		}
		return w.settled(ctx)
	})
	if err != nil {
		w.Fatalf("%v: %s", err, w.states())
	}
}

// work works until no instance has tasks.
func (w *world) work() {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), 10*time.Minute)
	defer cancel()
	if err := w.worker(w.store).Run(ctx, w.settled); err != nil {
		w.Fatalf("%v: %s", err, w.states())
	}
}

// settled reports whether no instance has tasks.
func (w *world) settled(ctx context.Context) (bool, error) {
	some, err := w.store.Due(ctx, env, time.Now().Add(time.Hour), 1)
	return len(some) == 0, err
}

// states says how instances are.
func (w *world) states() string {
	all, _ := w.store.Instances(context.Background(), env, inventory.Query{Deleted: true})
	var out []string
	for i := range all {
		out = append(out, fmt.Sprintf("%s %s %v", all[i].ID, all[i].State, all[i].Tasks))
	}
	return strings.Join(out, ", ")
}

func (w *world) definition(service string) *definition.Service {
	w.Helper()
	d, err := w.home.Definitions().One(w.Context(), env, service, -1)
	if err != nil {
		w.Fatal(err)
	}
	return &d
}

func (w *world) write(c inventory.Change, err error) {
	w.Helper()
	if err == nil {
		_, err = w.store.Write(w.Context(), env, []inventory.Change{c})
	}
	if err != nil {
		w.Fatal(err)
	}
}

// now is the time of an order.
func (w *world) now() time.Time {
	w.n++
	return time.Date(2026, 5, 1, 12, 0, w.n, 0, time.UTC)
}

// order orders an instance.
func (w *world) order(service, id string, attributes map[string]any) {
	w.Helper()
	w.write(inventory.New(w.definition(service), id, "", attributes, w.now()))
}

// update changes attributes of an instance.
func (w *world) update(id string, attributes map[string]any) {
	w.Helper()
	r := w.read(id)
	w.write(inventory.Update(w.definition(r.Service), r, attributes, r.Version, w.now()))
}

// remove deletes an instance.
func (w *world) remove(id string) {
	w.Helper()
	r := w.read(id)
	k, err := w.home.Definitions().Of(w.Context(), env, r.Service, r.ServiceVersion, r.Definition)
	if err != nil {
		w.Fatal(err)
	}
	w.write(inventory.Advance(&k.Service, r, lifecycle.Delete{Version: r.Version}, w.now()))
}

func (w *world) read(id string) inventory.Record {
	w.Helper()
	r, err := w.store.Instance(w.Context(), env, id)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// state holds that an instance is in a state.
func (w *world) state(id, want string) inventory.Record {
	w.Helper()
	r := w.read(id)
	if r.State != want {
		w.Errorf("%s is in the state %s, not %s: %s", id, r.State, want, r.Problems)
	}
	return r
}

// file holds that a file has a text, or is not there ("").
func (w *world) file(name, want string) {
	w.Helper()
	text, err := os.ReadFile(filepath.Join(w.srv, name))
	if want == "" {
		if !errors.Is(err, os.ErrNotExist) {
			w.Errorf("%s is there: %s", name, text)
		}
		return
	}
	if err != nil || string(text) != want {
		w.Errorf("%s holds %q, not %q: %v", name, text, want, err)
	}
}

// nothingLeft holds that nothing of what is deleted is still known as a resource.
func (w *world) nothingLeft() {
	w.Helper()
	counts, err := w.engine.State.Counts(w.Context(), env)
	if n := counts[state.StatusOrphaned]; err != nil || n > 0 {
		w.Errorf("%d resources are left of what was deleted: %v", n, err)
	}
}
