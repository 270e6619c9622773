package deploy_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// issuing is a handler that issues a password to each role, keeps it as a secret output, and logs it.
type issuing struct {
	handler
	password *string
	kept     *func() // called once, after a role has kept its outputs
}

// Keeps implements provider.Keeper.
func (issuing) Keeps(r provider.Resource) bool { return strings.HasPrefix(nameOf(r), "role") }

func (h issuing) keep(ctx *provider.Context, r provider.Resource) error {
	ctx.Info("it is", "value", r.Attributes["value"])
	if !h.Keeps(r) {
		return nil
	}
	err := ctx.KeepWithOutputs(fmt.Appendf(nil, "value %v", r.Attributes["value"]), map[string]any{
		"password": *h.password, "users": []map[string]int{{"pin": 70070070}}})
	ctx.Info("the password is " + *h.password)
	if after := *h.kept; after != nil {
		*h.kept = nil
		after()
	}
	return err
}

// Create implements provider.Handler.
func (h issuing) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	if err := h.keep(ctx, req.Resource); err != nil {
		return provider.Result{}, err
	}
	return h.handler.Create(ctx, req)
}

// Update implements provider.Handler.
func (h issuing) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	if err := h.keep(ctx, req.Resource); err != nil {
		return provider.Result{}, err
	}
	return h.handler.Update(ctx, req)
}

// outputRig is a rig with that handler.
func outputRig(t *testing.T) (*rig, issuing) {
	t.Helper()
	r := newRig(t)
	r.e.Sealer = r.home.Sealer(r.home.Secrets(), "")
	h := issuing{handler{r.w}, new(string), new(func())}
	r.e.Handlers["t::T"] = h
	return r, h
}

// using describes a resource with a value of parts, which is purged when it leaves the model.
func using(t *testing.T, agent, name string, parts ...any) resource.Resource {
	t.Helper()
	x := res(name)
	x.Agent, x.PurgeOnDelete = agent, true
	x.ID = resource.NewID("t::T", agent, resource.Key{Name: "name", Value: name})
	if len(parts) == 1 {
		x.Attributes["value"] = parts[0]
		return x
	}
	text, err := resource.NewText(parts...)
	if err != nil {
		t.Fatal(err)
	}
	x.Attributes["value"] = text
	return x
}

func outputOf(of, path string) resource.Secret {
	return resource.Secret{Source: resource.Output{Of: id(of), Path: path}.Source()}
}

