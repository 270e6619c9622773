package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/diag"
)

// TestProblemsBesideSyntax pins that what cannot be read hides neither what stands before it, nor
// other documents and files, and that nothing is said to be missing that may stand in it.
func TestProblemsBesideSyntax(t *testing.T) {
	t.Parallel()
	const wrong = "  - {type: std::Nul, attributes: {name: x}}\n"
	const needs = "  - {type: std::Null, attributes: {name: n}, requires: " +
		"[\"std::Null[a,name=gone]\"]}\n"
	const unknown = `|unknown type "std::Nul"`
	for _, c := range []struct {
		why   string
		files map[string]string
		want  []string
	}{
		{"before it", map[string]string{"a.yaml": head + wrong + "  - {type: [\n"},
			[]string{"a.yaml:4" + unknown, "a.yaml:5|this is not valid YAML"}},
		{"attributes of the resource in which it is",
			map[string]string{"a.yaml": head +
				"  - type: fs::File\n    attributes:\n      mode: 644\n      contnt: x\n      " +
				"group: g\n      owner: }\n"},
			[]string{"a.yaml:6|expected", "a.yaml:7|fs::File has no attribute",
				"a.yaml:9|this is not valid YAML"}},
		{"the resource before it is whole",
			map[string]string{"a.yaml": head +
				"  - {type: std::Null, attributes: {name: x}, requires: " +
				"[\"std::Null[a,name=x]\"]}\n  - ]\n"},
			[]string{"a.yaml:4|dependency cycle", "a.yaml:5|this is not valid YAML"}},
		{"a name twice before it", map[string]string{"a.yaml": head +
			"  - type: std::Null\n    attributes:\n      name: x\n      name: y\n  - }\n"},
			[]string{`a.yaml:7|"name" is there twice`, "a.yaml:8|this is not valid YAML"}},
		{"the format stands last",
			map[string]string{
				"a.json": `{"resources":[{"type":"std::Nul","agent":"a","agent":"a","attributes":{"name":"x"}}],"southbound":1,}`},
			[]string{"a.json:1" + unknown, `a.json:1|"agent" is there twice`,
				"a.json:1|this is not valid JSON"}},
		{"a name twice in it, in JSON",
			map[string]string{
				"a.json": `{"southbound":1,"resources":[{"type":"std::Null","type":"x","agent":]}`},
			[]string{`a.json:1|"type" is there twice`, "a.json:1|this is not valid JSON"}},
		{"in the resource in which it is",
			map[string]string{"a.yaml": head +
				"  - type: std::Nul\n    attributes:\n      name: x\n      z: ]\n"},
			[]string{"a.yaml:4" + unknown, "a.yaml:7|this is not valid YAML"}},
		{"nothing is missing in it",
			map[string]string{"a.yaml": head + needs +
				"  - type: fs::File\n    attributes:\n      mode: \"0644\"\n      }\n"},
			[]string{"a.yaml:8|this is not valid YAML"}},
		{"defaults and format may follow",
			map[string]string{"a.yaml": "resources:\n" + wrong +
				"  - ]\ndefaults: {agent: a}\nsouthbound: 1\n"},
			[]string{"a.yaml:2" + unknown, "a.yaml:3|this is not valid YAML"}},
		{"quotes that end too late",
			map[string]string{"a.yaml": head + wrong +
				"  - type: \"std::Null\n    attributes: {name: x}\n" + wrong +
				"  - type: \"std::Null\"\n"},
			[]string{"a.yaml:4" + unknown, "a.yaml:8|the resource has no attributes",
				"a.yaml:8|this is not valid YAML"}},
		{"documents behind it", map[string]string{"a.yaml": head + needs + "  - [\n---\n" + head +
			wrong + "---\n" + head + "  - {a: b: c}\n---\n" + head + wrong},
			[]string{"a.yaml:5|this is not valid YAML", "a.yaml:10" + unknown,
				"a.yaml:15|this is not valid YAML", "a.yaml:20" + unknown}},
		{"and behind three dots", map[string]string{"a.yaml": head + "  - }\n...\n# more\n" + head +
			wrong}, []string{"a.yaml:4|this is not valid YAML", "a.yaml:10" + unknown}},
		{"other files", map[string]string{"a.yaml": "a: [", "b.yaml": head + wrong + needs,
			"c.json": "{", "d.yaml": "\xff"},
			[]string{"a.yaml:1|this is not valid YAML", "b.yaml:4" + unknown,
				"c.json:1|this is not valid JSON", "d.yaml:1|the text is not UTF-8"}},
		{"another format", map[string]string{"a.yaml": "southbound: 2\n", "b.yaml": head + needs},
			[]string{"a.yaml:1|the format 2"}},
		{"what is not a map", map[string]string{"a.yaml": head + "  - std::Null[a,name=gone]\n" +
			needs}, []string{"a.yaml:4|a resource is a map"}},
		{"behind it", map[string]string{"a.yaml": head + wrong + "  - {type: [}\n" + wrong + needs +
			"  - type: std::Null\n    attributes: {name: }}\n" + wrong},
			[]string{"a.yaml:4" + unknown, "a.yaml:5|this is not valid YAML", "a.yaml:6" + unknown,
				"a.yaml:9|this is not valid YAML", "a.yaml:10" + unknown}},
		{"what is open ends with the next",
			map[string]string{"a.yaml": head + "  - {type: [\n" + wrong + wrong},
			[]string{"a.yaml:5|this is not valid YAML", "a.yaml:5" + unknown,
				"a.yaml:6" + unknown}},
		{"what is open ends within the next",
			map[string]string{"a.yaml": head +
				"  - type: std::Null\n    attributes: {name: x\n  - type: std::Nul\n    " +
				"attributes: {name: y}\n" + wrong},
			[]string{"a.yaml:6|this is not valid YAML", "a.yaml:6" + unknown,
				"a.yaml:8" + unknown}},
		{"quotes without end", map[string]string{"a.yaml": head + wrong +
			"  - type: \"std::Null\n    attributes: {name: x}\n" + wrong},
			[]string{"a.yaml:4" + unknown, "a.yaml:5|this is not valid YAML",
				"a.yaml:7" + unknown}},
		{"aliases may be named in it",
			map[string]string{"a.yaml": head +
				"  - {type: std::Null, attributes: &a {name: x}, }, }\n  - {type: std::Null, " +
				"attributes: *a}\n  - {type: std::Nul, attributes: *a}\n"},
			[]string{"a.yaml:4|this is not valid YAML", "a.yaml:6" + unknown}},
		{"defaults stand behind it",
			map[string]string{"a.yaml": "southbound: 1\nresources:\n  - [\n" + wrong +
				"  - {type: std::Null, attributes: {name: x}}\ndefaults: {agent: a, sett: b}\n"},
			[]string{"a.yaml:4|this is not valid YAML", "a.yaml:4" + unknown,
				`a.yaml:6|unknown member "sett"`}},
		{"no indentation",
			map[string]string{"a.yaml": head + "- ]\n" + strings.ReplaceAll(wrong, "  - ", "- ") +
				"- type: std::Null\n  attributes:\n  name: x\n- }\n" +
				strings.ReplaceAll(wrong, "  - ", "- ")},
			[]string{"a.yaml:4|this is not valid YAML", "a.yaml:5" + unknown,
				"a.yaml:7|attributes is a map", `a.yaml:8|"name" is an attribute of`,
				"a.yaml:9|this is not valid YAML", "a.yaml:10" + unknown}},
		{"a list that is none of resources",
			map[string]string{"a.yaml": head + "  - ]\nother:\n  - {type: std::Nul}\n"},
			[]string{"a.yaml:4|this is not valid YAML"}},
		{"block texts",
			map[string]string{"a.yaml": head +
				"  - type: std::Null\n    attributes:\n      name: x\n      a: |\n        - [\n  " +
				"      - ]\n  - ]\n" + wrong},
			[]string{"a.yaml:10|this is not valid YAML", "a.yaml:11" + unknown}},
		{"JSON", map[string]string{"a.json": "{\"southbound\":1,\"defaults\":{\"agent\":\"a\"},\"x\":1,\n\"resources\":[\n{\"type\":\"std::Nul\",\"attributes\":{\"name\":\"x\"}},\n{\"type\":\"std::Null\",\"attributes\":{\"name\":\"n\"},\"requires\":[\"std::Null[a,name=gone]\"]},\n{\"type\":\"std::Nil\",\"attributes\":{\"name\":\"y\",}},\n{\"type\":\"std::Nul\"}]}"},
			[]string{"a.json:1|unknown member", "a.json:3" + unknown,
				`a.json:5|unknown type "std::Nil"`, "a.json:5|this is not valid JSON",
				"a.json:6|the resource has no attributes", "a.json:6" + unknown}},
		{"behind it in JSON",
			map[string]string{
				"a.json": "{\n  \"southbound\": 1,\n  \"resources\": [\n    {\n      \"type\": " +
					"\"std::Null,\n      \"agent\": \"a\"\n    },\n    {\n      \"type\": " +
					"\"std::Nul\",\n      \"agent\": \"a\",\n      \"attributes\": {\n        " +
					"\"name\": 'x'\n      }\n    },\n    {\n      \"type\": \"std::Nul\"\n    " +
					"}\n  ]\n}\n"},
			[]string{"a.json:5|this is not valid JSON", "a.json:9" + unknown,
				"a.json:12|this is not valid JSON", "a.json:15|the resource has no attributes",
				"a.json:16" + unknown}},
		{"behind it in one line of JSON",
			map[string]string{
				"a.json": `{"southbound":1,"resources":[{"type":},{"type":"std::Nul"}]}`},
			[]string{"a.json:1|this is not valid JSON"}},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		types := testTypes(t)
		for _, size := range []int{30, pieceSize} {
			_, _, err := load(t.Context(),
				Options{Path: dir, Types: types,
					Check: deploy.New(deploy.Config{Types: types}).ValidateClosed}, size)
			problems, _ := diag.Of(err)
			var got []string
			for i, p := range problems {
				line := fmt.Sprintf("%s:%d|%s", filepath.Base(p.File), p.Line, p.Message)
				// the rest is the library's
				if i < len(c.want) && strings.HasPrefix(line, c.want[i]) {
					line = c.want[i]
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.why, diff)
			}
		}
	}
}

