package lsm_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/handlers/fs"
	"southbound/handlers/std"
	"southbound/shared/compile"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/types"
	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/service/lifecycle"
)

// run compiles a model that knows instances, and returns what it says of them.
func run(t *testing.T, all []lsm.Instance, text string) (*compile.Compiled, *lsm.Services, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.cf"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var known []schema.Type
	for _, d := range []provider.Definition{fs.File(), std.Null()} {
		known = append(known, d.Type)
	}
	r, err := schema.NewRegistry(known...)
	if err != nil {
		t.Fatal(err)
	}
	s := lsm.NewServices(all)
	c, err := compile.Model(context.Background(), compile.Options{Path: dir, Types: r, Services: s})
	return c, s, err
}

// sites is a model of a service with an attribute of each modifier.
const sites = `import lsm
import lsm::fsm
import lsm::allocators
import southbound
import southbound::fs
entity Site extends lsm::ServiceEntity:
    string name
    int? port = null
    lsm::attribute_modifier port__modifier = "r"
    string doc = "none yet"
    lsm::attribute_modifier doc__modifier = "r"
end
index Site(instance_id)
here = southbound::Agent(name="here")
implementation page for Site:
    self.owned_resources += southbound::fs::File(
        agent=here, path="/srv/{{ self.name }}", content="hello", purged=self.purge_resources
    )
end
implement Site using parents, page
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
`

// unrolled makes an instance of each record but for what allocators choose.
const unrolled = sites + `
for one in lsm::all(binding):
    s = Site(instance_id=one["id"], entity_binding=binding, name=one["attributes"]["name"])
end
`

func two() []lsm.Instance {
	return []lsm.Instance{
		{ID: "i1", Service: "site", State: "up", Attributes: map[string]any{"name": "a"}},
		{
			ID: "i2", Service: "site", State: "deleting", Purge: true, Version: 7,
			Attributes: map[string]any{"name": "b", "port": json.Number("8001")},
		},
		{ID: "x", Service: "other", Attributes: map[string]any{"port": 8000}},
	}
}

// TestInstances unrolls instances: their resources are sets of their own, and those of one that is
// deleted are purged.
func TestInstances(t *testing.T) {
	t.Parallel()
	c, _, err := run(t, two(), strings.Replace(unrolled, "name=one[\"attributes\"][\"name\"]",
		`**one["attributes"]`, 1))
	if err != nil {
		t.Fatal(err)
	}
	got := []string{}
	for _, e := range c.Resources.Resources {
		b, _ := json.Marshal([]any{
			e.Members["set"], e.Members["purged"], e.Members["attributes"].(map[string]any)["path"],
		})
		got = append(got, string(b))
	}
	want := []string{`["i1",null,"/srv/a"]`, `["i2",true,"/srv/b"]`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPlugins calls each plugin.
func TestPlugins(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"all", `v = [one["id"] for one in lsm::all(binding)]`, "['i1', 'i2']"},
		{"all has what is known", `v = [one["version"] for one in lsm::all(binding)]`, "[0, 7]"},
		{"all of versions", `v = [one["id"] for one in lsm::all(binding, min_version=1)]`, "[]"},
		{"all up to a version", `v = [one["id"] for one in lsm::all(binding, max_version=0)]`,
			"['i1', 'i2']"},
		{"has_current_state", `v = lsm::has_current_state(Site[instance_id="i1"], "up")`, "True"},
		{"has_current_state of several",
			`v = lsm::has_current_state(Site[instance_id="i1"], ["failed", "start"])`, "False"},
		{"purge_resources", `i = Site[instance_id="i2"]
v = i.purge_resources`, "True"},
		{"get_service_binding_version", `many = lsm::ServiceBinding(
    service_entity_name="many", default_version=0, versions=[one, two])
one = lsm::ServiceBindingVersion(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, version=0)
two = lsm::ServiceBindingVersion(
    service_entity="__config__::Site", lifecycle=lsm::fsm::service, version=1)
found = lsm::get_service_binding_version(many, 1)
v = found == two`, "True"},
		{"format", `v = lsm::format("{} {x[y]}", [1], {"x": {"y": 2}})`, "'1 2'"},
		{"used values", `v = lsm::allocators::get_used_values(binding, "port")`, "[8001]"},
		{"render_dot", `v = lsm::render_dot(lsm::fsm::simple) != ""`, "True"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _, err := run(t, two(), unrolled+test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := types.Repr(c.Variables["v"]); got != test.want {
				t.Errorf("it is %s, and not %s", got, test.want)
			}
		})
	}
}

