package deploy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// typeOver gives the rig a registry in which t::T is reached over these transports.
func (r *rig) typeOver(transports ...string) {
	r.t.Helper()
	old, _ := r.types.Type("t::T")
	typ := old.Type
	typ.Transports = transports
	types, err := schema.NewRegistry(typ)
	if err != nil {
		r.t.Fatal(err)
	}
	r.types, r.e.Types = types, types
}

// TestTypeIsHeldToItsTransports refuses a resource whose type is not reached over the transport of
// its agent, whether the model says what the agent is, leaves it out, or leaves that to the version
// before.
func TestTypeIsHeldToItsTransports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why       string
		over      []string
		transport string // "": the model does not describe the agent
		base      string // that of the agent in the version before, for a partial export
		refused   bool
	}{
		{"no declaration, here", nil, "local", "", false},
		{"no declaration, elsewhere", nil, "http", "", true},
		{"no declaration, and nobody says where", nil, "", "", false},
		{"an API, here", []string{"http"}, "local", "", true},
		{"an API, and nobody says where", []string{"http"}, "", "", true},
		{"an API", []string{"http", "netconf"}, "netconf", "", false},
		{"anywhere", []string{"*"}, "netconf", "", false},
		{"partial: the version before says where", nil, "", "http", true},
		{"partial: the version before says where, and it fits", []string{"http"}, "", "http",
			false},
		{"partial: the version before does not know the agent", []string{"http"}, "", "none", true},
		{"partial: the agent moves", []string{"http"}, "local", "http", true},
	} {
		r := newRig(t)
		x := deploy.Export{Model: modelOf(res("a")), NoRelease: true}
		if c.base != "" {
			before := modelOf()
			if c.base != "none" {
				before.Agents = []resource.Agent{{Name: "a", Transport: c.base, Lanes: 1}}
			}
			r.export(deploy.Export{Model: before})
			x.Model.Resources[0].Set, x.Partial = "s", true
		}
		if c.transport != "" {
			x.Model.Agents = []resource.Agent{{Name: "a", Transport: c.transport, Lanes: 1}}
		}
		r.typeOver(c.over...)
		_, err := r.e.Export(context.Background(), "e", x)
		problems, _ := diag.Of(err)
		switch {
		case !c.refused && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.refused && (len(problems) != 1 || problems[0].Resource != string(id("a")) ||
			!strings.Contains(problems[0].Message, "t::T is not reached over the transport ")):
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

// TestStoredVersionIsHeldToTransports never calls a handler over a transport that its type does not
// have, also for a version that was stored before the type said so.
func TestStoredVersionIsHeldToTransports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.typeOver(schema.AnyTransport)
	m := modelOf(res("a"))
	m.Agents = []resource.Agent{{Name: "a", Transport: "http", Lanes: 1}}
	r.export(deploy.Export{Model: m})
	r.typeOver()
	r.drain()
	r.same("calls", r.took("read", "create"))
	r.want("a", state.StatusUnavailable)
	const why = `t::T is not reached over the transport http of the agent "a"; it is over local`
	if got := r.row("a").Reason; got != why {
		t.Errorf("reason %q, want %q", got, why)
	}
	if !r.row("a").NextAt.IsZero() {
		t.Error("it is tried again by itself, and cannot pass")
	}
	dry, err := r.e.DryRun(context.Background(), "e", 1)
	if err != nil || len(dry.Planned) != 1 || !dry.Planned[0].Failed {
		t.Error(dry, err)
	}
	r.same("calls", r.took("read", "create"))
}

// TestPurgeIsNotStranded refuses to have an agent be reached in a way that is not for what has left
// and is still to be purged there, by an export, a plan or the release of an earlier version.
func TestPurgeIsNotStranded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	over := func(transport string, rs ...resource.Resource) deploy.Export {
		m := modelOf(rs...)
		m.Agents = []resource.Agent{{Name: "a", Transport: transport, Lanes: 1}}
		return deploy.Export{Model: m}
	}
	a := res("a")
	a.PurgeOnDelete = true
	r.export(over("http"))
	r.export(over("local", a))
	r.drain()
	refused := func(why, hint string, err error) {
		t.Helper()
		problems, _ := diag.Of(err)
		if len(problems) != 1 || problems[0].Resource != string(id("a")) ||
			!strings.Contains(problems[0].Hint, hint) ||
			!strings.Contains(problems[0].Message,
				"to be purged, but t::T is not reached over the transport http") {
			t.Errorf("%s: %v", why, err)
		}
		if env, _ := r.home.Env(t.Context(), "e"); env.Released == 1 || env.Releasing != 0 {
			t.Errorf("%s: version %d is in force", why, env.Released)
		}
	}
	_, err := r.e.Export(t.Context(), "e", over("http"))
	refused("an export", "apply once with the agent as it was", err)
	_, err = r.e.Preview(t.Context(), "e", over("http"), deploy.CompareOptions{})
	refused("a plan", "apply once with the agent as it was", err)
	_, err = r.e.Release(t.Context(), "e", 1, state.Origin{})
	refused("a release", "apply once with the agent as it was", err)
	r.w.fail["a"] = errors.New("broken")
	r.release()
	_, err = r.e.Export(t.Context(), "e", over("http"))
	refused("while its purge fails", "southbound forget", err)
	if _, err := r.e.Forget(t.Context(), "e", id("a")); err != nil {
		t.Fatal(err)
	}
	r.export(over("http"))
}

