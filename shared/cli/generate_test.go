package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// pair is a handler from whose resources others follow.
type pair struct{ provider.Handler }

func (pair) Generate(r provider.Resource) ([]provider.Generated, error) {
	name, _ := r.Attributes["name"].(string)
	if name == "lonely" {
		return nil, fault.New(fault.Invalid, "", "it has no other half")
	}
	return []provider.Generated{{Type: "std::Null",
		Attributes: map[string]any{"name": name + "-2"}}}, nil
}

// TestGeneratedIsValidated knows what follows from a resource before anything is sent: others may
// require it, and what is wrong with it is said.
func TestGeneratedIsValidated(t *testing.T) {
	t.Parallel()
	all := handlers.All()
	for _, d := range all {
		if d.Type.Name == "std::Null" {
			all = append(all, provider.Definition{Handler: pair{d.Handler},
				Type: schema.Type{Name: "t::Pair",
					Attributes: []schema.Attribute{{Name: "name", Type: "String",
						Behaviour: schema.Namevar}}}})
		}
	}
	document := func(name string) string {
		return "southbound: 1\ndefaults: {agent: a}\nresources:\n  - {type: t::Pair, title: " +
			name +
			"}\n  - {type: std::Null, attributes: {name: x}, requires: " +
			"[\"std::Null[a,name=a-2]\"]}\n"
	}
	for name, want := range map[string]string{"a": "3 resources, no problems",
		"b": `std::Null[a,name=a-2]`, "lonely": "it has no other half"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(document(name)),
			0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range [][]string{{"validate", dir},
			{"plan", dir, "--data", filepath.Join(t.TempDir(), "data")}} {
			var out bytes.Buffer
			code := Main(all, command, strings.NewReader(""), &out, &out)
			if (code == 0) != (name == "a") ||
				command[0] == "validate" && !strings.Contains(out.String(), want) {
				t.Errorf("%s of %s ends with %d: %s", command[0], name, code, out.String())
			}
		}
	}
}
