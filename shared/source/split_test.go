package source

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// outcome is what an input comes to: resources and agents with their places, or problems.
type outcome struct {
	Resources []resource.Resource
	Agents    []resource.Agent
	Places    []string
	Files     map[string]int64
	Problems  diag.Problems
	Fault     string
}

// loadFile reads a file in pieces of a size; what else is checked of a model is not.
func loadFile(tb testing.TB, file string, size int) outcome {
	tb.Helper()
	m, in, err := load(context.Background(), Options{Path: file, Types: testTypes(tb)}, size)
	return outcomeOf(tb, m, in, err)
}

func outcomeOf(tb testing.TB, m *model.Model, in Inputs, err error) outcome {
	tb.Helper()
	var out outcome
	if err != nil {
		problems, ok := err.(diag.Problems) // Load returns it as it is
		if !ok {
			out.Fault = err.Error()
		}
		out.Problems = problems
		if m != nil || len(in.Documents) > 0 {
			tb.Errorf("an error came with a model: %v", err)
		}
		return out
	}
	out.Resources, out.Agents, out.Files = m.Resources, m.Agents, map[string]int64{}
	for i, r := range m.Resources {
		at := []string{m.Where(i, "").String()}
		for name := range r.Attributes {
			at = append(at, name+" "+m.Where(i, name).String())
		}
		slices.Sort(at)
		out.Places = append(out.Places, strings.Join(at, ", "))
	}
	for h, b := range m.Files {
		out.Files[h] = b.Size
	}
	return out
}

// TestSplitReadsAsWhole holds the reading in pieces against the reading as one.
func TestSplitReadsAsWhole(t *testing.T) {
	t.Parallel()
	const head = "southbound: 1\ndefaults: {agent: a}\nresources:\n"
	item := func(indent string, i int) string {
		return fmt.Sprintf("%s- type: std::Null\n%s  attributes: {name: n%d}\n", indent, indent, i)
	}
	many := func(indent string) string {
		var b strings.Builder
		for i := range 20 {
			b.WriteString(item(indent, i))
		}
		return b.String()
	}
	for _, c := range []struct{ name, why, text string }{
		{"plain", "the usual form", head + many("  ")},
		{"no indent", "a list may stand at the column of its name", head + many("")},
		{"tail", "what follows the list belongs to the document",
			head + many("  ") + "agents:\n  a: {lanes: 2}\n"},
		{"tail at no indent", "a member ends a list without indentation too",
			head + many("") + "agents:\n  a: {lanes: 2}\n"},
		{"problem in the tail", "its line is that in the file", head + many("  ") + "agentz: {}\n"},
		{"comments and blanks", "they stand anywhere",
			"# one\n" + head + "\n# two\n" + many("  ") + "\n  # three\n# four\n\n" + many("  ")},
		{"block text", "a line of deeper text that looks like an item is none",
			head + strings.Repeat("  - type: std::Null\n    attributes:\n"+
				"      name: x\n      a: |\n        - type: y\n          - z\n\n      b: >-\n    "+
				"    "+
				"- q\n", 9)},
		{"block text to the end", "its last blank lines are kept by +",
			head + strings.Repeat(
				"  - type: std::Null\n    attributes:\n      name: x\n      a: |+\n        "+
					"text\n\n\n", 9)},
		{"quotes over lines", "a line within quotes that looks like an item is none",
			head + many("  ") +
				"  - type: std::Null\n    attributes:\n      name: \"one\n  - type: two\n  - " +
				"three\"\n" + many("  ")},
		{"quotes that never end", "the problem is where they start",
			head + many("  ") + "  - type: \"std::Null\n" + many("  ")},
		{"brackets over lines", "a line within brackets that looks like an item is none",
			head + many("  ") +
				"  - type: std::Null\n    attributes: {name: x, a: [\n  - 1\n  ]}\n" + many("  ")},
		{"alias within a piece", "it stands for the same", head +
			strings.Repeat("  - type: std::Null\n    attributes: {name: &n x, a: *n}\n", 12)},
		{"alias across pieces", "the anchor is in another piece",
			head + "  - type: std::Null\n    attributes: {name: &n x}\n" + many("  ") +
				"  - type: std::Null\n    attributes: {name: y, a: *n}\n"},
		{"anchor again", "the last one before counts",
			head + "  - type: std::Null\n    attributes: {name: &n x}\n" + many("  ") +
				"  - type: std::Null\n    attributes: {name: &n y, a: *n}\n"},
		{"alias of the head", "the anchor stands before the list",
			"southbound: 1\ndefaults: {agent: &a a}\nresources:\n" + many("  ") +
				"  - type: std::Null\n    agent: *a\n    attributes: {name: x}\n"},
		{"second document", "it has resources of its own",
			head + many("  ") + "---\n" + head + many("  ")},
		{"first of two documents", "resources: stands in the second",
			"southbound: 1\n---\n" + head + many("  ")},
		{"end of document", "... ends it", head + many("  ") + "...\n"},
		{"resources twice", "refused, as in one", head + many("  ") + "resources:\n" + many("  ")},
		{"resources in text", "the word may stand in a block before",
			"southbound: 1\ndefaults:\n  agent: |-\n    a\nx: |\n  resources:\n    - type: " +
				"y\nresources:\n" + many("  ")},
		{"resources in quotes", "a line within quotes that looks like the list is none",
			"southbound: 1\nx: \"\nresources:\n" + many("  ") + "\"\nresources:\n" + many("  ")},
		{"tab", "refused, as in one", head + many("  ") + "\t- type: std::Null\n" + many("  ")},
		{"less indent", "refused, as in one", head + many("   ") + many("  ")},
		{"more indent", "refused, as in one", head + many("  ") + many("    ")},
		{"item that is a map", "an item without a space behind the dash",
			head + strings.Repeat("  -\n    type: std::Null\n    attributes: {name: x}\n", 9)},
		{"problems", "each in its place",
			head + strings.Repeat(
				"  - type: std::Null\n    attributes: {name: x, name: y}\n    tpye: x\n  - 7\n",
				9)},
		{"CRLF", "lines count the same",
			strings.ReplaceAll(head+many("  ")+"  - type: x\n", "\n", "\r\n")},
		{"CR", "it breaks lines too", strings.ReplaceAll(head+many("  ")+"  - type: x\n", "\n",
			"\r")},
		{"a CR in a comment", "it breaks the line, and what follows stands a line further down",
			head + many("  ") + "  # a\r  # b\n" + many("  ") + "  - x\n"},
		{"other line breaks", "U+2028 and U+0085 are no breaks in YAML 1.2",
			head + many("  ") + "  # a\u2028b\u0085c\n  - type: x\n"},
		{"no line end", "the last line may lack it", strings.TrimSuffix(head+many("  "), "\n")},
		{"wide characters", "columns count characters",
			head + strings.Repeat(
				"  - {type: std::Null, attributes: {name: \"äöü🙂\", nmae: x}, x: y}\n", 9)},
		{"directive", "it stands before the document",
			"%YAML 1.2\n---\n" + head + many("  ") + "  - x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "a.yaml")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			want := loadFile(t, file, pieceSize)
			for _, size := range []int{1, 40, 100, 300} {
				if diff := cmp.Diff(want, loadFile(t, file, size)); diff != "" {
					t.Errorf("%s: in pieces of %d it reads otherwise (-whole +pieces):\n%s", c.why,
						size, diff)
				}
			}
		})
	}
}