// TestReadOnly has the model say what attributes of instances are.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	const choose = `
for one in lsm::all(binding):
    i = Site[instance_id=one["id"]]
    lsm::allocators::get_first_free_integer(i, "port", 8000, 8002, used_values=[8002])
    i.doc = lsm::update_read_only_attribute(i, "doc", value="# {{ i.name }}")
end
lsm::set_suggested_values("names", ["a", {"label": "B", "value": "b"}])
`
	all := append(two(), lsm.Instance{
		ID: "i3", Service: "site", Attributes: map[string]any{"name": "c"},
	})
	_, s, err := run(t, all[:3], unrolled+choose)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]any{}
	for _, u := range s.Updates {
		got[u.Instance+" "+u.Path] = u.Value
	}
	want := map[string]any{"i1 port": int64(8000), "i1 doc": "# a", "i2 doc": "# b"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	suggested := []lsm.Suggestion{{
		Parameter: "names",
		Values:    []any{"a", map[string]any{"label": "B", "value": "b"}},
	}}
	if d := cmp.Diff(suggested, s.Suggestions); d != "" {
		t.Error(d)
	}
	if _, _, err := run(t, all, unrolled+choose); err == nil ||
		!strings.Contains(err.Error(), "all values from 8000 to 8002 are used") {
		t.Errorf("a third instance gets a number: %v", err)
	}
}

// nested is a model whose members have numbers, in lists and alone.
const nested = `import lsm
import lsm::fsm
import lsm::allocators
entity Vpn extends lsm::ServiceEntity:
    string name
end
entity Site extends lsm::EmbeddedEntity:
    string name
    int? vlan = null
    lsm::attribute_modifier vlan__modifier = "r"
end
entity Uplink extends lsm::EmbeddedEntity:
    int? vlan = null
    lsm::attribute_modifier vlan__modifier = "r"
end
Vpn.sites [0:] lsm::__rwplus__ Site._vpn [1]
Vpn.uplink [0:1] lsm::__rwplus__ Uplink._vpn [1]
index Site(name, _vpn)
index Vpn(instance_id)
implement Vpn using parents
implement Site using parents
implement Uplink using parents
binding = lsm::ServiceEntityBindingV2(
    service_entity="__config__::Vpn", lifecycle=lsm::fsm::simple, service_entity_name="vpn",
)
for one in lsm::all(binding):
    Vpn(instance_id=one["id"], entity_binding=binding, name=one["id"])
