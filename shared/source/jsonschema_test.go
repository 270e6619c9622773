package source

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"southbound/shared/deploy"
)

// TestJSONSchema holds the schema against the reader: editors accept what is accepted, and refuse what most often is wrong.
func TestJSONSchema(t *testing.T) {
	t.Parallel()
	text, err := JSONSchema(testTypes(t))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("southbound.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("southbound.json")
	if err != nil {
		t.Fatal(err)
	}
	one := func(r string) string {
		return `{"southbound": 1, "defaults": {"agent": "a"}, "resources": [` + r + `]}`
	}
	for _, c := range []struct {
		why, text string
		good      bool
	}{
		{"the least", `{"southbound": 1}`, true},
		{"nothing stands for nothing", `{"southbound": 1, "defaults": null, "agents": null, "resources": null}`, true},
		{"everything", `{"southbound": 1, "defaults": {"agent": "a", "set": "s", "purged": false, "purge_on_delete": false, "report_only": false, "send_event": true, "receive_events": true, "managed": true},
			"agents": {"a": {"transport": "ssh", "lanes": 4, "host": {"parameter": "h"}, "port": 22}}, "resources": [{"type": "fs::File", "agent": "b", "set": "t", "attributes": {"path": "/x"},
			"requires": ["fs::Directory[a,path=/]"], "purged": true, "managed": false}]}`, true},
		{"forms", one(`{"type": "fs::File", "attributes": {"path": "/x", "content": {"file": "f"}, "mode": {"parameter": "m"}, "size": {"fact": "f", "of": "std::Null[a,name=x]"}}}`), true},
		{"a secret", one(`{"type": "fs::File", "attributes": {"path": "/x", "content": {"secret": "env:A", "version": 7}}}`), true},
		{"a literal", one(`{"type": "fs::File", "attributes": {"path": "/x", "content": {"value": "x"}}}`), true},
		{"any value", one(`{"type": "std::Null", "attributes": {"name": "x", "a": {"b": [1, null]}}}`), true},
		{"an agent of its own", `{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "attributes": {"name": "x"}}]}`, true},
		{"a title", one(`{"type": "fs::File", "title": "/x"}`), true},
		{"a title beside attributes", one(`{"type": "net::Port", "title": "h", "attributes": {"port": 80}}`), true},
		{"a title, and no attributes that must be", one(`{"type": "test::Zone", "title": "h"}`), false},
		{"an empty title", one(`{"type": "fs::File", "title": ""}`), false},
		{"no format", `{"resources": []}`, false},
		{"another format", `{"southbound": 2}`, false},
		{"no agent", `{"southbound": 1, "resources": [{"type": "std::Null", "attributes": {"name": "x"}}]}`, false},
		{"unknown member", `{"southbound": 1, "resorces": []}`, false},
		{"unknown type", one(`{"type": "fs::Fil", "attributes": {"path": "/x"}}`), false},
		{"unknown attribute", one(`{"type": "fs::File", "attributes": {"path": "/x", "contnt": "x"}}`), false},
		{"no attributes", one(`{"type": "fs::File"}`), false},
		{"no name", one(`{"type": "fs::File", "attributes": {}}`), false},
		{"wrong value", one(`{"type": "fs::File", "attributes": {"path": "/x", "mode": 644}}`), false},
		{"number out of range", one(`{"type": "net::Port", "attributes": {"host": "h", "port": 0}}`), false},
		{"misplaced attribute", one(`{"type": "fs::File", "mode": "0644", "attributes": {"path": "/x"}}`), false},
		{"flag that is text", one(`{"type": "fs::File", "purged": "yes", "attributes": {"path": "/x"}}`), false},
		{"lanes", `{"southbound": 1, "agents": {"a": {"lanes": 0}}}`, false},
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(c.text))
		if err != nil {
			t.Fatalf("%s: %v", c.why, err)
		}
		if err := schema.Validate(v); (err == nil) != c.good {
			t.Errorf("%s: the schema says %v", c.why, err)
		}
		// The reader agrees, but for files that are not there.
		problems := documentProblem(t, strings.ReplaceAll(c.text, `{"file": "f"}`, `"x"`))
		if (problems == nil) != c.good {
			t.Errorf("%s: the reader says %v", c.why, problems)
		}
	}
}

// documentProblem returns what the command line finds wrong with a document.
func documentProblem(t *testing.T, text string) error {
	t.Helper()
	opts := Options{Path: "-", Stdin: strings.NewReader(strings.Join(strings.Fields(text), " ")), Types: testTypes(t)}
	m, _, err := Load(context.Background(), opts)
	if err != nil {
		return err
	}
	return deploy.New(deploy.Config{Types: opts.Types}).Validate(m).Err()
}
