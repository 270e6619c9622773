package source

import (
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
	values := 0
	for err == nil {
		var n yaml.Node
		if err = loader.Load(&n); err == nil {
			values += countOf(&n)
		}
	}
	if counted := valuesIn(text); counted < values {
		t.Errorf("%d values counted, and there are %d in %.300q", counted, values, text)
	}
}

// countOf counts the nodes in a node.
func countOf(n *yaml.Node) int {
	count := 1
	for _, e := range n.Content {
		count += countOf(e)
	}
	return count
}

// TestCount pins that values are never undercounted.
func TestCount(t *testing.T) {
	t.Parallel()
	for name, text := range hostile(2000) {
		if strings.HasSuffix(name, ".yaml") {
			countsEnough(t, []byte(text))
		}
	}
	for _, text := range append(goodYAML(), string(yamlOf(30))) {
		countsEnough(t, []byte(text))
	}
}

// TestDocumentedLimits compares the limits with the page about documents.
func TestDocumentedLimits(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/documents.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{maxValues, maxExpanded} {
		if !strings.Contains(string(page), grouped(n)+" values") {
			t.Errorf("the page does not have %s values", grouped(n))
		}
	}
}
