package std_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

var update = flag.Bool("update", false, "write docs/language/std.md anew")

// TestPage holds that docs/language/std.md says what the module has. With -update it writes it.
func TestPage(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/language/std.md"
	want := page(t)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("docs/language/std.md is stale; run `make docs` (%v)", err)
	}
}

// page writes the page from the table of plugins and the text of the module.
func page(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("# The module std\n\nWhat every model can use without an import. Generated " +
		"by `make docs`; [the reference](reference.md) has the language.\n\n## Plugins\n\n" +
		"`name: type = value` is a parameter with a default; `*` takes further values, `**` " +
		"further named ones. A call with an unknown value is unknown, unless it says otherwise.\n")
	plugins := std.Plugins()
	slices.SortFunc(plugins, func(a, b eval.Plugin) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range plugins {
		fmt.Fprintf(&b, "\n### %s\n`%s` → `%s`\n\n%s\n", p.Name, p.Signature(), p.Result, p.Doc)
		if p.AllowUnknown {
			b.WriteString("\nIt takes unknown values.\n")
		}
		if p.Deprecated {
			b.WriteString("\n**Deprecated**: use " + p.ReplacedBy + ".\n")
		}
	}
	text, err := std.Model.ReadFile("model/_init.cf")
	if err != nil {
		t.Fatal(err)
	}
	file, _ := syntax.Parse(string(text))
	b.WriteString("\n## Types\n\n| type | of | what it holds |\n|---|---|---|\n")
	for _, st := range file.Body {
		if d, ok := st.(*syntax.Typedef); ok {
			fmt.Fprintf(&b, "| `std::%s` | %s | %s |\n", d.Name.Text, d.Base.Text, said(d.Doc))
		}
	}
	b.WriteString("\n## Entities\n")
	for _, st := range file.Body {
		if e, ok := st.(*syntax.Entity); ok {
			entity(&b, e)
		}
	}
	return b.String()
}

// entity writes an entity with its attributes.
func entity(b *strings.Builder, e *syntax.Entity) {
	fmt.Fprintf(b, "\n### std::%s\n", e.Name.Text)
	text, rest, _ := strings.Cut(said(e.Doc), ":attr ")
	b.WriteString(strings.TrimSpace(text) + "\n")
	if len(e.Extends) > 0 {
		names := make([]string, len(e.Extends))
		for i := range e.Extends {
			names[i] = "`" + e.Extends[i].Text + "`"
		}
		b.WriteString("\nExtends " + strings.Join(names, ", ") + ".\n")
	}
	docs := map[string]string{}
	for _, d := range strings.Split(rest, ":attr ") {
		name, about, _ := strings.Cut(d, ": ")
		docs[name] = strings.TrimSpace(about)
	}
	for i, a := range e.Attributes {
		if i == 0 {
			b.WriteByte('\n')
		}
		kind := a.Type.Name.Text
		if a.Type.List {
			kind += "[]"
		}
		if a.Type.Nullable {
			kind += "?"
		}
		line := fmt.Sprintf("- `%s %s`: %s", kind, a.Name.Text, docs[a.Name.Text])
		b.WriteString(strings.TrimSuffix(line, ": ") + "\n")
	}
}

// said returns a text over lines as one line.
func said(t *syntax.Text) string {
	if t == nil {
		return ""
	}
	return strings.Join(strings.Fields(t.Value), " ")
}
