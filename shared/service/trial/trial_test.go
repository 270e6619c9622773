package trial_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/trial"
)

// machine is a lifecycle with a state that deploys.
var states = []lifecycle.State{
	{Name: "start"}, {Name: "going", ExportResources: true, PurgeResources: true},
	{Name: "up", ExportResources: true},
}

func service(name string, attributes ...definition.Attribute) definition.Service {
	return definition.Service{
		Name: name, Default: true, Part: definition.Part{Attributes: attributes},
		Lifecycle: lifecycle.Machine{Initial: "start", States: states},
	}
}

func attribute(kind, validation string, parameters map[string]any) definition.Attribute {
	a := definition.Attribute{Name: "a", Type: kind, Modifier: definition.Once}
	if validation != "" {
		a.ValidationType, a.ValidationParam = &validation, parameters
	}
	return a
}

// TestValues holds that a value is made up for each type that an attribute may have, and that it is
// one that an order may give.
func TestValues(t *testing.T) {
	t.Parallel()
	num := func(v string) json.Number { return json.Number(v) }
	for _, c := range []struct {
		a    definition.Attribute
		want any
	}{
		{attribute("string", "", nil), "trial"},
		{attribute("string[]", "", nil), []any{"trial"}},
		{attribute("bool", "", nil), true},
		{attribute("int", "", nil), int64(1)},
		{attribute("float", "", nil), "1.0"},
		{attribute("dict", "", nil), map[string]any{}},
		{attribute("list", "", nil), []any{}},
		{attribute("string", "enum", map[string]any{"values": []any{"red", "blue"}}), "red"},
		{attribute("int", "pydantic.conint", map[string]any{"ge": num("100"), "le": num("199")}), int64(100)},
		{attribute("int", "pydantic.conint", map[string]any{"gt": num("4094")}), int64(4095)},
		{attribute("int", "pydantic.conint", map[string]any{"lt": num("-7")}), int64(-8)},
		{attribute("int", "pydantic.conint", map[string]any{"ge": num("10"), "multiple_of": num("7")}), int64(14)},
		{attribute("float", "pydantic.confloat", map[string]any{"gt": num("0"), "lt": num("1")}), 0.5},
		{attribute("string", "pydantic.constr", map[string]any{"regex": "^[a-z]{2}[0-9]$"}), nil},
		{attribute("string", "pydantic.constr", map[string]any{"regex": "^/[a-z]+$"}), "/trial"},
		{attribute("string", "pydantic.constr", map[string]any{"min_length": num("12")}), "00:00:5e:00:53:01"},
		{attribute("string", "ipaddress.ip_address", nil), "192.0.2.1"},
		{attribute("string", "ipaddress.ip_network", nil), "192.0.2.0/24"},
		{attribute("string", "pydantic.EmailStr", nil), "trial@example.com"},
	} {
		s := service("s", c.a)
		all, skipped := trial.Of([]definition.Service{s})
		if c.want == nil {
			if len(all) > 0 || len(skipped) != 1 || skipped[0].Attribute != "a" {
				t.Errorf("%+v: %v, %v", c.a, all, skipped)
			}
			continue
		}
		if len(all) != 1 || len(skipped) > 0 {
			t.Errorf("%+v: %v", c.a, skipped)
			continue
		}
		if got := all[0].Attributes["a"]; fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s %v: %v, and not %v", c.a.Type, c.a.ValidationParam, got, c.want)
		}
		if _, err := inventory.Ordered(&s, all[0].Attributes); err != nil {
			t.Error(err)
		}
		if all[0].State != "up" {
			t.Errorf("it is in the state %s", all[0].State)
		}
	}
}

// TestDefaults holds that examples go before defaults, and defaults before all else.
func TestDefaults(t *testing.T) {
	t.Parallel()
	usual := attribute("int", "", nil)
	usual.Default, usual.DefaultSet = json.Number("7"), true
	shown := usual
	shown.Name, shown.Annotations = "b", map[string]any{"example": "9"}
	null := attribute("string?", "", nil)
	null.Name = "c"
	model := attribute("int", "", nil)
	model.Name, model.Modifier = "d", definition.ReadOnly
	all, skipped := trial.Of([]definition.Service{service("s", usual, shown, null, model)})
	if len(all) != 1 {
		t.Fatal(skipped)
	}
	want := "map[a:7 b:9 c:<nil> d:<nil>]"
	if got := fmt.Sprint(all[0].Attributes); got != want {
		t.Errorf("%s, and not %s", got, want)
	}
}

// TestRelations makes up the instances that one leads to, and leaves out those that need each other.
func TestRelations(t *testing.T) {
	t.Parallel()
	one := 1
	relation := func(to string) []definition.Relation {
		return []definition.Relation{{
			Name: "to", Modifier: definition.Once, Service: to,
			Limits: definition.Limits{Lower: 1, Upper: &one},
		}}
	}
	site, customer := service("site"), service("customer", attribute("string", "", nil))
	site.Relations = relation("customer")
	left, right := service("left"), service("right")
	left.Relations, right.Relations = relation("right"), relation("left")
	all, skipped := trial.Of([]definition.Service{site, customer, left, right})
	if len(all) != 2 || len(skipped) != 2 {
		t.Fatalf("%v, %v", all, skipped)
	}
	if all[0].Attributes["to"] != all[1].ID {
		t.Errorf("it leads to %v", all[0].Attributes)
	}
	if got := trial.With(all[0], all); len(got) != 2 {
		t.Errorf("with the site: %v", got)
	}
	if got := trial.With(all[1], all); len(got) != 1 || got[0].Service != "customer" {
		t.Errorf("with the customer: %v", got)
	}
}

// TestMembers makes up as few members as there may be, and one where there may be none, with
// different keys.
func TestMembers(t *testing.T) {
	t.Parallel()
	for _, lower := range []int{0, 1, 3} {
		s := service("s")
		name := attribute("string", "", nil)
		s.Embedded = []definition.Embedded{{
			Name: "parts", Modifier: definition.ReadWrite, Limits: definition.Limits{Lower: lower},
			Part: definition.Part{
				Attributes: []definition.Attribute{name}, KeyAttributes: []string{"a"},
			},
		}}
		all, skipped := trial.Of([]definition.Service{s})
		if len(all) != 1 {
			t.Fatal(skipped)
		}
		var keys []string
		for _, m := range all[0].Attributes["parts"].([]any) {
			keys = append(keys, m.(map[string]any)["a"].(string))
		}
		if len(keys) != max(lower, 1) || len(slices.Compact(slices.Sorted(slices.Values(keys)))) != len(keys) {
			t.Errorf("%d: %v", lower, keys)
		}
	}
}
