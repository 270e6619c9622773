package source

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// TestDepth pins that the library stops where something is nested absurdly deep, before its stack
// grows.
func TestDepth(t *testing.T) {
	t.Parallel()
	deep := (&report{}).parsed(strings.Repeat("- ", 20_000) + "a")
	if len(deep.list) != 1 || !strings.Contains(deep.list[0].Message,
		"exceeded max depth of 10000") {
		t.Errorf("nested dashes without end: %v", deep.list)
	}
	for _, text := range []string{strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth),
		strings.Repeat("- ", maxDepth) + "a\n"} {
		if r := (&report{}).parsed(text); !r.clean() {
			t.Errorf("as deep as may be: %v", r.list)
		}
	}
}

// parsed reads a text as YAML.
func (r *report) parsed(text string) *report {
	r.parseYAML([]byte(text))
	return r
}

// countsEnough checks that no text holds more values than are counted in it.
func countsEnough(t *testing.T, text []byte) {
	t.Helper()
	loader, err := yaml.NewLoader(strings.NewReader(string(text)))
	var values int64
	for err == nil {
		var n yaml.Node
		if err = loader.Load(&n); err == nil {
			values += countOf(&n)
		}
	}
	for _, counted := range []int64{valuesIn(text), maxValues(text, 0)} {
		if counted < values {
			t.Errorf("%d values counted, and there are %d in %.300q", counted, values, text)
		}
	}
}

// TestCount pins that values are never undercounted, and how much is left out.
func TestCount(t *testing.T) {
	t.Parallel()
	const many = ", a, b: [c], d"
	for name, text := range hostile(2000) {
		if strings.HasSuffix(name, ".yaml") {
			countsEnough(t, []byte(text))
		}
	}
	for _, text := range append(goodYAML(), string(yamlOf(30))) {
		countsEnough(t, []byte(text))
	}
	for text, counted := range map[string]bool{
		"a: |\n  x" + many + "\n":     false,
		"- a: |\n    x" + many + "\n": false,
		// not indented more than a
		"- a: |\n  b: {x" + many + "}\n":                             true,
		"a: \"\nb: |\n  x\", [" + many + "]\n":                       true, // within quotes
		"a: [b\n, c: |\n  x" + many + "]\n":                          true, // within brackets
		"a: 'b' # it's\nc: |\n  x" + many + "\n":                     true, // not certain
		"a: [\"b\", \"c\"]\nd: >2-\n  x" + many + "\n":               false,
		"a: [b\"c, \"d]\ne: |\n  x\", x" + many + "]\n":              true,
		"# it's\n\na: \"b\"\nc: 'd'\ne: |+\n\n  x" + many + "\nf: g": false,
		"a: |\r\n  x" + many + "\r\nb: c\r\n":                        false,
		"a: |\r  x" + many + "\n":                                    true,
	} {
		countsEnough(t, []byte(text))
		if got := maxValues([]byte(text), 0) == valuesIn([]byte(text)); got != counted {
			t.Errorf("%q: all counted: %v, want %v", text, got, counted)
		}
	}
}

// TestDocumentedExpansions holds the page about documents against how many values aliases may stand
// for.
func TestDocumentedExpansions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	_, row, _ := strings.Cut(string(page), "| `&name` and `*name` |")
	row, _, _ = strings.Cut(row, "\n")
	for _, size := range []int{0, 5_000_000, 1 << 30} {
		n := newBudget(size).expansions()
		if text := fmt.Sprintf(" %d,%03d ", n/1000, n%1000); !strings.Contains(row+" ", text) {
			t.Errorf("of %d bytes it is%s, and the page says%s", size, text, row)
		}
	}
	if small, more := newBudget(0).expansions(), newBudget(5_100_000).expansions(); more <= small {
		t.Errorf("of more than 5 MB it is %d, and of less %d", more, small)
	}
}
