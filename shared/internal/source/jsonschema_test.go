package source

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"southbound/shared/deploy"
	"southbound/shared/schema"
)

// TestJSONSchema holds the schema against the reader: editors accept what is accepted, and refuse
// what most often is wrong.
func TestJSONSchema(t *testing.T) {
	t.Parallel()
	text, err := JSONSchema(testTypes(t))
	if err != nil {
		t.Fatal(err)
	}
	whole := compiledSchema(t, text)
	one := func(r string) string {
		return `{"southbound": 1, "defaults": {"agent": "a"}, "resources": [` + r + `]}`
	}
	for _, c := range []struct {
		why, text string
		good      bool
	}{
		{"the least", `{"southbound": 1}`, true},
		{"nothing stands for nothing",
			`{"southbound": 1, "defaults": null, "agents": null, "resources": []}`, true},
		{"no list of resources", `{"southbound": 1, "resources": null}`, false},
		{"everything", `{"southbound": 1, "defaults": {"agent": "a", "set": "s", "purged": false, "purge_on_delete": false, "report_only": false, "send_event": true, "receive_events": true, "managed": true},
			"agents": {"a": {"transport": "ssh", "lanes": 4, "host": {"parameter": "h"}, "port": 22}}, "resources": [{"type": "fs::File", "agent": "b", "set": "t", "attributes": {"path": "/x"},
			"requires": ["fs::Directory[a,path=/]"], "purged": true, "managed": false}]}`, true},
		{"forms", one(
			`{"type": "fs::File", "attributes": {"path": "/x", "content": {"file": "f"}, "mode": {"parameter": "m"}, "size": {"fact": "f", "of": "std::Null[a,name=x]"}}}`), true},
		{"a secret",
			one(
				`{"type": "fs::File", "attributes": {"path": "/x", "content": {"secret": "env:A", "version": 7}}}`), true},
		{"a literal",
			one(`{"type": "fs::File", "attributes": {"path": "/x", "content": {"value": "x"}}}`),
			true},
		{"any value",
			one(`{"type": "std::Null", "attributes": {"name": "x", "a": {"b": [1, null]}}}`), true},
		{"an agent of its own",
			`{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "attributes": {"name": "x"}}]}`, true},
		{"a title", one(`{"type": "fs::File", "title": "/x"}`), true},
		{"a title beside attributes",
			one(`{"type": "net::Port", "title": "h", "attributes": {"port": 80}}`), true},
		{"a title, and no attributes that must be", one(`{"type": "test::Zone", "title": "h"}`),
			false},
		{"an empty title", one(`{"type": "fs::File", "title": ""}`), false},
		{"no format", `{"resources": []}`, false},
		{"another format", `{"southbound": 2}`, false},
		{"several agents",
			`{"southbound": 1, "defaults": {"agents": ["a", "b"]}, "resources": [{"type": "std::Null", "agents": ["c"], "attributes": {"name": "x"}}]}`, true},
		{"agent and agents", `{"southbound": 1, "defaults": {"agent": "a", "agents": ["b"]}}`,
			false},
		{"agent and agents at a resource",
			`{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "agents": ["b"], "attributes": {"name": "x"}}]}`, false},
		{"no agents at all", `{"southbound": 1, "defaults": {"agents": []}}`, false},
		{"an agent twice", `{"southbound": 1, "defaults": {"agents": ["a", "a"]}}`, false},
		{"unknown member", `{"southbound": 1, "resorces": []}`, false},
		{"unknown type", one(`{"type": "fs::Fil", "attributes": {"path": "/x"}}`), false},
		{"unknown attribute",
			one(`{"type": "fs::File", "attributes": {"path": "/x", "contnt": "x"}}`), false},
		{"no attributes", one(`{"type": "fs::File"}`), false},
		{"no name", one(`{"type": "fs::File", "attributes": {}}`), false},
		{"wrong value", one(`{"type": "fs::File", "attributes": {"path": "/x", "mode": 644}}`),
			false},
		{"number out of range",
			one(`{"type": "net::Port", "attributes": {"host": "h", "port": 0}}`), false},
		{"misplaced attribute",
			one(`{"type": "fs::File", "mode": "0644", "attributes": {"path": "/x"}}`), false},
		{"flag that is text",
			one(`{"type": "fs::File", "purged": "yes", "attributes": {"path": "/x"}}`), false},
		{"purged", one(`{"type": "test::Zone", "purged": true, "attributes": {"name": "x"}}`),
			true},
		{"not purged", one(`{"type": "test::Zone", "purged": false, "attributes": {"name": "x"}}`),
			false},
		{"purged by default",
			`{"southbound": 1, "defaults": {"agent": "a", "purged": true}, "resources": [{"type": "test::Zone", "attributes": {"name": "x"}}]}`, true},
		{"purged by default, and not named",
			`{"southbound": 1, "defaults": {"agent": "a", "purged": true}, "resources": [{"type": "test::Zone", "attributes": {}}]}`, false},
		{"purged by default, and this one is not",
			`{"southbound": 1, "defaults": {"agent": "a", "purged": true}, "resources": [{"type": "test::Zone", "purged": false, "attributes": {"name": "x"}}]}`, false},
		{"not purged by default",
			`{"southbound": 1, "defaults": {"agent": "a", "purged": false}, "resources": [{"type": "test::Zone", "attributes": {"name": "x"}}]}`, false},
		{"lanes", `{"southbound": 1, "agents": {"a": {"lanes": 0}}}`, false},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if err := whole.Validate(v); (err == nil) != c.good {
			t.Errorf("%s: the schema says %v", c.why, err)
		}
		// The reader agrees, but for files that are not there.
		problems := documentProblem(t, strings.ReplaceAll(c.text, `{"file": "f"}`, `"x"`))
		if (problems == nil) != c.good {
			t.Errorf("%s: the reader says %v", c.why, problems)
		}
	}
}

