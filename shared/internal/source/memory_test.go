package source

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hostile are documents that say little and would take much: all of about n bytes.
func hostile(n int) map[string]string {
	const resource = head + "  - type: std::Null\n    attributes:\n      name: x\n"
	fill := func(prefix, unit, suffix string) string {
		return prefix + strings.Repeat(unit, (n-len(prefix)-len(suffix))/len(unit)) + suffix
	}
	json := `{"southbound":1,"resources":[{"type":"std::Null","agent":"a","attributes":{"name":"x","a":`
	names := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"scalars.yaml":      fill(resource+"      a: [", "a,", "a]\n"),
		"numbers.yaml":      fill(resource+"      a: [", "1,", "1]\n"),
		"empty lists.yaml":  fill(resource+"      a: [", "[],", "[]]\n"),
		"nested lists.yaml": fill(resource+"      a: [", "[[[[[[[[[[]]]]]]]]]],", "[]]\n"),
		"pairs.yaml":        fill(resource+"      a: [", "a:,", "a:]\n"),
		"block list.yaml":   fill(resource+"      a:\n", "      - a\n", ""),
		"dashes.yaml":       fill(resource+"      a:\n", "      - - - - -\n", ""),
		"unindented.yaml": fill(head+"- type: std::Null\n  attributes:\n    a:\n", "    -\n",
			""),
		"map.yaml":            resource + "      a: {" + names("k%d,") + "}\n",
		"block map.yaml":      resource + "      a:\n" + names("        k%d:\n"),
		"attributes.yaml":     resource + names("      k%d:\n"),
		"resources.yaml":      fill(head, "  -\n", ""),
		"flow resources.yaml": fill("southbound: 1\nresources: [", "{},", "{}]\n"),
		"as JSON.yaml":        fill(json+"[", "1,", "1]}}]}"),
		"anchors.yaml":        resource + "      a: [" + names("&k%d a,") + "]\n",
		"aliases.yaml":        fill(resource+"      b: &b x\n      a: [", "*b ,", "*b ]\n"),
		"alias bomb.yaml": fill(resource+
			"      b: &b [x,x,x,x,x,x,x,x,x,x]\n      c: &c [*b ,*b ,*b ,*b ,*b ,*b ,*b ,*b ,*b "+
			",*b ]\n      a: [", "*c ,", "*c ]\n"),
		"comments.yaml":         fill(resource, "      #\n", "") + "  - {}\n",
		"comments in flow.yaml": fill(resource+"      a: [\n", "a, #\n", "]\n"),
		"documents.yaml":        fill(resource, "---\na\n", ""),
		"tags.yaml":             fill(resource+"      a: [", "! a,", "a]\n"),
		"quotes.yaml":           fill(resource+"      a: [", "'',", "'']\n"),
		"open lists.yaml":       fill(resource+"      a: ", "[", "\n"),
		"one text.yaml":         fill(resource+"      a: '", "a,[{-\n", "'\n"),
		"block text.yaml":       fill(resource+"      a: |\n", "        - [a, b]: {c, d}\n", ""),
		"returns.yaml":          fill(resource+"      a: [", "\r", "]\n"),
		"broken.yaml":           fill(head, "  - ]\n", ""),
		"broken documents.yaml": fill(head, "--- ]\n", ""),
		"requires.yaml":         fill(resource+"    requires: [", "a,", "a]\n"),
		"agents.yaml":           "southbound: 1\nagents:\n" + names("  a%d: {}\n"),
		"numbers.json":          fill(json+"[", "1,", "1]}}]}"),
		"texts.json":            fill(json+"[", `"",`, `""]}}]}`),
		"empty lists.json":      fill(json+"[", `[],`, `[]]}}]}`),
		"empty maps.json":       fill(json+"[", `{},`, `{}]}}]}`),
		"map.json":              json + "{" + names(`"%d":1,`) + `"x":1}}}]}`,
		"resources.json":        fill(`{"southbound":1,"resources":[`, "1,", "1]}"),
		"empty resources.json":  fill(`{"southbound":1,"resources":[`, "{},", "{}]}"),
		"members.json":          `{` + names(`"%d":1,`) + `"x":1}`,
		"no document.json":      fill(`[`, "1,", "1]"),
		"open lists.json":       fill(json, "[", ""),
		"requires.json": fill(
			`{"southbound":1,"resources":[{"type":"std::Null","agent":"a","attributes":{"name":"x"},"requires":[`, `"",`, `""]}]}`),
	}
}

