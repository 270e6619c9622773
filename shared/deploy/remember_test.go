package deploy_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keeper is a handler of things whose ids the target chooses, and only says once.
type keeper struct {
	handler
	known  *[]string // what each reading knew of the id
	create func(c *provider.Context) error
	find   func() (bool, error)
}

func (keeper) Remembers(provider.Resource) []string { return []string{"id", "other"} }

func (k keeper) Read(c *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	*k.known = append(*k.known, c.Known("id"))
	return provider.Observation{Exists: c.Known("id") != "",
		Attributes: map[string]any{"value": "v"}}, nil
}

func (k keeper) Create(c *provider.Context, _ provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, k.create(c)
}

func (k keeper) FindCreated(*provider.Context, provider.CreateRequest) (bool, error) {
	return k.find()
}

// TestRemembered pins that a handler gets back what it has learned, whatever came of the run, and
// that a create is looked up only when it may have made something.
func TestRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := resource.Resource{ID: "t::Assigned[a,name=x]", Type: "t::Assigned", Agent: "a",
		Attributes: map[string]any{"name": "x"}}
	var known []string
	finds := 0
	k := keeper{handler: handler{r.w}, known: &known,
		find: func() (bool, error) { finds++; return false, nil }}
	step := func(create func(*provider.Context) error) state.Row {
		t.Helper()
		k.create = create
		r.e.Handlers["t::Assigned"] = k
		if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
			t.Fatal(err)
		}
		r.drain()
		row, err := r.e.Row(context.Background(), "e", x.ID)
		if err != nil {
			t.Fatal(err)
		}
		return row
	}
	r.e.Handlers["t::Assigned"] = k
	r.export(deploy.Export{Model: modelOf(x)})
	refused := func(*provider.Context) error {
		return provider.With(provider.Errorf(provider.Terminal, "no"), provider.ErrNothingMade)
	}
	if row := step(refused); row.Status() != state.StatusFailed || row.Creating != "" ||
		row.Class != provider.Terminal {
		t.Errorf("refused: %+v", row)
	}
	if row := step(func(*provider.Context) error {
		return provider.Errorf(provider.Terminal, "cut off")
	}); row.Creating == "" || finds != 0 {
		t.Errorf("cut off: %+v after %d look-ups", row, finds)
	}
	k.find = func() (bool, error) {
		return false, provider.With(errors.New("who knows"), provider.ErrUndecided)
	}
	if row := step(nil); row.Blocked != state.NeedsDecision || row.Creating == "" {
		t.Errorf("not to be told: %+v", row)
	}
	if _, err := r.e.Deploy(context.Background(), "e",
		deploy.Request{Filter: state.Filter{ID: string(x.ID)}, RetryFailed: true}); err != nil {
		t.Fatal(err)
	}
	if row := step(func(c *provider.Context) error {
		c.Fact("id", "7")
		return provider.Errorf(provider.Terminal, "made, and not well")
	}); row.Status() != state.StatusFailed {
		t.Errorf("made: %+v", row)
	}
	k.find = func() (bool, error) { return true, nil }
	known = nil
	if row := step(nil); row.Status() != state.StatusDeployed || len(known) != 1 ||
		known[0] != "7" {
		t.Errorf("known again: %+v, %q", row, known)
	}
	if d, err := r.e.DryRun(context.Background(), "e", 0); err != nil || len(d.Planned) != 1 ||
		d.Planned[0].Action != "none" {
		t.Errorf("a dry run knows it, too: %+v, %v", d, err)
	}
}

// TestMendedExportOfAParameterIsNotRemembered loses what is stored, which an export finds on its
// way. It begins again, and by then its model holds the value in the place of the parameter.
func TestMendedExportOfAParameterIsNotRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ctx, config := t.Context(), r.e.Config
	config.Files = struct{ state.Files }{config.Files} // one that verifies nothing
	r.e = deploy.New(config)
	if err := r.e.SetParameters(ctx, "e", state.Parameter{Name: "p", Value: "1"}); err != nil {
		t.Fatal(err)
	}
	a := res("a")
	export := func(note string) {
		a.Attributes["value"], a.Attributes["note"] = resource.Parameter{Name: "p"}, note
		m := modelOf(a)
		m.Fingerprint = "of the documents"
		r.export(deploy.Export{Model: m})
		stored, err := r.e.State.Env(ctx, "e")
		if err != nil || stored.Fingerprint != "" {
			t.Errorf("%s: remembered as %q, %v; the parameter may change", note, stored.Fingerprint, err)
		}
	}
	export("first")
	v, err := r.e.State.Versions(ctx, "e", 1)
	if err != nil || len(v) != 1 {
		t.Fatal(v, err)
	}
	if err := config.Files.Delete(ctx, v[0].Chunks); err != nil {
		t.Fatal(err)
	}
	r.e = deploy.New(config) // it has nothing in its caches
	export("second")
	body := string(r.row("a").Body)
	if !strings.Contains(body, `"note":"second"`) || !strings.Contains(body, `"value":"1"`) {
		t.Errorf("stored is %s", body)
	}
}

// teller is a handler that tells while it reads what it is going to do.
type teller struct {
	handler
	known *[]string
}

func (teller) Remembers(provider.Resource) []string { return []string{"does"} }

func (h teller) Read(c *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	*h.known = append(*h.known, c.Known("does"))
	c.Fact("does", "it")
	return h.handler.Read(c, req)
}

// TestIntentionIsRemembered records what a handler remembers before it acts, so that a crash after it
// acted does not lose it. If it does not act, nothing is recorded.
func TestIntentionIsRemembered(t *testing.T) {
	for name, tc := range map[string]struct {
		hook       string // the call in which the program ends
		reportOnly bool
		known      string
	}{
		"a crash while it acts":   {"create", false, "it"},
		"a crash while it reads":  {"read", false, ""},
		"what is only reported":   {"", true, ""},
		"a change that goes well": {"", false, "it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			x := res("x")
			x.ReportOnly = tc.reportOnly
			var known []string
			r.e.Handlers[x.Type] = teller{handler{r.w}, &known}
			r.export(deploy.Export{Model: modelOf(x)})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			r.w.hook = func(call, _ string) {
				if call != tc.hook {
					return
				}
				cancel()
				lease, err := r.home.Acquire(context.Background(), "e", "a", "other",
					r.clock.Now().Add(24*time.Hour), r.clock.Now().Add(25*time.Hour))
				if err != nil {
					t.Error(err)
				}
				_ = r.home.Release(context.Background(), "e", lease)
			}
			if _, err := r.e.RunAgent(ctx, "e", "a", r.clock.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
			r.w.hook, known = nil, nil
			if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
				t.Fatal(err)
			}
			r.drain()
			if len(known) == 0 || known[0] != tc.known {
				t.Fatalf("knows %q, expected %q", known, tc.known)
			}
		})
	}
}
