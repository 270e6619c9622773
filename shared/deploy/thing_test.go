package deploy_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestOneThingUnderTwoNames pins that what different names stand for is described once for an agent.
func TestOneThingUnderTwoNames(t *testing.T) {
	t.Parallel()
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{{Name: "name", Type: "String", Behaviour: schema.Namevar}, {Name: "value", Type: "Optional[String]"}},
		Thing: func(attrs map[string]any) string { v, _ := attrs["value"].(string); return v }})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.e.Types = types
	of := func(agent, name string, value any) resource.Resource {
		return resource.Resource{ID: resource.NewID("t::T", agent, resource.Key{Name: "name", Value: name}), Type: "t::T", Agent: agent, Attributes: map[string]any{"name": name, "value": value}}
	}
	for why, c := range map[string]struct {
		all  []resource.Resource
		want string
	}{
		"the same thing":      {[]resource.Resource{of("a", "x", "v"), of("a", "y", "w"), of("a", "z", "v")}, "the same thing as t::T[a,name=x]: v"},
		"of different agents": {[]resource.Resource{of("a", "x", "v"), of("b", "y", "v")}, ""},
		"not known":           {[]resource.Resource{of("a", "x", resource.Parameter{Name: "p"}), of("a", "y", nil)}, ""},
	} {
		problems := r.e.Validate(&deploy.Model{Resources: c.all})
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, c.want)) {
			t.Errorf("%s: %v", why, problems)
		}
	}
}