// harmless are long documents that are accepted, with the number of their resources.
func harmless(t *testing.T) map[string]string {
	named := func(head, format, between, tail string, n int) string {
		var b strings.Builder
		b.WriteString(head)
		for i := range n {
			if i > 0 {
				b.WriteString(between)
			}
			fmt.Fprintf(&b, format, i)
		}
		return b.String() + tail
	}
	return map[string]string{
		"100000 usual.yaml": string(yamlOf(100_000)),
		"100000 usual.json": string(jsonOf(t, 100_000)),
		"100000 short.json": named(`{"southbound":1,"defaults":{"agent":"a"},"resources":[`,
			`{"type":"std::Null","attributes":{"name":"n%d"}}`, ",\n", "]}", 100_000),
		"100000 short.yaml": named(head, "  - {type: std::Null, attributes: {name: n%d}}", "\n",
			"\n", 100_000),
		"20000 anchors.yaml": named(head+
			"  - type: std::Null\n    attributes: {name: first, a: &all {x: 1, y: [2, 3]}}\n",
			"  - type: std::Null\n    attributes:\n      name: n%[1]d\n      a: &id%[1]d\n       "+
				" b: *all\n      c: *id%[1]d\n", "", "", 19_999),
		"20000 in flow.yaml": named(`{"southbound": 1, "defaults": {"agent": "a"}, "resources": [`,
			`{"type": "std::Null", "attributes": {"name": "n%d"}}`, ", ", "]}", 20_000),
	}
}

// TestMemory pins that a document of 2 MB, or of 100,000 resources, takes at most 768 MB of memory. A
// document in YAML with too many values is refused before the library reads it.
func TestMemory(t *testing.T) {
	if path := os.Getenv("SOURCE_MEMORY_TEST"); path != "" {
		tellMemory(t, path)
		return
	}
	if testing.Short() {
		return // the race detector takes several times as much memory
	}
	const size, most = 2 << 20, 768 << 20
	dir := t.TempDir()
	take := func(name, text string) (int64, string) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Remove(path) }()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemory$")
		cmd.Env = append(os.Environ(), "SOURCE_MEMORY_TEST="+path)
		out, err := cmd.CombinedOutput()
		var kb int64
		_, said, _ := strings.Cut(string(out), "MEMORY ")
		if _, scanned := fmt.Sscan(said, &kb); err != nil || scanned != nil {
			t.Fatalf("%s: %v\n%.2000s", name, err, out)
		}
		t.Logf("%-24s %4.1f MB: %4d MB, %.150s", name, float64(len(text))/(1<<20), kb>>10,
			strings.TrimSpace(said))
		if kb<<10 > most {
			t.Errorf("%s: it takes %d MB for %d bytes", name, kb>>10, len(text))
		}
		return kb, said
	}
	for name, text := range hostile(size) {
		take(name, text)
	}
	for name, text := range harmless(t) {
		if _, said := take(name, text); !strings.Contains(said,
			"resources: "+strings.Fields(name)[0]) {
			t.Errorf("%s: %.300s", name, said)
		}
	}
}

// tellMemory loads a document and prints how much memory that took.
func tellMemory(t *testing.T, path string) {
	t.Helper()
	m, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
	what := fmt.Sprint(err)
	if err == nil {
		what = fmt.Sprintf("resources: %d", len(m.Resources))
	}
	kb := 0
	status, _ := os.ReadFile("/proc/self/status")
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(peak, &kb); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("MEMORY %d %.500s\n", kb, strings.ReplaceAll(what, "\n", " "))
}