// TestSplitCuts wants documents of the usual forms to be cut: reading as one is always right, and
// slow.
func TestSplitCuts(t *testing.T) {
	t.Parallel()
	var items strings.Builder
	for i := range 50 {
		fmt.Fprintf(&items,
			"  - type: std::Null\n    attributes:\n      name: n%d\n      a: |\n        - text\n",
			i)
	}
	for _, c := range []struct {
		why, text string
		cut       bool
	}{
		{"the usual form", head + items.String(), true},
		{"with comments", "# one\n" + head + "# two\n\n" + items.String() + "# three\n", true},
		{"with a tail", head + items.String() + "agents: {a: {lanes: 2}}\n", true},
		{"CRLF", strings.ReplaceAll(head+items.String(), "\n", "\r\n"), true},
		{"no indentation", strings.ReplaceAll(head+items.String(), "\n  ", "\n"), true},
		{"short", head + "  - {type: std::Null, attributes: {name: x}}\n", false},
		{"brackets", "southbound: 1\nresources: [" +
			strings.Repeat("{type: std::Null, agent: a, attributes: {name: x}}, ", 50) + "]\n",
			false},
		{"two documents", head + items.String() + "---\n" + head + items.String(), false},
	} {
		o, ok := (&report{}).outlineYAML([]byte(c.text), 500)
		if ok != c.cut || ok && len(o.pieces) < 5 {
			t.Errorf("%s: cut %v into %d pieces, want %v", c.why, ok, len(o.pieces), c.cut)
		}
		n := 0
		for _, p := range o.pieces {
			nodes, ok := o.itemsYAML(&report{}, p)
			if !ok {
				t.Errorf("%s: a piece cannot be read:\n%s", c.why, p.text)
			}
			n += len(nodes)
		}
		if c.cut && n != 50 {
			t.Errorf("%s: %d items, want 50", c.why, n)
		}
	}
}
