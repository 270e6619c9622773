//go:build servers

package tf

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/schema"
	"southbound/shared/tf/process"
	"southbound/shared/tf/tftest"
	"southbound/shared/tf/wire"
)

// TestOpenStack registers the types of a large provider, and validates and plans its objects without a
// cloud: of a create, of an update, and of a replacement.
func TestOpenStack(t *testing.T) {
	t.Parallel()
	r := started(t, tftest.OpenStack(t))
	types, problems := Types(Origin{Local: "openstack", Address: "example.com/a/openstack"}, r.schemas)
	if len(problems) > 0 {
		t.Error(problems)
	}
	registry, err := schema.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(registry.Names()); n != len(r.schemas.Resources)+len(r.schemas.DataSources) || n < 150 {
		t.Errorf("%d types of %d resources and %d data sources", n, len(r.schemas.Resources), len(r.schemas.DataSources))
	}
	const subnet = "openstack_networking_subnet_v2"
	attributes := map[string]any{"network_id": "n-1", "cidr": "10.0.0.0/24", "name": "web",
		"dns_nameservers": []any{"10.0.0.1", "10.0.0.2"},
		"allocation_pool": []any{map[string]any{"start": "10.0.0.10", "end": "10.0.0.20"}}}
	if found := r.validate(subnet, attributes); len(found) > 0 {
		t.Error(found)
	}
	with := func(name string, v any) map[string]any {
		out := map[string]any{name: v}
		for n, v := range attributes {
			if n != name {
				out[n] = v
			}
		}
		return out
	}
	if found := r.validate(subnet, with("ip_version", int64(5))); !slices.ContainsFunc(found, func(d wire.Diagnostic) bool {
		return strings.Contains(d.Summary+d.Detail, "ip_version to be one of")
	}) {
		t.Errorf("ip_version 5 is not refused: %+v", found)
	}
	ty := r.compiled(r.schemas.Resources[subnet])
	first := r.plan(subnet, ty.Null(), nil, attributes)
	if got := pointersOf(first.changes.Computed); !strings.Contains(" "+got+" ", " id ") || len(first.replaced) > 0 {
		t.Errorf("a create: known later %s, replaced because of %v", got, first.replaced)
	}
	made, err := cty.Transform(first.state, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		switch ty := v.Type(); {
		case v.IsKnown():
			return v, nil
		case ty == cty.String:
			return cty.StringVal("made"), nil
		case ty == cty.Bool:
			return cty.False, nil
		default:
			return cty.NullVal(ty), nil
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		why, changed, replaced string
		attributes             map[string]any
	}{
		{"nothing differs", "", "", attributes},
		{"a name is changed in place", "name", "", with("name", "db")},
		{"another network replaces the subnet", "network_id", "network_id", with("network_id", "n-2")},
	} {
		p := r.plan(subnet, made, first.answer.Private, x.attributes)
		if got := pointersOf(p.changes.Changed); got != x.changed {
			t.Errorf("%s: changed %s", x.why, got)
		}
		if got := pointersOf(p.replaced); got != x.replaced {
			t.Errorf("%s: replaced because of %s", x.why, got)
		}
	}
}

// validate returns the diagnostics of a configuration.
func (r *running) validate(name string, attributes map[string]any) (found []wire.Diagnostic) {
	r.t.Helper()
	ty := r.compiled(r.schemas.Resources[name])
	config, err := ty.FromAttributes(attributes)
	if err != nil {
		r.t.Fatal(err)
	}
	err = r.pool.Do(r.t.Context(), r.target, func(ctx context.Context, c *process.Call) (err error) {
		found, err = c.ValidateResource(ctx, name, r.encode(ty, config))
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}
