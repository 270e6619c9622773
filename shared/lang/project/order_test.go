package project_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"southbound/shared/lang/syntax"
)

const orderSeeds = 80

// TestShuffled holds that the order of the statements of a model means nothing, whether it is right
// or wrong.
func TestShuffled(t *testing.T) {
	t.Parallel()
	right, dir := 0, t.TempDir()
	for i := range uint64(orderSeeds) {
		r := rand.New(rand.NewPCG(23, i))
		text := generate(r)
		tree, problems := syntax.Parse(text)
		if len(problems) > 0 {
			continue
		}
		parts := statements(text, tree)
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		other := strings.Join(parts, "\n")
		want := run(t, dir, testCase{Model: text, Std: true})
		got := run(t, dir, testCase{Model: other, Std: true})
		if d := unordered(t, want, got); d != "" {
			t.Errorf("%s\nin another order\n%s\n%s", text, other, d)
		}
		if want.Outcome == "ok" {
			right++
		}
	}
	if right < orderSeeds/5 {
		t.Errorf("only %d models are right", right)
	}
}

// TestFormattedModels holds that a formatted model does what it did, and stays as it is.
func TestFormattedModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ragged := strings.NewReplacer("    ", " ", " = ", "=", ", ", " ,\n", " + ", "+ ", "(", "( ")
	for i := range uint64(orderSeeds) {
		text := ragged.Replace(generate(rand.New(rand.NewPCG(17, i))))
		once, problems := syntax.Formatted(text)
		if len(problems) > 0 {
			continue
		}
		if twice, _ := syntax.Formatted(once); twice != once {
			t.Errorf("formatted:\n%s\nand again:\n%s", once, twice)
		}
		want := run(t, dir, testCase{Model: text, Std: true})
		got := run(t, dir, testCase{Model: once, Std: true})
		if d := unordered(t, want, got); d != "" || impersonal(want.Output) != impersonal(got.Output) {
			t.Errorf("%s\nformatted\n%s\n%s", text, once, d)
		}
	}
}

// statements divides a model into its statements.
func statements(text string, tree *syntax.File) []string {
	var out []string
	for _, s := range tree.Body {
		out = append(out, text[tree.Pos(s).Offset:tree.End(s).Offset])
	}
	return out
}

// unordered says in what two runs differ, but for the order of values and of what they print.
func unordered(t *testing.T, a, b got) string {
	t.Helper()
	switch {
	case a.Outcome != b.Outcome:
		return fmt.Sprintf("%s %v\n%s %v", a.Outcome, a.problems, b.Outcome, b.problems)
	case !maps.Equal(a.Instances, b.Instances):
		return fmt.Sprintf("instances %v\n%v", a.Instances, b.Instances)
	case a.Outcome == "error":
		return ""
	}
	for name, v := range a.Variables {
		if want, got := sorted(t, v), sorted(t, b.Variables[name]); want != got {
			return fmt.Sprintf("%s: %s\n%s", name, want, got)
		}
	}
	if want, got := lines(a.Output), lines(b.Output); !slices.Equal(want, got) {
		return fmt.Sprintf("it printed %q\n%q", want, got)
	}
	return ""
}

// line is where an instance was made.
var line = regexp.MustCompile(`main\.cf:\d+`)

// placeless returns a text without what the order of statements changes.
func placeless(text string) string { return line.ReplaceAllString(impersonal(text), "main.cf") }

func lines(output string) []string {
	return slices.Sorted(strings.SplitSeq(placeless(output), "\n"))
}

// sorted writes a value with the items of lists in one order.
func sorted(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, sorted(t, item))
		}
		slices.Sort(items)
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		out := ""
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out += k + ": " + sorted(t, v[k]) + "; "
		}
		return "{" + out + "}"
	case string:
		return placeless(v)
	}
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