// ruledTypes have every kind of rule, with defaults, conditions and titles.
func ruledTypes(t *testing.T) *schema.Registry {
	t.Helper()
	var types []schema.Type
	for _, kind := range schema.RuleKinds() {
		for name, conditions := range map[string]struct {
			of string
			is []any
		}{"Always": {}, "Given": {of: "c"}, "Is": {"c", []any{"x", int64(1)}},
			"ByDefault": {"d", []any{"on"}}, "Named": {of: "n"}, "NamedIs": {"n", []any{"r"}}} {
			if name == "Always" && (kind == schema.AllOf || kind == schema.NoneOf) {
				continue
			}
			types = append(types, schema.Type{Name: "r::" + name +
				strings.ReplaceAll(string(kind), "_", ""), Attributes: []schema.Attribute{
				{Name: "n", Type: "String[1]", Behaviour: schema.Namevar},
				{Name: "a", Type: "Optional[String]"}, {Name: "b", Type: "Optional[Integer]"},
				{Name: "c", Type: "Optional[Variant[String, Integer]]"},
				{Name: "d", Type: "Enum[on, off]", Default: "on"},
				{Name: "e", Type: "Optional[Sensitive[String]]"},
			}, Rules: []schema.Rule{{Kind: kind, Attributes: []string{"a", "b", "e"},
				If: conditions.of, Is: conditions.is}}})
		}
	}
	types = append(types, schema.Type{Name: "t::Pair", Attributes: []schema.Attribute{
		{Name: "host", Type: `Pattern[/\A[a-z]+\z/]`, Behaviour: schema.Namevar},
		{Name: "port", Type: "Integer[1, 99]", Behaviour: schema.Namevar},
		{Name: "zone", Type: "String", Behaviour: schema.Namevar},
	}, Titles: []schema.TitlePattern{{Pattern: `\A(?<host>[^:]+):(?<port>\d+)\z`},
		{Pattern: `\A(?<host>[a-z]+)\Z`}}})
	r, err := schema.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What the reader accepts the schema accepts, and what breaks a rule, or is not a title, it
// refuses, too.
func TestJSONSchemaAgrees(t *testing.T) {
	t.Parallel()
	types := ruledTypes(t)
	text, err := JSONSchema(types)
	if err != nil {
		t.Fatal(err)
	}
	whole := compiledSchema(t, text)
	forms := map[string][]string{
		"a": {"", `null`, `{"value": null}`, `"x"`, `{"parameter": "p"}`, `5`},
		"b": {"", `{"value": null}`, `7`, `"7"`},
		"c": {"", `null`, `"x"`, `{"value": "x"}`, `1`, `"y"`},
		"d": {"", `null`, `"off"`, `{"value": "on"}`},
		"e": {"", `null`, `{"secret": "env:A"}`, `{"value": "s"}`},
	}
	type described struct {
		text  string
		exact bool // the schema refuses it when the reader does
	}
	var resources []described
	for i, name := range types.Names() {
		if name == "t::Pair" {
			continue
		}
		for j := range 30 { // of the combinations, a sample that is spread
			n, attributes := (i*30+j)*7919, []string{`"n": "r"`}
			for _, a := range []string{"a", "b", "c", "d", "e"} {
				if v := forms[a][n%len(forms[a])]; v != "" {
					attributes = append(attributes, `"`+a+`": `+v)
				}
				n /= len(forms[a])
			}
			resources = append(resources, described{`{"type": "` + name + `", "attributes": {` +
				strings.Join(attributes, ", ") + `}}`, !strings.HasPrefix(name, "r::NamedIs")})
		}
	}
	for title, exact := range map[string]bool{"": true, `"a:5"`: true, `"a:500"`: false,
		`"a:0"`: false, `"a"`: false, `"a\n"`: false, `"A"`: true, `"a:b"`: true, `""`: true,
		`5`: true} {
		for _, rest := range []string{`"zone": "z"`, `"zone": ""`, `"zone": {"value": "z"}`,
			`"port": 5`, `"zone": "z", "host": "a", "port": {"value": 5}`, ""} {
			text := `{"type": "t::Pair", "title": ` + title + `, "attributes": {` + rest + `}}`
			resources = append(resources, described{strings.Replace(text, `"title": , `, "", 1),
				exact})
		}
	}
	good, bad := 0, 0
	for _, r := range resources {
		doc := `{"southbound": 1, "defaults": {"agent": "a"}, "resources": [` + r.text + `]}`
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
		if err != nil {
			t.Fatalf("%s: %v", r.text, err)
		}
		says := whole.Validate(v)
		m, _, problem := Load(t.Context(),
			Options{Path: "-", Stdin: strings.NewReader(doc), Types: types})
		if problem == nil {
			problem = deploy.New(deploy.Config{Types: types}).Validate(m).Err()
		}
		switch {
		case problem == nil && says != nil:
			t.Errorf("%s is accepted, and the schema says %v", r.text, says)
		case problem != nil && says == nil && r.exact:
			t.Errorf("%s is refused, %v, and the schema accepts it", r.text, problem)
		}
		if problem == nil {
			good++
		} else {
			bad++
		}
	}
	if good < 200 || bad < 200 {
		t.Errorf("%d good and %d bad resources were tried", good, bad)
	}
}

func compiledSchema(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("southbound.json", parsed); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("southbound.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documentProblem returns what the command line finds wrong with a document.
func documentProblem(t *testing.T, text string) error {
	t.Helper()
	opts := Options{Path: "-", Stdin: strings.NewReader(strings.Join(strings.Fields(text), " ")),
		Types: testTypes(t)}
	m, _, err := Load(context.Background(), opts)
	if err != nil {
		return err
	}
	return deploy.New(deploy.Config{Types: opts.Types}).Validate(m).Err()
}
