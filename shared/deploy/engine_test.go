package deploy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// world is what the test's handler manages: things by name, and what was called.
type world struct {
	mu     sync.Mutex
	things map[string]string // name -> value
	calls  []string          // "create a", in order
	fail   map[string]error  // by name
	hook   func(call, name string)
	again  map[string]int // how often a create answers "in progress"
	reload []string
}

func (w *world) note(call, name string) error {
	w.mu.Lock()
	w.calls = append(w.calls, call+" "+name)
	err, hook := w.fail[name], w.hook
	w.mu.Unlock()
	if hook != nil {
		hook(call, name)
	}
	return err
}

func nameOf(r provider.Resource) string { s, _ := r.Attributes["name"].(string); return s }

type handler struct{ w *world }

func (h handler) Read(_ *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	name := nameOf(req.Resource)
	if err := h.w.note("read", name); err != nil {
		return provider.Observation{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	v, ok := h.w.things[name]
	return provider.Observation{Exists: ok, Attributes: map[string]any{"value": v}}, nil
}

func (h handler) set(call string, r provider.Resource) (provider.Result, error) {
	name := nameOf(r)
	if err := h.w.note(call, name); err != nil {
		return provider.Result{}, err
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if h.w.again[name] > 0 {
		h.w.again[name]--
		return provider.Result{Again: &provider.Again{After: 30 * time.Second, State: []byte("s")}},
			nil
	}
	h.w.things[name], _ = r.Attributes["value"].(string)
	return provider.Result{}, nil
}

func (h handler) Create(_ *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return h.set("create", req.Resource)
}

func (h handler) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return h.set("update", req.Resource)
}

func (h handler) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	name := nameOf(req.Resource)
	err := h.w.note("delete", name)
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if err == nil {
		delete(h.w.things, name)
	}
	return provider.Result{}, err
}

// CallTimeout lets the calls for what is named hang end soon, and no others: they may take long on
// a busy machine.
func (h handler) CallTimeout(r provider.Resource) time.Duration {
	if nameOf(r) == "hang" {
		return 50 * time.Millisecond
	}
	return 0
}

func (h handler) Reload(_ *provider.Context, req provider.ReadRequest) error {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	h.w.reload = append(h.w.reload, nameOf(req.Resource))
	return nil
}

// clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond)
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.advance(d)
	return ctx.Err()
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// rig is an engine on an embedded home with that world.
type rig struct {
	t        *testing.T
	e        *deploy.Engine
	home     *local.Home
	types    *schema.Registry
	w        *world
	clock    *clock
	recorded int // actions, when they were last counted
}

func newRig(t *testing.T) *rig {
	t.Helper()
	home, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	r := &rig{t: t, clock: &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
		w: &world{things: map[string]string{}, fail: map[string]error{}, again: map[string]int{}}}
	attrs := []schema.Attribute{{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "value", Type: "String", Default: "v"},
		{Name: "note", Type: "Optional[String]"},
		{Name: "serial", Type: "Optional[String]", Behaviour: schema.ReadOnly}}
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: attrs},
		schema.Type{Name: "t::Assigned", Attributes: attrs, Assigned: true})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(home, "test")
	return r
}

// use gives the rig an engine on a home, with handlers of that pack.
func (r *rig) use(home *local.Home, pack string) {
	h := handler{r.w}
	r.home = home
	r.e = deploy.New(deploy.Config{State: home, Files: home.Files(), Notifier: home.Notifier,
		Clock: r.clock, Caller: local.Caller{}, Secrets: home.Secrets(),
		Connector: &transport.Connector{Local: true}, Types: r.types,
		Handlers: map[string]provider.Handler{"t::T": h, "t::Assigned": h}, Pack: pack,
		Holder: home.Holder(),
		NewID:  home.NewID, Jitter: func() float64 { return 0.5 }})
}

func id(name string) resource.ID { return resource.ID("t::T[a,name=" + name + "]") }

// res describes a resource: "b<a" requires a.
func res(text string) resource.Resource {
	name, reqs, _ := strings.Cut(text, "<")
	agent := "a"
	r := resource.Resource{ID: id(name), Type: "t::T", Agent: agent,
		Attributes: map[string]any{"name": name}, Flags: resource.Flags{ReceiveEvents: true}}
	if reqs != "" {
		for _, q := range strings.Split(reqs, ",") {
			r.Requires = append(r.Requires, id(q))
		}
	}
	return r
}

