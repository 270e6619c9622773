package source

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"southbound/shared/resource"
)

// sorted returns the resources of a document in order of their ids.
func sorted(t *testing.T, name, text string) []resource.Resource {
	t.Helper()
	out := read(t, name, text).Resources
	slices.SortFunc(out, func(a, b resource.Resource) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// TestAgents holds lists of agents, and ids without an agent, against the same written out.
func TestAgents(t *testing.T) {
	t.Parallel()
	const short = `southbound: 1
defaults: {agents: [web1, "a,b"]}
resources:
  - {type: std::Null, attributes: {name: base}}
  - {type: std::Null, title: top, requires: ["std::Null[name=base]", "std::Null[hub,name=x]"]}
  - {type: std::Null, attributes: {name: told, a: {deep: [{fact: f, of: "std::Null[name=base]"}, {secret: "output:std::Null[name=base]#p"}]}}}
  - {type: std::Null, agent: hub, attributes: {name: x}}
  - {type: std::Null, agents: [hub], attributes: {name: y}, requires: ["std::Null[name=x]"]}
`
	var long strings.Builder
	long.WriteString("southbound: 1\nresources:\n")
	for agent, in := range map[string]string{`web1`: `web1`, `"a,b"`: `a\,b`} {
		_, _ = fmt.Fprintf(&long, `
  - {type: std::Null, agent: %[1]s, attributes: {name: base}}
  - {type: std::Null, agent: %[1]s, attributes: {name: top}, requires: ['std::Null[%[2]s,name=base]', "std::Null[hub,name=x]"]}
  - {type: std::Null, agent: %[1]s, attributes: {name: told, a: {deep: [{fact: f, of: 'std::Null[%[2]s,name=base]'}, {secret: 'output:std::Null[%[2]s,name=base]#p'}]}}}
`, agent, in)
	}
	long.WriteString(`
  - {type: std::Null, agent: hub, attributes: {name: x}}
  - {type: std::Null, agent: hub, attributes: {name: y}, requires: ["std::Null[hub,name=x]"]}
`)
	if diff := gocmp.Diff(sorted(t, "long.yaml", long.String()),
		sorted(t, "short.yaml", short)); diff != "" {
		t.Errorf("(-written out +short):\n%s", diff)
	}
	m := read(t, "short.yaml", short)
	for i, r := range m.Resources {
		if at := m.Where(i, "name"); r.Agent == "a,b" && at.Line != m.Where(i-1, "name").Line {
			t.Errorf("%s is at %v, and its copy at %v", r.ID, at, m.Where(i-1, "name"))
		}
	}
}

// TestAgentsHavePlaces pins that what is found out later about an agent can be told where it is
// described.
func TestAgentsHavePlaces(t *testing.T) {
	t.Parallel()
	m := read(t, "agents.yaml", `southbound: 1
agents:
  web1: {transport: local}
  web2:
    transport: local
`)
	for name, want := range map[string]string{"web1": "agents.yaml:3:3", "web2": "agents.yaml:4:3",
		"web3": "."} {
		if at := m.AtAgent(name).String(); filepath.Base(at) != want {
			t.Errorf("%s is at %q, not at %q", name, at, want)
		}
	}
}

// TestCopiesAreBounded wants a short document that stands for more than a machine holds to be
// refused.
func TestCopiesAreBounded(t *testing.T) {
	t.Parallel()
	text := `{"southbound": 1, "defaults": {"agents": ["a", "b", "c"]}, "resources": [{"type": "std::Null", "title": "x"}, {"type": "std::Null", "title": "y"}]}`
	for limit, fits := range map[int64]bool{3: false, 4: true} {
		_, _, err := Load(context.Background(),
			Options{Path: "-", Stdin: strings.NewReader(text), Types: testTypes(t),
				maxCopies: limit})
		if (err == nil) != fits || err != nil &&
			!strings.Contains(err.Error(), "more than 3 resources") {
			t.Errorf("with %d: %v", limit, err)
		}
	}
}

// TestProjectDefaults wants the defaults of the project file in every document, behind what a
// document says.
func TestProjectDefaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "southbound.yaml"),
		"defaults: {agents: [a, b], set: s, send_event: true}\n")
	write(t, filepath.Join(dir, "one.yaml"),
		"southbound: 1\nresources: [{type: std::Null, title: one}]\n")
	write(t, filepath.Join(dir, "sub/two.json"),
		`{"southbound": 1, "defaults": {"agent": "c", "send_event": false}, "resources": [{"type": "std::Null", "title": "two"}]}`)
	load := func(path string) []string {
		m, _, err := Load(context.Background(), Options{Path: path, Types: testTypes(t)})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range m.Resources {
			got = append(got, fmt.Sprint(r.ID, " ", r.Set, " ", r.SendEvent))
		}
		return got
	}
	want := []string{"std::Null[a,name=one] s true", "std::Null[b,name=one] s true",
		"std::Null[c,name=two] s false"}
	if diff := gocmp.Diff(want, load(dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := gocmp.Diff(want[:2], load(filepath.Join(dir, "one.yaml"))); diff != "" {
		t.Errorf("a file beside the project file (-want +got):\n%s", diff)
	}
}

// TestProjectDefaultsCount wants a change of the project file to be noticed where only names and
// hashes are compared.
func TestProjectDefaultsCount(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	project := filepath.Join(dir, "southbound.yaml")
	write(t, filepath.Join(dir, "one.yaml"),
		"southbound: 1\nresources: [{type: std::Null, agent: x, title: one}]\n")
	opts := Options{Path: dir, Types: testTypes(t)}
	var seen []string
	for _, text := range []string{"", "defaults: {set: a}\n", "defaults: {set: b}\n"} {
		if write(t, project, text); text == "" {
			if err := os.Remove(project); err != nil {
				t.Fatal(err)
			}
		}
		m, in, err := Load(context.Background(), opts)
		if err != nil {
			t.Fatal(err)
		}
		if again, ok := fingerprintOf(in, opts); !ok || again != m.Fingerprint ||
			slices.Contains(seen, again) {
			t.Errorf("%q: the fingerprint is %q, %v, after %q", text, again, ok, seen)
		}
		seen = append(seen, m.Fingerprint)
	}
}
