package providercmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// adopted returns the adoption of two objects, of which the second refers to the first.
func adopted(attributes map[string]any) *provider.Adoption {
	first := resource.NewID("tf::x::Key", "a", resource.Key{Name: "label", Value: "k"})
	attributes["label"] = "net/web-0"
	return &provider.Adoption{
		Agents: []provider.AdoptedAgent{{Agent: resource.Agent{Name: "a", Transport: "terraform",
			Options: map[string]any{"provider": "h/n/x"}}, Note: "set config: it requires url"}},
		Resources: []provider.Adopted{
			{Source: "x_key.k", Resource: resource.Resource{ID: first, Type: "tf::x::Key", Agent: "a",
				Attributes: map[string]any{"label": "k"}}},
			{Source: `module.net.x_web["a` + "\n" + `b"]`, Notes: []string{"it is tainted"}, Resource: resource.Resource{
				ID:   resource.NewID("tf::x::Web", "a", resource.Key{Name: "label", Value: "net/web-0"}),
				Type: "tf::x::Web", Agent: "a", Attributes: attributes, Requires: []resource.ID{first}}},
		}}
}

const wantDocument = "# `southbound provider adopt` has written this document from a state file.\n" +
	`southbound: 1
agents:
  # set config: it requires url
  a:
      provider: h/n/x
      transport: terraform
resources:
  # x_key.k
  - type: tf::x::Key
    agent: a
    attributes:
      label: k
  # module.net.x_web["a?b"]
  # it is tainted
  - type: tf::x::Web
    agent: a
    attributes:
      big: 12345678901234567890
      half: 0.5
      label: net/web-0
      lines: |
          one

          two
      map:
          value:
              secret: no reference
      value:
          - 1
      word: "yes"
    requires:
      - tf::x::Key[a,label=k]
`

// TestDocument pins the text of a document: exact numbers, maps that look like references, texts of
// several lines, and comments of one line.
func TestDocument(t *testing.T) {
	t.Parallel()
	big, err := resource.DecodeValue([]byte("12345678901234567890"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := documentOf(adopted(map[string]any{"big": big, "half": 0.5, "word": "yes",
		"map": map[string]any{"secret": "no reference"}, "lines": "one\n\ntwo\n", "value": []any{int64(1)}}))
	if err != nil || string(text) != wantDocument {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestModel pins the expressions of a model.
func TestModel(t *testing.T) {
	t.Parallel()
	text, err := modelOf(adopted(map[string]any{"in": "a {{ b }}\n", "n": int64(3), "off": false,
		"none": nil, "list": []any{"x", map[string]any{"{{k}}": 1.5}},
		"word": resource.Secret{Source: "output:tf::x::Key[a,label=k]#value"},
		"env":  resource.Secret{Source: "env:X"}}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nimport southbound::tf::x\n",
		"\n# set config: it requires url\n" +
			`a = southbound::Agent(name="a", transport="terraform", options={"provider": "h/n/x"})`,
		"\nkey_k = southbound::tf::x::Key(\n    agent=a,\n    label=\"k\",\n)\n",
		"\n# it is tainted\nweb_net_web_0 = southbound::tf::x::Web(\n",
		`    in_="a {" + "{ b }}\n",`, "    n=3,", "    off=false,", "    none=null,",
		`    list=["x", {r"{{k}}": 1.5}],`, `    word=southbound::output(key_k, "value"),`,
		`    env=southbound::secret("env:X"),`, "    requires=[key_k],",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s\nis missing in\n%s", want, text)
		}
	}
	for reason, v := range map[string]any{"a list in a list": []any{[]any{int64(1)}},
		"the key": map[string]any{"{{\"": "x"}} {
		if _, err := modelOf(adopted(map[string]any{"v": v})); !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// TestAgentNames pins how the flag --agent is read.
func TestAgentNames(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]int{"": 0, "a": 1, "x=a y.z=b": 2, "a b": -1, "x=a x=b": -1, "=a": -1,
		"x=": -1} {
		got, err := agentNames(strings.Fields(flags))
		if (err != nil) != (want < 0) || err == nil && len(got) != want || err != nil && !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %v, %v", flags, got, err)
		}
	}
}

// TestStage pins that a new file appears as a whole, replaces no other, and leaves nothing if it is not
// installed.
func TestStage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "new", "adopted.yaml")
	w, err := stage(t.Context(), path, []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	w.remove()
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if w, err = stage(t.Context(), path, []byte("one")); err != nil {
		t.Fatal(err)
	}
	second := make(chan error)
	go func() { // it waits for the lock, so it comes after the first one in any case
		_, err := stage(t.Context(), path, []byte("three"))
		second <- err
	}()
	if err := w.install(); err != nil {
		t.Fatal(err)
	}
	late := *w
	if err := late.install(); !fault.Is(err, fault.Usage) {
		t.Errorf("another file has got the name: %v", err)
	}
	w.remove()
	if err := <-second; !fault.Is(err, fault.Usage) {
		t.Errorf("a second adoption at the same time: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "new", stagedPrefix+"1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := stage(t.Context(), path, []byte("two")); !fault.Is(err, fault.Usage) {
		t.Errorf("an existing file: %v", err)
	}
	text, err := os.ReadFile(path)
	if left, _ := os.ReadDir(filepath.Dir(path)); err != nil || string(text) != "one" || len(left) != 1 {
		t.Errorf("%s, %v, left %v", text, err, left)
	}
	if _, err := stage(t.Context(), filepath.Join(dir, "a", "b", "adopted.yaml"), nil); !fault.Is(err, fault.Usage) {
		t.Errorf("a directory that is not there: %v", err)
	}
}