func modelOf(rs ...resource.Resource) *model.Model { return &model.Model{Resources: rs} }

func (r *rig) export(x deploy.Export) deploy.Exported {
	r.t.Helper()
	out, err := r.e.Export(context.Background(), "e", x)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// drain serves all lanes until nothing moves.
func (r *rig) drain() {
	r.t.Helper()
	for range 50 {
		lanes, err := r.e.AgentsWithWork(context.Background(), "e")
		if err != nil {
			r.t.Fatal(err)
		}
		ran := 0
		for _, lane := range lanes {
			out, err := r.e.RunAgent(context.Background(), "e", lane, r.clock.Now().Add(time.Hour))
			if err != nil {
				r.t.Fatal(err)
			}
			ran += out.Ran
		}
		if ran == 0 {
			return
		}
	}
}

func (r *rig) row(name string) state.Row {
	r.t.Helper()
	row, err := r.e.Row(context.Background(), "e", id(name))
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

func (r *rig) want(name string, status state.Status) {
	r.t.Helper()
	if row := r.row(name); row.Status() != status {
		r.t.Errorf("%s is %s (%s), want %s", name, row.Status(), row.Why(), status)
	}
}

// took returns the calls since the last took, of the kinds named.
func (r *rig) took(kinds ...string) []string {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	var out []string
	for _, c := range r.w.calls {
		if kind, _, _ := strings.Cut(c, " "); slices.Contains(kinds, kind) {
			out = append(out, c)
		}
	}
	r.w.calls = nil
	return out
}

func (r *rig) same(what string, got []string, want ...string) {
	r.t.Helper()
	if !slices.Equal(got, want) {
		r.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestResultForReplacedIntentChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	once := sync.Once{}
	r.w.hook = func(call, _ string) {
		if call == "create" {
			once.Do(func() {
				b := res("a")
				b.Attributes["value"] = "new"
				r.export(deploy.Export{Model: modelOf(b)})
			})
		}
	}
	r.export(deploy.Export{Model: modelOf(res("a"))})
	lanes, _ := r.e.AgentsWithWork(context.Background(), "e")
	if _, err := r.e.RunAgent(context.Background(), "e", lanes[0],
		r.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("a", state.StatusDeployed)
	if r.w.things["a"] != "new" {
		t.Errorf("the world has %q", r.w.things["a"])
	}
	actions, err := r.home.Actions(context.Background(), "e", state.ActionQuery{Resource: id("a")})
	if err != nil || len(actions) != 2 || actions[0].Stale || !actions[1].Stale ||
		actions[1].Version != 1 {
		t.Errorf("%v: actions %+v", err, actions)
	}
}

func TestRecoveryWakesWhatWasSkipped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.fail["a"] = errors.New("no")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"), res("c<b"))})
	r.drain()
	r.want("c", state.StatusSkipped)
	if row := r.row("c"); !slices.Equal(row.Because(), []resource.ID{id("a")}) {
		t.Errorf("causes %v", row.Because())
	}
	delete(r.w.fail, "a")
	r.clock.advance(time.Minute)
	if _, err := r.e.Sweep(context.Background(), "e"); err != nil {
		t.Fatal(err)
	}
	r.drain()
	for _, name := range []string{"a", "b", "c"} {
		r.want(name, state.StatusDeployed)
	}
}

func TestEventReloadsAfterAChange(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := res("a")
	a.SendEvent = true
	r.export(deploy.Export{Model: modelOf(a, res("b<a"))})
	r.drain()
	if len(r.w.reload) != 0 {
		t.Errorf("reloaded %v at creation", r.w.reload)
	}
	a2 := res("a")
	a2.SendEvent, a2.Attributes["value"] = true, "2"
	r.export(deploy.Export{Model: modelOf(a2, res("b<a"))})
	r.drain()
	r.same("reloads", r.w.reload, "b")
}

func TestRetriedExportGivesTheSameVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	again := r.export(deploy.Export{Model: modelOf(res("b"), res("a"))})
	if first.Version != 1 || again.Version != 1 || again.New || again.Changed != 0 {
		t.Errorf("first %+v, again %+v", first, again)
	}
	before, _ := r.home.Env(context.Background(), "e")
	r.export(deploy.Export{Model: modelOf(res("b"), res("a"))})
	if after, _ := r.home.Env(context.Background(), "e"); after != before {
		t.Errorf("an equal export wrote: %+v, then %+v", before, after)
	}
}

func TestUnrecordedCreateIsLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := resource.Resource{ID: "t::Assigned[a,name=x]", Type: "t::Assigned", Agent: "a",
		Attributes: map[string]any{"name": "x"}}
	ctx, cancel := context.WithCancel(context.Background())
	r.export(deploy.Export{Model: modelOf(x)})
	// The process dies while it creates: its lease is lost, so nothing of the run is recorded but
	// that it began.
	r.w.hook = func(call, _ string) {
		if call == "create" {
			cancel()
			lease, err := r.home.Acquire(context.Background(), "e", "a", "other",
				r.clock.Now().Add(24*time.Hour), r.clock.Now().Add(25*time.Hour))
			if err != nil {
				t.Error(err)
			}
			_ = r.home.Release(context.Background(), "e", lease)
		}
	}
	if _, err := r.e.RunAgent(ctx, "e", "a", r.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	r.w.hook = nil
	r.took()
	r.drain()
	r.same("the create is not repeated", r.took("create"))
	row, err := r.e.Row(context.Background(), "e", x.ID)
	if err != nil || row.Blocked != state.NeedsDecision {
		t.Fatalf("%v: %+v", err, row)
	}
	// A plan says so, and also that a deploy of another intent would look it up.
	other := x
	other.Attributes = map[string]any{"name": "x", "value": "2"}
	for of, want := range map[*resource.Resource]string{&x: "check whether the object exists", &other: "looks the object up"} {
		d, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: modelOf(*of)}, deploy.CompareOptions{Read: true})
		if err != nil || len(d.Planned) != 1 || !d.Planned[0].Failed ||
			!strings.Contains(d.Planned[0].Reason, "a create was begun") || !strings.Contains(d.Planned[0].Reason, want) {
			t.Errorf("planned %+v, %v, want %q", d.Planned, err, want)
		}
	}
	// What it may have led to would be looked for and deleted: that counts.
	purged := x
	purged.Purged = true
	none := deploy.Export{Model: modelOf(purged), Limits: &deploy.Limits{Delete: 0, Leave: -1}}
	if _, err := r.e.Export(context.Background(), "e", none); !fault.Is(err, fault.Refused) {
		t.Errorf("an export that may delete nothing: %v", err)
	}
	// Nobody has looked at all that a glob matches.
	all := deploy.Request{Filter: state.Filter{ID: "t::*"}, RetryFailed: true}
	if _, err := r.e.Deploy(context.Background(), "e", all); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.same("a glob decides nothing", r.took("create"))
	if _, err := r.e.Deploy(context.Background(), "e",
		deploy.Request{Filter: state.Filter{ID: string(x.ID)}, RetryFailed: true}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if row, _ = r.e.Row(context.Background(), "e", x.ID); row.Status() != state.StatusDeployed {
		t.Errorf("after a person has decided: %s, %s", row.Status(), row.Why())
	}
}

func TestCronAndSecondsTimers(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"600", "0", "30 2 * * *"} {
		if err := deploy.CheckTimer(setting); err != nil {
			t.Errorf("%q: %v", setting, err)
		}
	}
	for _, setting := range []string{"-1", "soon", "99 99 * * *"} {
		if deploy.CheckTimer(setting) == nil {
			t.Errorf("%q was accepted", setting)
		}
	}
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("a")),
		Settings: &state.Settings{RepairTimer: "60", DeployTimer: "0"}})
	r.drain()
	delete(r.w.things, "a")
	r.clock.advance(2 * time.Minute)
	if _, err := r.e.Sweep(context.Background(), "e"); err != nil {
		t.Fatal(err)
	}
	r.drain()
	if _, ok := r.w.things["a"]; !ok {
		t.Error("the repair timer did not repair")
	}
}