// TestWaveStrandsNothing refuses the same of what a wave of an apply leaves to a later one, as
// something still requires it.
func TestWaveStrandsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	anywhere, _ := r.types.Type("t::Assigned")
	here, _ := r.types.Type("t::T")
	typ := anywhere.Type
	typ.Transports = []string{schema.AnyTransport}
	types, err := schema.NewRegistry(here.Type, typ)
	if err != nil {
		t.Fatal(err)
	}
	r.types, r.e.Types = types, types
	x := resource.Resource{ID: "t::Assigned[a,name=x]", Type: "t::Assigned", Agent: "a",
		Attributes: map[string]any{"name": "x"}}
	export := func(transport string, rs ...resource.Resource) deploy.Export {
		m := modelOf(rs...)
		m.Agents = []resource.Agent{{Name: "a", Transport: transport, Lanes: 1},
			{Name: "b", Transport: "local", Lanes: 1}}
		return deploy.Export{Model: m}
	}
	a := res("a")
	a.PurgeOnDelete = true
	r.export(export("local", a, x, on("b", res("b<a"))))
	r.drain()
	wave := export("http", x, on("b", res("b")))
	wave.Target, wave.Defer = state.Filter{Agents: []string{"a"}}, true
	_, err = r.e.Export(t.Context(), "e", wave)
	if problems, _ := diag.Of(err); len(problems) != 1 || problems[0].Resource != string(id("a")) ||
		!strings.Contains(problems[0].Message, "is left to a later wave") {
		t.Errorf("a wave: %v", err)
	}
}

// TestForgetPurged lets go of what was purged and has left the model, and of nothing else.
func TestForgetPurged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	purged, failed, wanted := res("purged"), res("failed"), res("wanted")
	purged.Purged, failed.Purged, wanted.Purged = true, true, true
	left := res("left")
	r.w.things["failed"] = "x"
	r.w.fail["failed"] = errors.New("broken")
	r.release(purged, failed, wanted, left)
	r.release(wanted)
	all := []resource.ID{purged.ID, failed.ID, wanted.ID, left.ID, id("unknown")}
	got, err := r.e.ForgetPurged(t.Context(), "e", all)
	if err != nil || !slices.Equal(got, all[:1]) {
		t.Errorf("it has let go of %v: %v", got, err)
	}
	for _, id := range all {
		_, err := r.e.Row(t.Context(), "e", id)
		if gone := id == purged.ID || id == all[4]; gone != fault.Is(err, fault.NotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestReportOnlyIsLeftAlone pins that what is only compared is not purged either when it leaves.
func TestReportOnlyIsLeftAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	foreign := res("a")
	foreign.ReportOnly, foreign.PurgeOnDelete = true, true
	r.w.things["a"] = "somebody's"
	r.release(foreign)
	x := deploy.Export{Model: modelOf()}
	if d := (author{rig: r}).preview(x, false); len(told(d, "delete")) > 0 {
		t.Errorf("the plan says %+v", d.Planned)
	}
	r.release()
	if r.w.things["a"] != "somebody's" {
		t.Errorf("it is %q, and was never ours", r.w.things["a"])
	}
	r.want("a", state.StatusOrphaned)
}
