package adopt

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"southbound/shared/fault"
)

const provider = `provider[\"registry.terraform.io/acme/demo\"]`

// stateOf returns a state file with one resource.
func stateOf(resource string) string {
	return `{"version": 4, "terraform_version": "1.9.0", "serial": 3, "lineage": "x", "outputs": {},
		"resources": [` + resource + `]}`
}

// TestParse pins the errors of state files as a whole: their kind, and the reason.
func TestParse(t *testing.T) {
	t.Parallel()
	one := func(members string) string {
		return stateOf(`{"mode": "managed", "type": "demo_role", "name": "a", "provider": "` + provider +
			`", ` + members + `}`)
	}
	for name, x := range map[string]struct {
		text string
		kind fault.Kind
		says string
	}{
		"empty file":        {"", fault.Invalid, "line 1: it ends too early"},
		"cut off":           {one("")[:60], fault.Invalid, "it ends too early"},
		"no JSON":           {"resource {", fault.Invalid, "line 1: it is not JSON"},
		"line of an error":  {"{\n\n\"version\": x}", fault.Invalid, "line 3: it is not JSON"},
		"a list":            {"[]", fault.Invalid, "has another form"},
		"no state":          {"{}", fault.Invalid, "it has no version"},
		"version 3":         {`{"version": 3, "modules": []}`, fault.Unsupported, `version "3"`},
		"version 5":         {`{"version": 5}`, fault.Unsupported, `version "5"`},
		"version as a text": {`{"version": "4"}`, fault.Unsupported, `version "\"4\""`},
		"encrypted":         {`{"version": 4, "encrypted_data": "x"}`, fault.Unsupported, "encrypted"},
		"encrypted by OpenTofu": {`{"serial": 1, "lineage": "x", "meta": {}, "encrypted_data": "x",
			"encryption_version": "v0"}`, fault.Unsupported, "encrypted"},
		"resources as a map": {`{"version": 4, "resources": {}}`, fault.Invalid, "resources has another form"},
		"a key that is a list": {one(`"instances": [{"index_key": [1], "attributes": {}}]`), fault.Invalid,
			"neither a text nor a whole number"},
		"a key that is no whole number": {one(`"instances": [{"index_key": 1.5, "attributes": {}}]`),
			fault.Invalid, "neither a text nor a whole number"},
		"the same object twice": {one(`"instances": [{"attributes": {}}, {"attributes": {}}]`), fault.Invalid,
			"two objects demo_role.a"},
		"no name": {stateOf(`{"mode": "managed", "type": "demo_role", "instances": [{}]}`), fault.Invalid,
			"no address"},
		"a module that is none": {stateOf(`{"module": "modul.x", "type": "a_b", "name": "a", "mode": "managed",
			"instances": [{}]}`), fault.Invalid, "no address"},
		"a module with an open index": {stateOf(`{"module": "module.x[\"a", "type": "a_b", "name": "a",
			"mode": "managed", "instances": [{}]}`), fault.Invalid, "no address"},
	} {
		_, err := Parse([]byte(x.text))
		if !fault.Is(err, x.kind) || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		} else if fault.HintOf(err) == "" && x.kind != fault.Invalid {
			t.Errorf("%s: %v has no hint", name, err)
		}
	}
}

// TestLimits pins that a state file is bounded.
func TestLimits(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for n := range maxInstances + 1 {
		fmt.Fprintf(&many, `%s{"index_key":%d}`, map[bool]string{true: ",", false: ""}[n > 0], n)
	}
	_, err := Parse([]byte(stateOf(`{"mode":"managed","type":"a_b","name":"a","instances":[` + many.String() + `]}`)))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "more than 200000 objects") {
		t.Errorf("too many objects: %v", err)
	}
	if _, err := Parse(make([]byte, MaxBytes+1)); !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "256 MiB is the maximum") {
		t.Errorf("too large: %v", err)
	}
}

// TestDamage pins the reasons why one object of a state file cannot be used.
func TestDamage(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"attributes": {}`:                                                                 "",
		`"attributes": {}, "status": "tainted"`:                                            "",
		`"attributes": {}, "status": "odd"`:                                                "its status is not known",
		`"attributes": null`:                                                               "it has no attributes",
		`"attributes_flat": {"id": "1"}`:                                                   "written by Terraform 0.11",
		`"attributes": {}, "private": "%"`:                                                 "its private data is damaged",
		`"attributes": {}, "private": "e30="`:                                              "",
		`"attributes": {}, "dependencies": ["x"]`:                                          "its dependencies are damaged",
		`"attributes": {}, "dependencies": ["a_b.c", "module.m.a_b.c"]`:                    "",
		`"attributes": {}, "dependencies": ["module.m[\"k\"].a_b.c"]`:                      "",
		`"attributes": {}, "sensitive_attributes": [[]]`:                                   "sensitive attributes are damaged",
		`"attributes": {}, "sensitive_attributes": [[{"type": "get"}]]`:                    "sensitive attributes are damaged",
		`"attributes": {}, "sensitive_attributes": [{"type": "get"}]`:                      "sensitive attributes are damaged",
		`"attributes": {}, "sensitive_attributes": [[{"type": "get_attr", "value": "a"}]]`: "",
	} {
		s, err := Parse([]byte(stateOf(`{"mode": "managed", "type": "demo_role", "name": "a", "provider": "` +
			provider + `", "instances": [{` + members + `}]}`)))
		if err != nil || len(s.Objects) != 1 {
			t.Errorf("%s: %v", members, err)
			continue
		}
		if got := s.Objects[0].Damage; (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
	}
	for _, odd := range []string{"", "provider.demo", `provider[demo]`, `provider[\"a/b\"].`, `provider[\"a/b\"]x`} {
		s, err := Parse([]byte(stateOf(`{"mode": "managed", "type": "demo_role", "name": "a", "provider": "` +
			odd + `", "instances": [{"attributes": {}}]}`)))
		if err != nil || s.Objects[0].Damage != "its provider is not readable" {
			t.Errorf("%s: %v", odd, err)
		}
	}
}

