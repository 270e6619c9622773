package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/diag"
)

// TestSyntaxErrors pins which problems are reported beside a syntax error: those of other files and
// lines, and of the documents before it in a stream of YAML. Nothing is reported as missing that the
// unread rest may contain.
func TestSyntaxErrors(t *testing.T) {
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
		{"the first error of a document", map[string]string{"a.yaml": head + wrong +
			"  - {type: [}\n" + wrong + "  - ]\n"},
			[]string{"a.yaml:5|this is not valid YAML"}},
		{"documents before it", map[string]string{"a.yaml": head + wrong + "---\n" + head +
			"  - ]\n---\n" + head + wrong},
			[]string{"a.yaml:4" + unknown, "a.yaml:9|this is not valid YAML"}},
		{"quotes without end, behind 10,000 resources", map[string]string{"a.yaml": string(
			yamlOf(10_000)) + "  - type: \"fs::File\n"},
			[]string{"a.yaml:60004|this is not valid YAML: this has no end"}},
		{"requirements of other files", map[string]string{"a.yaml": head + needs,
			"b.yaml": head + "  - ]\n"}, []string{"b.yaml:4|this is not valid YAML"}},
		{"other files", map[string]string{"a.yaml": "a: [", "b.yaml": head + wrong + needs,
			"c.json": "{", "d.yaml": "\xff"},
			[]string{"a.yaml:1|this is not valid YAML", "b.yaml:4" + unknown,
				"c.json:1|this is not valid JSON", "d.yaml:1|the text is not UTF-8"}},
		{"another format", map[string]string{"a.yaml": "southbound: 2\n", "b.yaml": head + needs},
			[]string{"a.yaml:1|the format 2"}},
		{"a resource that is no map", map[string]string{"a.yaml": head +
			"  - std::Null[a,name=gone]\n" + needs}, []string{"a.yaml:4|a resource is a map"}},
		{"JSON, in the list of resources", map[string]string{"a.json": `{"southbound": 1, "x": 1,
			"resources": [{"type": "std::Nul"},
			{"type": }, {"type": "std::Nul"}]}`},
			[]string{"a.json:3|this is not valid JSON"}},
		{"JSON, behind the list of resources", map[string]string{"a.json": `{"southbound": 1,
			"resources": [{"type": "std::Nul"}],
			"agents": ]}`},
			[]string{"a.json:3|this is not valid JSON"}},
		{"JSON, behind the document", map[string]string{"a.json": "{\"southbound\": 1}\n]"},
			[]string{"a.json:2|there is more after the document"}},
	} {
		dir := t.TempDir()
		for name, text := range c.files {
			write(t, filepath.Join(dir, name), text)
		}
		types := testTypes(t)
		_, _, err := Load(t.Context(), Options{Path: dir, Types: types,
			Check: deploy.New(deploy.Config{Types: types}).ValidateClosed})
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

// TestPlacesInDocuments pins that problems and resources have the places of their text, in any form
// of YAML.
func TestPlacesInDocuments(t *testing.T) {
	t.Parallel()
	const item = "  - type: std::Null\n    attributes: {name: x}\n"
	for _, c := range []struct{ why, text, at string }{
		{"the usual form", head + item, "4:5"},
		{"no indentation", head + strings.ReplaceAll("\n"+item, "\n  ", "\n")[1:], "4:3"},
		{"a comment before it", "# one\n" + head + "\n  # two\n" + item, "7:5"},
		{"the list before the head", "resources:\n" + item + "southbound: 1\ndefaults: {agent: a}\n",
			"2:5"},
		{"brackets", "southbound: 1\ndefaults: {agent: a}\nresources: [{type: std::Null, " +
			"attributes: {name: x}}]\n", "3:13"},
		{"an alias for the list", "southbound: 1\ndefaults: {agent: a}\nx: &r\n" + item +
			"resources: *r\n", "4:5"},
		{"an anchor of the list", strings.Replace(head, "resources:", "resources: &r", 1) + item,
			"4:5"},
		{"a second document", head + "  []\n---\n" + head + item, "9:5"},
		{"lines of Windows", strings.ReplaceAll(head+item, "\n", "\r\n"), "4:5"},
		{"a return in a comment", head + "  # a\r  # b\n" + item, "6:5"},
		{"a byte order mark", "\ufeff" + head + item, "4:5"},
		{"a directive", "%YAML 1.2\n---\n" + head + item, "6:5"},
		{"a text over several lines", strings.Replace(head, "a}", "\"a\n  - type: x\\\n  b\"}", 1) +
			item, "6:5"},
	} {
		path := filepath.Join(t.TempDir(), "a.yaml")
		write(t, path, c.text)
		m, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
		if strings.Contains(c.text, "x: &r") {
			// "x" is no member of a document, and its problem comes alone
			if problems, _ := diag.Of(err); len(problems) != 1 || problems[0].Line != 3 {
				t.Errorf("%s: %v", c.why, err)
			}
			continue
		}
		if err != nil || len(m.Resources) != 1 {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if at := m.Where(0, ""); fmt.Sprintf("%d:%d", at.Line, at.Column) != c.at {
			t.Errorf("%s: the resource is at %v, want %s", c.why, at, c.at)
		}
	}
}

// TestNothingUnderResources pins that an empty list of resources is refused where it was read, and
// not where a syntax error hides its items.
func TestNothingUnderResources(t *testing.T) {
	t.Parallel()
	const nothing = "resources has nothing under it"
	types := testTypes(t)
	for _, c := range []struct {
		name, text string
		refused    bool
	}{
		{"a.yaml", "southbound: 1\nresources:\n", true},
		{"b.yaml", "southbound: 1\nresources: !!null\n", true},
		{"c.yaml", "southbound: 1\nresources: # - {}\n", true},
		{"d.yaml", "resources: null\nsouthbound: 1\n", true},
		{"e.yaml", "southbound: 1\nresources:\n  - ]\n", false},
		{"f.yaml", "southbound: 1\nresources:\n}\n", false},
		{"a.json", `{"southbound": 1, "resources": null}`, true},
		{"b.json", `{"southbound": 1, "resources": null`, false},
		{"c.json", `{"southbound": 1, "resources": nul`, false},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		write(t, path, c.text)
		_, _, err := Load(t.Context(), Options{Path: path, Types: types})
		problems, _ := diag.Of(err)
		if len(problems) != 1 || (problems[0].Message == nothing) != c.refused {
			t.Errorf("%q: %v", c.text, err)
		}
	}
}

// TestTooManyValues pins that a file with more values than can be read is refused, in each format,
// and that what people write is read.
func TestTooManyValues(t *testing.T) {
	if testing.Short() {
		return // the race detector takes minutes for millions of values
	}
	const item = `{"southbound":1,"resources":[{"type":"std::Null","agent":"a","attributes":{"name":"x","a":[`
	aliases := head + "  - type: std::Null\n    attributes:\n      name: x\n      b: &b [" +
		strings.Repeat("x,", 1000) + "]\n      a: [" + strings.Repeat("*b ,", maxExpanded/1000) + "]\n"
	for _, c := range []struct{ name, text, want string }{
		{"a.yaml", head + "  - type: std::Null\n    attributes: {name: x, a: [" +
			strings.Repeat("a,", maxValues/2) + "]}\n", "a.yaml:1:1: the document may hold more than"},
		{"lists.yaml", head + "  -\n" + strings.Repeat("  - a\n", maxValues/3), "lists.yaml:1:1: the "},
		{"a.json", item + strings.Repeat("1,", maxValues) + "1]}}]}", "a.json:1:"},
		{"many.json", `{"southbound":1,"resources":[` + strings.Repeat("1,", maxValues) + "1]}",
			"many.json:1:"},
		{"aliases.yaml", aliases, "the aliases up to this one stand for more than 500,000 values"},
	} {
		path := filepath.Join(t.TempDir(), c.name)
		write(t, path, c.text)
		_, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
		if problems, _ := diag.Of(err); len(problems) == 0 || !strings.Contains(problems.Error(), c.want) {
			t.Errorf("%s: %.300v, want %q", c.name, err, c.want)
		}
	}
	for name, n := range map[string]int{"a.yaml": 100_000, "a.json": 100_000} {
		path := filepath.Join(t.TempDir(), name)
		text := yamlOf(n)
		if name == "a.json" {
			text = jsonOf(t, n)
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		m, _, err := Load(t.Context(), Options{Path: path, Types: testTypes(t)})
		if err != nil || len(m.Resources) != n {
			t.Errorf("%s: %v", name, err)
		}
	}
}
