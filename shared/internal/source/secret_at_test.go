package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/resource"
)

// TestSecretsBesideDocuments pins that relative paths of secrets lead from the document, or from the
// directory of a model, and are refused if secrets are read on another machine.
func TestSecretsBesideDocuments(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := head + "  - type: std::Null\n    attributes:\n      name: x\n      a: {secret: \"sops:../s.yaml#a\"}\n" +
		"      b: [{text: [x, {secret: \"file:pw\"}]}]\n      c: {secret: \"file:/etc/pw\"}\n" +
		"      d: {secret: \"env:pw\"}\n"
	at := filepath.Join(dir, "site", "part", "a.yaml")
	link := filepath.Join(dir, "link")
	for _, err := range []error{os.MkdirAll(filepath.Dir(at), 0o700),
		os.WriteFile(at, []byte(text), 0o600), os.Symlink(filepath.Join(dir, "site"), link)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{at, filepath.Join(dir, "site"), filepath.Dir(at), link} {
		m, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range []string{"a", "b", "c", "d"} {
			for _, ref := range resource.References(m.Resources[0].Attributes[name]) {
				got = append(got, strings.ReplaceAll(ref.(resource.Secret).Source, dir, "$DIR"))
			}
		}
		const want = "sops:$DIR/site/s.yaml#a file:$DIR/site/part/pw file:/etc/pw env:pw"
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	_, _, err = Load(t.Context(), Options{Path: at, Types: testTypes(t), Elsewhere: true})
	if err == nil || strings.Count(err.Error(), "relative to the document") != 2 {
		t.Errorf("elsewhere: %v", err)
	}
	made := map[string]any{"type": "std::Null", "agent": "a", "attributes": map[string]any{"name": "x",
		"value": map[string]any{"secret": "sops:s.yaml#a"}}}
	b := Built{Dir: dir, Resources: []Entry{{Members: made}}}
	m, err := LoadBuilt(t.Context(), b, Options{Types: testTypes(t)})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Resources[0].Attributes["value"], (resource.Secret{Source: "sops:" + dir + "/s.yaml#a"}); got != want {
		t.Errorf("a model: %v, want %v", got, want)
	}
	if _, err := LoadBuilt(t.Context(), b, Options{Types: testTypes(t), Elsewhere: true}); err == nil {
		t.Error("a model elsewhere is accepted")
	}
}
