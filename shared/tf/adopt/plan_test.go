package adopt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/tf/wire"
)

// demo returns a provider with the schemas in testdata.
func demo(t testing.TB) []Provider {
	t.Helper()
	text, err := os.ReadFile("testdata/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.ParseSchemas(text)
	if err != nil {
		t.Fatal(err)
	}
	return []Provider{{Name: "demo", Address: "registry.opentofu.org/acme/demo", Schemas: s,
		Types: map[string]Type{
			"demo_role": {Name: "tf::demo::Role", Ordered: true,
				Attributes: map[string]string{"name": "name", "owner": "owner", "limit": "limit", "old": "old",
					"note": "note", "password": "password", "codes": "codes", "token_wo": "token_wo",
					"token_wo_version": "token_wo_version", "tags": "tags", "type": "type_", "any": "any",
					"parts": "parts", "only": "only", "rule": "rule", "by": "by", "timeouts": "timeouts"},
				Outputs: map[string]string{"password": "password"}},
			"demo_secret": {Name: "tf::demo::Secret", Attributes: map[string]string{"length": "length"},
				Outputs: map[string]string{"result": "result"}},
		}}}
}

type golden struct {
	file    string
	archive *txtar.Archive
	state   []byte
}

// cases returns the golden cases.
func cases(t testing.TB) []golden {
	t.Helper()
	files, err := filepath.Glob("testdata/plan/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var out []golden
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil || len(a.Files) != 2 || a.Files[0].Name != "state.json" || a.Files[1].Name != "plan.json" {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, golden{name, a, a.Files[0].Data})
	}
	return out
}

// TestPlan compares the plans of the golden cases. With SOUTHBOUND_GOLDEN=write, it writes them.
func TestPlan(t *testing.T) {
	t.Parallel()
	for _, x := range cases(t) {
		s, err := Parse(x.state)
		if err != nil {
			t.Errorf("%s: %v", x.file, err)
			continue
		}
		p, err := s.Plan(Options{Providers: demo(t)})
		if err != nil {
			t.Errorf("%s: %v", x.file, err)
			continue
		}
		got := shown(t, p)
		if bytes.Contains(got, []byte("s3cret")) {
			t.Errorf("%s: the plan has a secret in clear:\n%s", x.file, got)
		}
		if diff := cmp.Diff(string(x.archive.Files[1].Data), string(got)); diff != "" {
			t.Errorf("%s:\n%s", x.file, diff)
		}
		if os.Getenv("SOUTHBOUND_GOLDEN") == "write" {
			x.archive.Files[1].Data = got
			if err := os.WriteFile(x.file, txtar.Format(x.archive), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
}

// shown returns a plan as JSON, without the objects, and with the names of outputs only.
func shown(t *testing.T, p *Plan) []byte {
	t.Helper()
	type one struct {
		Address    string
		ID         resource.ID
		Attributes json.RawMessage
		Requires   []resource.ID `json:",omitempty"`
		Optional   []string      `json:",omitempty"`
		Notes      []string      `json:",omitempty"`
		Outputs    []string      `json:",omitempty"`
	}
	all := struct {
		Agents    []Agent
		Resources []one
		Left      []Left     `json:",omitempty"`
		Variables []Variable `json:",omitempty"`
	}{Agents: p.Agents, Left: p.Left, Variables: p.Variables}
	for _, r := range p.Resources {
		text, err := resource.CanonicalValue(r.Attributes)
		if err != nil {
			t.Fatal(err)
		}
		o := one{Address: r.Address, ID: r.ID, Attributes: text, Requires: r.Requires, Optional: r.Optional,
			Notes: r.Notes}
		for name := range r.Outputs {
			o.Outputs = append(o.Outputs, name)
		}
		all.Resources = append(all.Resources, o)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(all); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// role returns a state with one object of the type demo_role.
func role(t *testing.T, members string) *State {
	t.Helper()
	s, err := Parse([]byte(stateOf(`{"mode": "managed", "type": "demo_role", "name": "a", "provider": "` +
		provider + `", "instances": [{` + members + `}]}`)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestUpgrade pins when an object is upgraded by the provider, and the reasons if it cannot be.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	const present, former = `{"name": "a", "id": "1"}`, `{"title": "a", "id": "1"}`
	for name, x := range map[string]struct {
		members string
		answer  string // "": an error; "-": no upgrade is possible
		calls   int
		left    string
	}{
		"present version":           {`"schema_version": 2, "attributes": ` + present, "-", 0, ""},
		"older":                     {`"schema_version": 1, "attributes": ` + former, present, 1, ""},
		"older, no upgrade":         {`"schema_version": 1, "attributes": ` + former, "-", 0, "has to upgrade"},
		"older, refused":            {`"attributes": ` + former, "", 1, "cannot upgrade its state: no"},
		"newer":                     {`"schema_version": 3, "attributes": ` + present, present, 0, "version 3"},
		"another form":              {`"schema_version": 2, "attributes": ` + former, present, 1, ""},
		"another form, no upgrade":  {`"schema_version": 2, "attributes": ` + former, "-", 0, "has to upgrade"},
		"the upgrade has that form": {`"schema_version": 1, "attributes": ` + former, former, 1, "title"},
		"the upgrade gives null":    {`"schema_version": 1, "attributes": ` + former, "null", 1, "no object"},
	} {
		calls := 0
		o := Options{Providers: demo(t), Upgrade: func(p *Provider, o *Object) (json.RawMessage, error) {
			if calls++; x.answer == "" {
				return nil, errors.New("no")
			}
			return json.RawMessage(x.answer), nil
		}}
		if x.answer == "-" {
			o.Upgrade = nil
		}
		p, err := role(t, x.members).Plan(o)
		switch {
		case err != nil || calls != x.calls:
			t.Errorf("%s: %d upgrades, %v", name, calls, err)
		case x.left == "" && len(p.Left) > 0, x.left != "" && (len(p.Left) != 1 ||
			!strings.Contains(p.Left[0].Reason, x.left) || p.Left[0].Hint == ""):
			t.Errorf("%s: left %+v, want %q", name, p.Left, x.left)
		case x.left == "" && string(p.Resources[0].Object.Attributes) == x.answer && x.calls > 0:
			t.Errorf("%s: the former state is lost", name)
		}
	}
}

// TestAgents pins the names of agents, and the errors of options that name some.
func TestAgents(t *testing.T) {
	t.Parallel()
	state := func(providers ...string) *State {
		var all []string
		for i, p := range providers {
			all = append(all, `{"mode": "managed", "type": "demo_role", "name": "r`+string(rune('a'+i))+
				`", "provider": "`+p+`", "instances": [{"schema_version": 2, "attributes": {"name": "x"}}]}`)
		}
		s, err := Parse([]byte(stateOf(strings.Join(all, ","))))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	const west, inside = provider + ".west", `module.net[\"eu\"].` + provider
	for name, x := range map[string]struct {
		state  *State
		agents map[string]string
		want   string // names, or the error
	}{
		"by default":               {state(provider, west, inside), nil, "demo demo-west net__eu__-demo"},
		"one":                      {state(provider, provider), map[string]string{"": "db"}, "db"},
		"by name":                  {state(provider, west), map[string]string{"demo": "a", "demo.west": "b"}, "a b"},
		"one of two":               {state(provider, west), map[string]string{"demo.west": "b"}, "demo b"},
		"the same name twice":      {state(provider, west), map[string]string{"demo": "a", "demo.west": "a"}, "a a-"},
		"one name for two":         {state(provider, west), map[string]string{"": "a"}, "2 configurations"},
		"a name of none":           {state(provider), map[string]string{"dem": "a"}, `no configuration "dem"`},
		"a name that is not valid": {state(provider), map[string]string{"": "a\nb"}, "no valid name"},
	} {
		p, err := x.state.Plan(Options{Providers: demo(t), Agents: x.agents})
		got := ""
		if err != nil {
			if got = err.Error(); !fault.Is(err, fault.Usage) || fault.HintOf(err) == "" {
				t.Errorf("%s: %v", name, err)
			}
		} else {
			for _, a := range p.Agents {
				got += " " + a.Name
			}
		}
		if !strings.Contains(got, x.want) {
			t.Errorf("%s: %s, want %s", name, got, x.want)
		}
	}
}

// TestManyInstances pins the requirements between two resources with many instances: those with the
// same key, also if one identifier is that of many, and none with a note if there is no such key.
func TestManyInstances(t *testing.T) {
	t.Parallel()
	many := func(name, dependencies string, from int) string {
		var all []string
		for n := from; n < from+maxRequires+1; n++ {
			all = append(all, fmt.Sprintf(`{"index_key": %d, "schema_version": 2, "dependencies": [%s],
				"attributes": {"id": "same", "name": "same"}}`, n, dependencies))
		}
		return `{"mode": "managed", "type": "demo_role", "name": "` + name + `", "provider": "` + provider +
			`", "instances": [` + strings.Join(all, ",") + `]}`
	}
	for from, want := range map[int]string{0: "tf::demo::Role[demo,label=one-0]", 1000: ""} {
		s, err := Parse([]byte(stateOf(many("one", "", 0) + "," + many("two", `"demo_role.one"`, from))))
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Plan(Options{Providers: demo(t)})
		if err != nil {
			t.Fatal(err)
		}
		r := &p.Resources[maxRequires+1]
		switch {
		case want != "" && (len(r.Requires) != 1 || string(r.Requires[0]) != want || len(r.Notes) > 0),
			want == "" && (len(r.Requires) != 0 || len(r.Notes) != 1):
			t.Errorf("%s requires %v, notes %v", r.ID, r.Requires, r.Notes)
		}
	}
}
