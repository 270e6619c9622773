package state

import (
	"slices"

	"southbound/shared/resource"
)

// SameAgents reports whether two lists have the same agents, reached in the same way, in the same
// order. Whether an export describes an agent does not count.
func SameAgents(a, b []resource.Agent) bool {
	return slices.EqualFunc(a, b, func(x, y resource.Agent) bool {
		return x.Name == y.Name && x.Transport == y.Transport && x.Lanes == y.Lanes &&
			resource.Equal(optionsOf(x), optionsOf(y))
	})
}

// optionsOf returns the options of an agent; no options and an empty map are equal.
func optionsOf(a resource.Agent) any {
	if a.Options == nil {
		return map[string]any{}
	}
	return a.Options
}

// LanesOf returns how many lanes each of these agents has.
func LanesOf(agents []resource.Agent) map[string]int {
	out := make(map[string]int, len(agents))
	for _, a := range agents {
		out[a.Name] = max(a.Lanes, 1)
	}
	return out
}