// TestOutputs pins the life of secret outputs: known after the run that keeps them, followed in the
// same apply, unchanged while the values are, removed in reverse order, and in clear nowhere.
func TestOutputs(t *testing.T) {
	t.Parallel()
	r, h := outputRig(t)
	const first, second = "first-marker-password", "second-marker-password"
	*h.password = first
	export := func(value string) deploy.Exported {
		t.Helper()
		role := using(t, "a", "role", value)
		return r.export(deploy.Export{Model: modelOf(role,
			using(t, "b", "app", "listen 80\nurl=app:", outputOf("role", "password"), "@db\n"),
			using(t, "c", "pin", outputOf("role", "users/0/pin")),
			using(t, "c", "whole", outputOf("role", "users")),
			using(t, "c", "none", "text"))})
	}
	took := func(what string, want ...string) {
		t.Helper()
		r.drain()
		got := r.took("create", "update", "delete")
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	export("one")
	if row := must(r.e.Row(t.Context(), "e", using(t, "b", "app", "").ID))(t); !slices.Equal(row.Missing,
		[]string{`secret output "password" of t::T[a,name=role]`}) {
		t.Errorf("before the run of the role: %q", row.Missing)
	}
	took("the first apply", "create role", "create app", "create pin", "create whole", "create none")
	version := export("one").Version
	took("nothing new")
	if version != 1 {
		t.Errorf("an unchanged export made version %d", version)
	}
	export("two")
	took("another state with equal outputs", "update role")
	if got := r.w.things["app"]; got != "listen 80\nurl=app:"+first+"@db\n" {
		t.Errorf("the application has %q", got)
	}
	*h.password = second
	export("three")
	took("other outputs", "update role", "update app") // the others run, and find the same values
	r.w.mu.Lock()
	if got, want := fmt.Sprint(r.w.things), "map[app:listen 80\nurl=app:"+second+
		"@db\n none:text pin:70070070 role:three whole:[{\"pin\":70070070}]]"; got != want {
		t.Errorf("there is %s, want %s", got, want)
	}
	r.w.mu.Unlock()
	nowhere(t, r.home.Dir, first, second, "marker-password", "70070070")
	logged := fmt.Sprint(must(r.home.Actions(t.Context(), "e", state.ActionQuery{}))(t))
	if strings.Contains(logged, "marker-password") || strings.Contains(logged, "70070070") {
		t.Error("an output is in a log")
	}
	if !strings.Contains(logged, "listen 80") || !strings.Contains(logged, "the password is ") {
		t.Error("lines without a secret are hidden")
	}
	r.export(deploy.Export{Model: modelOf(using(t, "c", "none", "text"))})
	r.drain()
	got := r.took("delete")
	if len(got) != 4 || got[3] != "delete role" {
		t.Errorf("removed in the order %q", got)
	}
	if left := r.keptOf(id("role")); len(left) != 0 {
		t.Errorf("kept %v", left)
	}
}

// TestOutputsAfterCrash pins that outputs are followed whose run was lost after it had kept them: the
// next run keeps equal outputs, which are no change.
func TestOutputsAfterCrash(t *testing.T) {
	t.Parallel()
	r, h := outputRig(t)
	*h.password = "marker-password"
	*h.kept = func() {
		r.clock.advance(time.Hour)
		now := r.clock.Now()
		if _, err := r.home.Acquire(t.Context(), "e", "a", "another", now,
			now.Add(time.Second)); err != nil {
			t.Error(err)
		}
		r.clock.advance(time.Minute)
	}
	app := using(t, "b", "app", outputOf("role", "password"))
	r.export(deploy.Export{Model: modelOf(using(t, "a", "role", "one"), app)})
	if _, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if *h.kept != nil {
		t.Fatal("the role has kept nothing")
	}
	first := r.keptOf(id("role"))[id("role")].Revision
	r.drain()
	if _, err := r.e.Sweep(t.Context(), "e"); err != nil {
		t.Fatal(err)
	}
	r.drain()
	row := must(r.e.Row(t.Context(), "e", app.ID))(t)
	if row.Status() != state.StatusDeployed || r.w.things["app"] != "marker-password" {
		t.Errorf("the application is %s: %s", row.Status(), row.Why())
	}
	if now := r.keptOf(id("role"))[id("role")].Revision; now != first {
		t.Error("equal outputs were written again")
	}
}

// TestOutputsRefused pins the errors of references to outputs that cannot be resolved.
func TestOutputsRefused(t *testing.T) {
	t.Parallel()
	r, h := outputRig(t)
	*h.password = "marker-password"
	agent := resource.Agent{Name: "b", Transport: "local", Lanes: 1,
		Options: map[string]any{"user": outputOf("role", "password")}}
	for _, c := range []struct {
		reason string
		with   resource.Resource
		agents []resource.Agent
		want   string
	}{
		{"a resource that is not in the version", using(t, "b", "app", outputOf("rule", "password")),
			nil, `refers to secret output "password" of t::T[a,name=rule], which does not exist`},
		{"a type that keeps nothing", using(t, "b", "app", resource.Secret{
			Source: "output:t::Assigned[a,name=role]#password"}), nil, "t::Assigned keeps no secret outputs"},
		{"itself", using(t, "a", "app", outputOf("app", "password")), nil,
			"dependency cycle: t::T[a,name=app] requires t::T[a,name=app]"},
		{"an option of an agent", using(t, "b", "app", "x"), []resource.Agent{agent},
			`agent "b": an option is secret output "password" of t::T[a,name=role]`},
	} {
		m := modelOf(using(t, "a", "role", "one"), c.with)
		m.Agents = c.agents
		if _, err := r.e.Export(t.Context(), "e", deploy.Export{Model: m}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.reason, err, c.want)
		}
	}
	wrong := using(t, "b", "wrong", outputOf("role", "pasword"))
	none := using(t, "b", "none", outputOf("plain", "password"))
	r.export(deploy.Export{Model: modelOf(using(t, "a", "role", "one"), using(t, "a", "plain", "one"),
		wrong, none)})
	r.drain()
	row := must(r.e.Row(t.Context(), "e", wrong.ID))(t)
	if row.Class != provider.NeedsChange || !strings.Contains(row.Reason, `has no member "pasword"`) ||
		!strings.Contains(row.Reason, `"password"`) {
		t.Errorf("a wrong path: %s, %s", row.Class, row.Reason)
	}
	row = must(r.e.Row(t.Context(), "e", none.ID))(t)
	if row.Status() != state.StatusUndefined ||
		!strings.Contains(row.Why(), `secret output "password" of t::T[a,name=plain]`) {
		t.Errorf("no kept state: %s, %s", row.Status(), row.Why())
	}
}

// TestOutputsInPlans pins the planned changes of resources that refer to secret outputs.
func TestOutputsInPlans(t *testing.T) {
	t.Parallel()
	r, h := outputRig(t)
	*h.password = "marker-password"
	of := func(value string) *model.Model {
		return modelOf(using(t, "a", "role", value), using(t, "a", "plain", "one"),
			using(t, "b", "app", "url=", outputOf("role", "password")),
			using(t, "c", "both", outputOf("role", "password"), resource.Parameter{Name: "p"}),
			using(t, "c", "none", outputOf("plain", "password")))
	}
	const undefined = "\nboth undefined (parameter \"p\" is not known)"
	for _, c := range []struct{ why, value, want string }{
		{"the plan makes all of them", "one", "plain create\nrole create\n" +
			"app create after password of role\n" +
			"both undefined (secret output \"password\" of t::T[a,name=role] is not known)\n" +
			"none create after password of plain"},
		{"an unchanged resource has kept nothing", "one", "plain none\nrole none\napp none" +
			undefined + "\nnone undefined (secret output \"password\" of t::T[a,name=plain] is not known)"},
		{"a resource that changes may keep another output", "two", "plain none\nrole update\n" +
			"app none may password of role (value may change: secret output \"password\" of " +
			"t::T[a,name=role] is known after apply)" + undefined +
			"\nnone undefined (secret output \"password\" of t::T[a,name=plain] is not known)"},
	} {
		asDryRun(t, r, deploy.Export{Model: of(c.value)}, c.want)
		for _, read := range []bool{false, true} {
			p := must(r.e.Preview(t.Context(), "e", deploy.Export{Model: of(c.value)},
				deploy.CompareOptions{Read: read}))(t)
			var got []string
			for _, w := range p.Planned {
				got = append(got, stepText(w))
			}
			want := strings.Split(c.want, "\n")
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%s, read: %v: got %q, want %q", c.why, read, got, want)
			}
		}
		r.export(deploy.Export{Model: of(c.value)})
		r.drain()
	}
}
