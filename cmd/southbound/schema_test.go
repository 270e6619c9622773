package main_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"southbound/handlers"
	"southbound/shared/cli"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// These tests need a library that takes long to begin, and so are not among those of the command
// line, whose binary is the program that its scripts begin hundreds of times.

// compile returns a JSON Schema.
func compile(t *testing.T, text []byte) *jsonschema.Schema {
	t.Helper()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// shown returns the documents of the pages and of an example.
func shown(t *testing.T, example string) []string {
	t.Helper()
	out := []string{example}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	for _, pattern := range []string{"../../README.md", "../../docs/*.md",
		"../../examples/README.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range block.FindAllStringSubmatch(string(text), -1) {
				if strings.HasPrefix(m[1], "southbound: 1") {
					out = append(out, m[1])
				}
			}
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d documents", len(out))
	}
	return out
}

// TestSchemaAcceptsWhatIsShown holds the schema that editors use against the documents of the pages
// and the examples.
func TestSchemaAcceptsWhatIsShown(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if code := cli.Main(handlers.All(), []string{"schema"}, strings.NewReader(""), &out,
		io.Discard); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	s := compile(t, out.Bytes())
	example, err := os.ReadFile("../../examples/quickstart/site.yaml")
	if err != nil {
		t.Fatal(err)
	}
	wrong := strings.Replace(string(example), "mode:", "mood:", 1)
	for _, text := range append(shown(t, string(example)), wrong) {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if v, err = jsonschema.UnmarshalJSON(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		if err, bad := s.Validate(v), text == wrong; (err != nil) != bad {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

// TestTypesHaveSchemas pins that the schema of each type is one.
func TestTypesHaveSchemas(t *testing.T) {
	t.Parallel()
	r, err := schema.NewRegistry(provider.Types(handlers.All())...)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range r.Names() {
		c, _ := r.Type(name)
		text, err := json.Marshal(c.JSONSchema())
		if err != nil {
			t.Fatal(err)
		}
		compile(t, text)
	}
}