// TestNothingUnderResources pins that a list of resources whose items cannot be read is not taken
// for one that has nothing under it, wherever the text breaks off, and that one that was read is.
func TestNothingUnderResources(t *testing.T) {
	t.Parallel()
	const nothing = "resources has nothing under it"
	types := testTypes(t)
	told := func(name, text string) bool {
		path := filepath.Join(t.TempDir(), name)
		write(t, path, text)
		_, _, err := Load(t.Context(), Options{Path: path, Types: types})
		problems, _ := diag.Of(err)
		if len(problems) == 0 {
			t.Errorf("no problem in %q", text)
		}
		return slices.ContainsFunc(problems, func(p diag.Problem) bool {
			return p.Message == nothing
		})
	}
	const item = "  - {type: std::Null, agent: a, attributes: {name: x}}\n"
	document := "southbound: 1\nresources:\n" + item + item + "agents: {a: {lanes: 2}}\n"
	for _, broken := range []string{"  - ]\n", "  - {a: b: c}\n", "\"\n", "  - {type: [\n", "}\n"} {
		at := 0
		for line := range strings.Lines(document) {
			at += len(line)
			if text := document[:at] + broken; told("a.yaml", text) {
				t.Errorf("%q: %s", text, nothing)
			}
			if text := document[:at] + broken + item; told("a.yaml", text) {
				t.Errorf("%q: %s", text, nothing)
			}
		}
	}
	json := `{"southbound": 1, "resources": null, "agents": {}}`
	for at := range len(json) {
		if told("a.json", json[:at]) {
			t.Errorf("%q: %s", json[:at], nothing)
		}
	}
	for name, text := range map[string]string{"a.json": json, "a.yaml": "southbound: 1\nresources:\n",
		"b.yaml": "southbound: 1\nresources: !!null\n", "c.yaml": "southbound: 1\nresources: # " +
			item, "d.yaml": "resources: null\nsouthbound: 1\n"} {
		if !told(name, text) {
			t.Errorf("%q: not told", text)
		}
	}
}

// TestSyntaxInLargeDocument pins that what is wrong in a document that is too long to be read at
// once is told where it is.
func TestSyntaxInLargeDocument(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	const n, first, second = 10_000, 7_000, 9_000
	lines := strings.Split(string(yamlOf(n)), "\n")
	lines[3+6*first] = "  - type: [std::Null"
	lines[3+6*second] = "  - type: fs::Fil"
	path := filepath.Join(t.TempDir(), "a.yaml")
	write(t, path, strings.Join(lines, "\n"))
	_, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
	problems, _ := diag.Of(err)
	var at []int
	for _, p := range problems {
		at = append(at, p.Line)
	}
	if want := []int{3 + 6*first + 2, 3 + 6*second + 1}; !slices.Equal(at, want) {
		t.Errorf("problems in the lines %v, want %v: %v", at, want, err)
	}
}