end
i = Vpn[instance_id="i"]
j = Vpn[instance_id="j"]
`

// TestMembers gives numbers to members: one that a member has stays, in whichever set of the
// instance it is, and no other member gets it.
func TestMembers(t *testing.T) {
	t.Parallel()
	site := func(name string, vlan any) map[string]any {
		return map[string]any{"name": name, "vlan": vlan}
	}
	set := func(uplink any, sites ...any) map[string]any {
		return map[string]any{"uplink": uplink, "sites": sites}
	}
	up := func(vlan any) map[string]any { return map[string]any{"vlan": vlan} }
	all := []lsm.Instance{
		{
			ID: "i", Service: "vpn", Attributes: set(up(nil), site("a", nil), site("a.b", nil),
				site("c", json.Number("4"))),
			Sets: lsm.Sets{
				Rollback: set(nil, site("a", json.Number("2")), site("old", json.Number("1"))),
			},
		},
		{
			ID: "j", Service: "vpn", Attributes: set(nil, site("a", nil)),
			Sets: lsm.Sets{Active: set(up(json.Number("1")))},
		},
	}
	free := func(instance, path string) string {
		return "lsm::allocators::get_first_free_integer(" + instance + `, "` + path + `", 1, 9)`
	}
	for _, test := range []struct{ name, text, want string }{
		{"it stays", `v = ` + free("i", "sites[name=c].vlan"), "4"},
		{"it stays of another set", `v = ` + free("i", "sites[name=a].vlan"), "2"},
		{"another member", `v = ` + free("i", "sites[name=a.b].vlan"), "3"},
		{"of another instance", `v = ` + free("j", "sites[name=a].vlan"), "3"},
		{"twice the same", `v = [` + free("i", "sites[name=a.b].vlan") + ", " +
			free("i", "sites[name=a.b].vlan") + "]", "[3, 3]"},
		{"two at once", `a = ` + free("j", "sites[name=a].vlan") + `
b = a > 0 ? ` + free("i", "sites[name=a.b].vlan") + ` : 0
v = [a, b]`, "[3, 5]"},
		{"one alone", `v = ` + free("i", "uplink.vlan"), "2"},
		{"used values of members", `v = lsm::allocators::get_used_values(binding, "sites.vlan")`,
			"[4, 2, 1]"},
		{"used values count keys for nothing", `v = lsm::allocators::get_used_values(binding,
    "sites[name=c].vlan")`, "[4, 2, 1]"},
		{"used values of one alone", `v = lsm::allocators::get_used_values(binding,
    "uplink.vlan")`, "[1]"},
		{"used values that were given", `a = ` + free("j", "sites[name=a].vlan") + `
v = a > 0 ? lsm::allocators::get_used_values(binding, "sites.vlan") : []`, "[3, 4, 2, 1]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, _, err := run(t, all, nested+test.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := types.Repr(c.Variables["v"]); got != test.want {
				t.Errorf("it is %s, and not %s", got, test.want)
			}
		})
	}
	for path, want := range map[string]string{
		"sites[name=none].vlan": "leads to no member of the instance i",
		"sites.vlan":            "leads to 3 members of the instance i",
		"sites[name=a.vlan":     "there is no ] behind the keys of sites",
		"sites":                 "leads to an entity",
	} {
		_, _, err := run(t, all, nested+free("i", path))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and not %q", path, err, want)
		}
	}
}

// TestWrong holds what plugins say of wrong arguments.
func TestWrong(t *testing.T) {
	t.Parallel()
	const i = `
i = Site[instance_id="i1"]
`
	for _, test := range []struct{ name, text, want string }{
		{"customers set it", `lsm::update_read_only_attribute(i, "name", "x")`,
			"name is set by customers: its modifier is rw"},
		{"no such attribute", `lsm::update_read_only_attribute(i, "prot", 1)`,
			"Site has no attribute prot"},
		{"a wrong type", `lsm::update_read_only_attribute(i, "port", "x")`,
			"a string ('x') is not a valid int"},
		{"a relation", `lsm::update_read_only_attribute(i, "resources", "x")`,
			"resources leads to an entity"},
		{"a path", `lsm::update_read_only_attribute(i, "port.x", "x")`,
			"port is not an embedded entity"},
		{"an instance", `lsm::update_read_only_attribute(i, "doc", i)`,
			"an instance of Site is not a valid string"},
		{"an empty range", `lsm::allocators::get_first_free_integer(i, "port", 2, 1)`,
			"range_start is 2, and range_end is 1"},
		{"nobody's", `lsm::allocators::get_first_free_integer(
    Site(instance_id="new", entity_binding=binding, name="n"), "port", 1, 2)`,
			"the instance is not one of lsm::all"},
		{"no name", `lsm::set_suggested_values("", [])`, "a parameter has a name"},
		{"a number", `lsm::set_suggested_values("x", [1])`, "value 0: an int is not a string"},
		{"half a dict", `lsm::set_suggested_values("x", [{"label": "l"}])`,
			"not a dict with label and value"},
		{"no such version", `b = lsm::ServiceBinding(service_entity_name="m", default_version=0,
    versions=lsm::ServiceBindingVersion(
        service_entity="x", lifecycle=lsm::fsm::simple, version=0))
lsm::get_service_binding_version(b, 4)`, "the binding has no version 4"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := run(t, two(), unrolled+i+test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, and not %q", err, test.want)
			}
		})
	}
}

var update = flag.Bool("update", false, "write the ready-made lifecycles anew")

// golden holds that the machines that the lifecycle is tested with are those of the module.
func golden(t *testing.T, m *lifecycle.Machine) {
	t.Helper()
	path := "../../service/lifecycle/testdata/" + m.Name + ".json"
	want, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, append(want, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != string(want)+"\n" {
		t.Errorf("%s is stale; run the test with -update (%v)", path, err)
	}
}

// TestReadyMade checks the ready-made lifecycles.
func TestReadyMade(t *testing.T) {
	t.Parallel()
	c, _, err := run(t, nil, "import lsm\nimport lsm::fsm\n")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, o := range c.Result.Instances {
		if o.Type().FullName() != "lsm::fsm::ReadyMade" {
			continue
		}
		n++
		m, err := lsm.Machine(func(of types.Object, name string) (types.Value, error) {
			v, ok := of.(*eval.Instance).Value(name)
			if !ok {
				return nil, eval.ErrMissing
			}
			return v, nil
		}, o)
		if err != nil {
			t.Fatal(err)
		}
		if wrong := m.Check(); len(wrong) > 0 {
			t.Errorf("%s: %v", m.Name, wrong)
		}
		golden(t, m)
	}
	if n != 6 {
		t.Errorf("there are %d lifecycles", n)
	}
}
