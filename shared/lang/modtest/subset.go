package modtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lacks compares expected JSON with an actual value, and returns the differences, one a line; "" if
// there are none. Objects may have additional members; all other values must be equal.
func lacks(want string, got any) (string, error) {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return "", fmt.Errorf("the expected value is not valid JSON: %w", err)
	}
	b, err := json.Marshal(got)
	if err == nil {
		err = json.Unmarshal(b, &g)
	}
	if err != nil {
		return "", fmt.Errorf("the actual value cannot be compared: %w", err)
	}
	var lines []string
	compare(&lines, "", w, g)
	return strings.Join(lines, "\n"), nil
}

func compare(lines *[]string, path string, want, got any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(w)) {
			at := strings.TrimPrefix(path+"."+name, ".")
			if v, there := g[name]; there {
				compare(lines, at, w[name], v)
			} else {
				*lines = append(*lines,
					fmt.Sprintf("  %s: expected %s, and it is not there; there are: %s",
						at, text(w[name]), strings.Join(slices.Sorted(maps.Keys(g)), ", ")))
			}
		}
		return
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			break
		}
		for i := range w {
			compare(lines, fmt.Sprintf("%s[%d]", path, i), w[i], g[i])
		}
		return
	default:
		if want == got {
			return
		}
	}
	if path == "" {
		path = "it"
	}
	*lines = append(*lines, fmt.Sprintf("  %s: expected %s\n  %s  it is    %s", path, text(want),
		strings.Repeat(" ", len(path)), text(got)))
}

// text returns a value as JSON.
func text(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}
