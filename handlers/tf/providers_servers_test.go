//go:build servers

package tf

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/schema"
	"southbound/shared/tf/process"
	"southbound/shared/tf/tftest"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// running is a configured provider with its schemas.
type running struct {
	t       *testing.T
	pool    *process.Pool
	target  process.Target
	schemas *wire.Schemas
}

func run(t *testing.T, program string, config map[string]any) *running {
	t.Helper()
	r := started(t, program)
	ty := r.compiled(r.schemas.Provider)
	v, err := ty.FromAttributes(config)
	if err != nil {
		t.Fatal(err)
	}
	r.target.Config = r.encode(ty, v)
	r.target.Start = process.Configure("1.9.0", r.target.Config, true)
	return r
}

// started returns a provider that is not configured.
func started(t *testing.T, program string) *running {
	t.Helper()
	r := &running{t: t, pool: process.New(process.Options{}), target: process.Target{Program: program}}
	t.Cleanup(r.pool.Close)
	r.do(func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error) {
		s, d, err := c.Schemas(ctx)
		r.schemas = &s
		return d, err
	})
	return r
}

func (r *running) do(f func(ctx context.Context, c *process.Call) ([]wire.Diagnostic, error)) {
	r.t.Helper()
	err := r.pool.Do(r.t.Context(), r.target, func(ctx context.Context, c *process.Call) error {
		d, err := f(ctx, c)
		if wire.Failed(d) {
			r.t.Errorf("%+v", d)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *running) compiled(s wire.Schema) *value.Type {
	r.t.Helper()
	ty, err := value.Compile(&s)
	if err != nil {
		r.t.Fatal(err)
	}
	return ty
}

func (r *running) encode(ty *value.Type, v cty.Value) wire.DynamicValue {
	r.t.Helper()
	out, err := encode(ty, v)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func (r *running) decode(ty *value.Type, v wire.DynamicValue) cty.Value {
	r.t.Helper()
	out, err := decode(ty, v)
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// planned is a plan with all that it was made of.
type planned struct {
	config, state cty.Value
	answer        wire.PlanAnswer
	changes       value.Changes
	replaced      []cty.Path
}

func (r *running) plan(name string, prior cty.Value, private []byte, attributes map[string]any) planned {
	r.t.Helper()
	ty := r.compiled(r.schemas.Resources[name])
	config, err := ty.FromAttributes(attributes)
	if err != nil {
		r.t.Fatal(err)
	}
	out := planned{config: config}
	r.do(func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		out.answer, err = c.Plan(ctx, wire.Plan{Type: name, Prior: r.encode(ty, prior),
			Proposed: r.encode(ty, ty.Proposed(prior, config)), Config: r.encode(ty, config),
			Private: private})
		return out.answer.Diagnostics, err
	})
	out.state = r.decode(ty, out.answer.Planned)
	if out.answer.LegacyTypes {
		out.state = ty.Normalize(out.state)
	} else if bad := ty.CheckPlan(prior, config, out.state); bad != nil {
		r.t.Error(bad)
	}
	out.changes = ty.Changes(prior, out.state, config)
	var requires []cty.Path
	for _, p := range out.answer.RequiresReplace {
		requires = append(requires, pathOf(p))
	}
	out.replaced = ty.Replacements(requires, prior, out.state)
	return out
}

func (r *running) apply(name string, prior cty.Value, p planned) (cty.Value, []byte) {
	r.t.Helper()
	ty := r.compiled(r.schemas.Resources[name])
	var a wire.ApplyAnswer
	r.do(func(ctx context.Context, c *process.Call) (d []wire.Diagnostic, err error) {
		a, err = c.Apply(ctx, wire.Apply{Type: name, Prior: r.encode(ty, prior),
			Planned: p.answer.Planned, Config: r.encode(ty, p.config), Private: p.answer.Private})
		return a.Diagnostics, err
	})
	state := r.decode(ty, a.State)
	if a.LegacyTypes {
		return ty.Normalize(state), a.Private
	}
	if bad := ty.CheckApply(p.state, state); bad != nil {
		r.t.Error(bad)
	}
	return state, a.Private
}

func pointersOf(paths []cty.Path) string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = value.Pointer(p)
	}
	return strings.Join(out, " ")
}

// TestRealProviders registers the types of real providers, makes an object of each by attributes as
// a document has them, and plans it again: unchanged, and with a change that replaces it.
func TestRealProviders(t *testing.T) {
	t.Parallel()
	for local, x := range map[string]struct {
		program                      func(testing.TB) string
		store                        bool
		typ                          string
		attributes, changed          map[string]any
		computed, differ, replacedBy string
	}{
		"fw": {tftest.Framework, true, "fw_thing",
			map[string]any{"name": "box", "parts": []any{map[string]any{"name": "lid"}},
				"any": []any{"a"}, "tags": map[string]any{"a": "b"}},
			map[string]any{"name": "crate", "parts": []any{map[string]any{"name": "lid"}},
				"any": []any{"a"}, "tags": map[string]any{"a": "c"}},
			"id", "name tags/a", "name"},
		"sdk": {tftest.SDK, true, "sdk_server",
			map[string]any{"name": "web", "network": map[string]any{"cidr": "10.0.0.0/8"},
				"labels": []any{"x", "y"}, "rule": []any{map[string]any{"port": int64(80)}}},
			map[string]any{"name": "web", "network": map[string]any{"cidr": "10.0.0.0/8"},
				"labels": []any{"x", "y"}, "rule": []any{map[string]any{"port": int64(80)}}, "zone": "b"},
			"id", "zone", "zone"},
		"time": {tftest.Time, false, "time_static",
			map[string]any{"triggers": map[string]any{"a": "1"}},
			map[string]any{"triggers": map[string]any{"a": "2"}},
			"id", "triggers/a", "rfc3339 triggers"},
	} {
		t.Run(local, func(t *testing.T) {
			t.Parallel()
			var config map[string]any
			if x.store {
				server := httptest.NewServer(&tftest.Store{})
				t.Cleanup(server.Close)
				config = map[string]any{"url": server.URL}
			}
			r := run(t, x.program(t), config)
			types, problems := Types(Origin{Local: local, Address: "example.com/a/" + local}, r.schemas)
			if len(problems) > 0 {
				t.Error(problems)
			}
			if _, err := schema.NewRegistry(types...); err != nil {
				t.Error(err)
			}
			ty := r.compiled(r.schemas.Resources[x.typ])
			first := r.plan(x.typ, ty.Null(), nil, x.attributes)
			if got := pointersOf(first.changes.Computed); !strings.Contains(" "+got+" ", " "+x.computed+" ") {
				t.Errorf("known after the create: %s", got)
			}
			state, private := r.apply(x.typ, ty.Null(), first)
			again := r.plan(x.typ, state, private, x.attributes)
			if c := again.changes; len(c.Changed)+len(c.Computed)+len(again.replaced) > 0 {
				t.Errorf("a second plan changes %s, and replaces because of %s",
					pointersOf(append(c.Changed, c.Computed...)), pointersOf(again.replaced))
			}
			other := r.plan(x.typ, state, private, x.changed)
			if got := pointersOf(other.changes.Changed); got != x.differ {
				t.Errorf("changed: %s, want %s", got, x.differ)
			}
			if got := pointersOf(other.replaced); got != x.replacedBy {
				t.Errorf("replaced because of %s, want %s", got, x.replacedBy)
			}
		})
	}
}
