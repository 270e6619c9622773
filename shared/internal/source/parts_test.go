package source

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// TestTextsOfParts lists the values of texts of parts in documents, and of maps that only look like
// one.
func TestTextsOfParts(t *testing.T) {
	t.Parallel()
	secret := resource.Secret{Source: "env:A", Version: "2"}
	fact := resource.Fact{Name: "ip", Of: "std::Null[a,name=y]"}
	text := func(parts ...any) any { return resource.Text{Parts: parts} }
	for _, c := range []struct {
		why, text string
		value     any
	}{
		{"literals and references in order",
			`{text: ["u:", {secret: "env:A", version: 2}, "@", {fact: ip, of: "std::Null[name=y]"}, /db]}`,
			text("u:", secret, "@", fact, "/db")},
		{"a reference alone is a text", `{text: [{parameter: p}]}`, text(resource.Parameter{Name: "p"})},
		{"at any depth", `{b: [{text: [x, {parameter: p}]}]}`,
			map[string]any{"b": []any{text("x", resource.Parameter{Name: "p"})}}},
		{"texts inside of texts are put in line", `{text: [a, {text: [b, {parameter: p}, c]}, d]}`,
			text("ab", resource.Parameter{Name: "p"}, "cd")},
		{"literals are a plain text", `{text: [a, {text: [b]}, ""]}`, "ab"},
		{"nothing is the empty text", `{text: []}`, ""},
		{"a text is data", `{text: a}`, map[string]any{"text": "a"}},
		{"so is a map with more members", `{text: [a], size: 3}`,
			map[string]any{"text": []any{"a"}, "size": int64(3)}},
		{"and a map that says so", `{value: {text: [a]}}`, map[string]any{"text": []any{"a"}}},
	} {
		m := read(t, "a.yaml",
			head+"  - type: std::Null\n    attributes:\n      name: x\n      a: "+c.text+"\n")
		if diff := cmp.Diff(c.value, m.Resources[0].Attributes["a"], same); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", c.why, c.text, diff)
		}
	}
}

// TestMarks lists the texts of files with marked places, and what is said of marks and names that
// do not agree.
func TestMarks(t *testing.T) {
	t.Parallel()
	secret := resource.Secret{Source: "env:A"}
	text := func(parts ...any) any { return resource.Text{Parts: parts} }
	for _, c := range []struct {
		why, file, with string
		value           any
		wrong           []string
	}{
		{"with and without blanks, more than once", "a {{pw}}\nb {{ pw }} {{\tdb}}\n",
			`{pw: {secret: "env:A"}, db: {parameter: p}}`,
			text("a ", secret, "\nb ", secret, " ", resource.Parameter{Name: "p"}, "\n"), nil},
		{"other braces are data", "{{ .Name }} {{pw}} {{ if x }} { {pw} } {{ a-b }}",
			`{pw: {secret: "env:A"}}`,
			text("{{ .Name }} ", secret, " {{ if x }} { {pw} } {{ a-b }}"), nil},
		{"literals", "{{a}}-{{b}}", `{a: x, b: {text: [y, z]}}`, "x-yz", nil},
		{"a value is not searched for marks", "{{a}}", `{a: "{{b}}"}`, "{{b}}", nil},
		{"a mark without a value", "one\n{{pw}}\n{{ user }} {{user}}\n", `{pw: x}`, nil,
			[]string{"app.conf:3: the mark {{user}} has no value | add user to with"}},
		{"a value without a mark", "{{ password }}", `{pasword: x, password: y}`, nil,
			[]string{"the file app.conf has no mark {{pasword}}: it has password | " +
				"write {{pasword}} in the file where the value belongs"}},
		{"what is no part", "{{a}}", `{a: 7}`, nil,
			[]string{"a part of a text is a text or a reference to one | put it in quotes"}},
		{"no map", "{{a}}", `[a]`, nil, []string{"with is a map of the marks of the file | " +
			`write it such as {password: {secret: "env:PASSWORD"}}`}},
		{"no text", "\xff{{a}}", `{a: x}`, nil,
			[]string{"the file app.conf is not text | leave with out, or make it UTF-8"}},
		{"too long", strings.Repeat("x", resource.MaxText) + "{{a}}", `{a: x}`, nil,
			[]string{"the file app.conf has 1048581 bytes, and a text has at most 1048576 | " +
				"leave with out; then the file may have any length"}},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "app.conf"), c.file)
		write(t, filepath.Join(dir, "a.yaml"), head+"  - type: std::Null\n    attributes:\n"+
			"      name: x\n      a: {file: app.conf, with: "+c.with+"}\n")
		m, _, err := Load(t.Context(), Options{Path: dir, Types: testTypes(t)})
		var problems diag.Problems
		var wrong []string
		if errors.As(err, &problems) {
			for _, p := range problems {
				wrong = append(wrong, strings.ReplaceAll(p.Message, dir+"/", "")+" | "+p.Hint)
			}
		} else if err != nil {
			t.Fatal(c.why, err)
		}
		if diff := cmp.Diff(c.wrong, wrong); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
		if err != nil {
			continue
		}
		if diff := cmp.Diff(c.value, m.Resources[0].Attributes["a"], same); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}
