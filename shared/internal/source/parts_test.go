package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