// TestAddresses pins that addresses with each kind of key are read and written as Terraform has them,
// and the labels that are made of them.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ module, key, address, label string }{
		{"", "null", "demo_role.a", "a"},
		{"", "0", "demo_role.a[0]", "a-0"},
		{"", `"eu-1"`, `demo_role.a["eu-1"]`, "a-eu-1"},
		{"", `"a/b \"c\" ${d} %{e}"`, `demo_role.a["a/b \"c\" $${d} %%{e}"]`, "a-a_b__c____d____e_"},
		{"", `"ünï"`, `demo_role.a["ünï"]`, "a-ünï"},
		{"module.m", "null", "module.m.demo_role.a", "m/a"},
		{`module.m[\"x.y\"].module.n[2]`, "1", `module.m["x.y"].module.n[2].demo_role.a[1]`, "m-x.y/n-2/a-1"},
		{`module.m[\"a\\\"]b\"]`, "null", `module.m["a\"]b"].demo_role.a`, "m-a__b/a"},
		{`module.m[\"$${x}\"]`, "null", `module.m["$${x}"].demo_role.a`, "m-__x_/a"},
	} {
		s, err := Parse([]byte(stateOf(`{"module": "` + x.module + `", "mode": "managed", "type": "demo_role",
			"name": "a", "provider": "` + provider + `", "instances": [{"index_key": ` + x.key +
			`, "attributes": {}}]}`)))
		if err != nil {
			t.Errorf("%s: %v", x.address, err)
			continue
		}
		o := &s.Objects[0]
		if o.Name() != x.address || labelOf(o.Address) != x.label {
			t.Errorf("%s: %s, label %s, want %s", x.address, o.Name(), labelOf(o.Address), x.label)
		}
	}
	long := Address{Type: "a_b", Name: strings.Repeat("ü", 200)}
	if l := labelOf(long); len(l) > maxLabel+10 || !strings.Contains(l, "~") {
		t.Errorf("a long label is %q", l)
	}
}

// TestConfigurations pins how configurations of providers are read.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Configuration{
		`provider["h/n/t"]`:                        {Provider: "h/n/t"},
		`provider["h/n/t"].west`:                   {Provider: "h/n/t", Alias: "west"},
		`provider["h/n/t"].by["eu"]`:               {Provider: "h/n/t", Alias: `by["eu"]`},
		`module.a["x"].module.b.provider["h/n/t"]`: {Module: `module.a["x"].module.b`, Provider: "h/n/t"},
	} {
		got, err := ParseConfiguration(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// TestPaths pins how the marks of sensitive values are read.
func TestPaths(t *testing.T) {
	t.Parallel()
	const attr = `{"type": "get_attr", "value": "a"}`
	index := func(v, typ string) string {
		return `{"type": "index", "value": {"value": ` + v + `, "type": ` + typ + `}}`
	}
	for text, want := range map[string]string{
		"[" + attr + "]": "a",
		"[" + attr + "," + index("3", `"number"`) + "]":                                        "a/3",
		"[" + attr + "," + index(`"x/y"`, `"string"`) + "]":                                    "a/x~1y",
		"[" + attr + "," + index(`{"b": 1}`, `["object", {"b": "number"}]`) + "," + attr + "]": "a",
	} {
		if got, err := parsePath([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

// FuzzParse pins that Parse ends without a panic, that its result can be planned, and that errors
// contain nothing of the file.
func FuzzParse(f *testing.F) {
	for _, x := range cases(f) {
		f.Add(x.state)
	}
	f.Add([]byte(`{"version": 4, "resources": [{"mode": "managed", "type": "demo_role", "name": "a",
		"module": "module.a[\"x\"]", "instances": [{"index_key": "\u0000", "attributes": {"id": 1e999}}]}]}`))
	providers := demo(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		p, err := s.Plan(Options{Providers: providers})
		if err != nil {
			return
		}
		if len(p.Resources)+len(p.Left) != len(s.Objects) {
			t.Errorf("%d resources and %d others of %d objects", len(p.Resources), len(p.Left), len(s.Objects))
		}
		var ids []string
		for _, r := range p.Resources {
			ids = append(ids, string(r.ID))
		}
		slices.Sort(ids)
		if len(slices.Compact(ids)) != len(p.Resources) {
			t.Error("two resources have the same id")
		}
	})
}
