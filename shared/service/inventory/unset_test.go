package inventory_test

import (
	"strings"
	"testing"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// fleet is a strict service with members without keys, and with relations that the model sets.
func fleet() *definition.Service {
	at := func(name, kind string, m definition.Modifier) definition.Attribute {
		return definition.Attribute{Name: name, Type: kind, Modifier: m}
	}
	kind := at("kind", "string", "r")
	kind.Default, kind.DefaultSet = "plain", true
	disk := definition.Part{Attributes: []definition.Attribute{at("size", "int", "rw+"), at("serial", "string", "r")}}
	return &definition.Service{
		Name: "fleet", Strict: true,
		Part: definition.Part{
			Attributes: []definition.Attribute{at("note", "string", "rw+")},
			Embedded: []definition.Embedded{
				{
					Name: "hosts", Modifier: "rw+",
					Part: definition.Part{
						Attributes: []definition.Attribute{at("cpus", "int", "rw+"), kind},
						Embedded:   []definition.Embedded{{Name: "disks", Modifier: "rw+", Part: disk}},
					},
				},
				{
					Name: "found", Modifier: "r", Limits: definition.Limits{Lower: 1},
					Part: definition.Part{Attributes: []definition.Attribute{at("id", "int", "r")}},
				},
			},
			Relations: []definition.Relation{
				{Name: "sites", Modifier: "r", Service: "site", Limits: definition.Limits{Lower: 1}},
				{Name: "home", Modifier: "r", Service: "site", Limits: definition.Limits{Lower: 1, Upper: ptr(1)}},
			},
		},
	}
}

// TestUnsetByModel edits an instance with values that only the model sets, some of them not set yet.
func TestUnsetByModel(t *testing.T) {
	t.Parallel()
	const (
		one = `{"cpus": 1, "kind": "plain", "disks": [{"size": 5, "serial": "a"}, {"size": 5, "serial": "b"}]}`
		two = `{"cpus": 1, "kind": "fast", "disks": []}`
		is  = `{"note": "n", "hosts": [` + one + `, ` + two + `], "found": [], "sites": [], "home": null}`
	)
	for _, test := range []struct{ name, target, value, path, want string }{
		{"another attribute", "note", `"m"`, "", ""},
		{"the same members", "hosts", `[` + one + `, ` + two + `]`, "", ""},
		{"members in another order", "hosts", `[` + two + `, ` + one + `]`, "", ""},
		{"a member goes", "hosts", `[` + two + `]`, "", ""},
		{"a member comes", "hosts", `[` + one + `, ` + two + `, {"cpus": 3, "disks": []}]`, "", ""},
		{"a member is there twice", "hosts", `[` + two + `, ` + two + `]`, "hosts", "only the model sets it"},
		{"the model's value moves", "hosts", `[{"cpus": 2, "kind": "fast", "disks": []}]`, "hosts",
			"only the model sets it"},
		{"the model's value below", "hosts", strings.Replace(`[`+one+`]`, `"b"`, `"c"`, 1), "hosts",
			"only the model sets it"},
		{"members of the model", "found", `[{"id": 1}]`, "found", "only the model sets it"},
		{"relations of the model", "sites", `["s"]`, "sites", "only the model sets it"},
		{"a relation of the model", "home", `"s"`, "home", "only the model sets it"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			edit := inventory.Edit{
				Operation: inventory.Replace, Target: test.target, Value: object(t, `{"v": `+test.value+`}`)["v"],
			}
			_, err := inventory.Edited(fleet(), object(t, is), []inventory.Edit{edit})
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) ||
				!strings.Contains(err.Error(), test.path)):
				t.Errorf("it says %v, and not %s: %s", err, test.path, test.want)
			}
		})
	}
}

// TestLimitsOfModel holds that the model keeps the limits of a relation that it has set.
func TestLimitsOfModel(t *testing.T) {
	t.Parallel()
	s := fleet()
	is := object(t, `{"note": "n", "hosts": [], "found": [], "sites": [], "home": null}`)
	set, err := inventory.Told(s, is, "sites", []any{"s"})
	if err != nil {
		t.Fatal(err)
	}
	if set, err = inventory.Told(s, set, "found", []any{map[string]any{"id": 1}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sites", "found"} {
		_, err := inventory.Told(s, set, name, []any{})
		told(t, err, name, inventory.CodeMembers, "it has 0 members")
	}
}
