package report

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// Folded is a group of equal items on different agents, as ascending indexes of the items.
type Folded []int

// Fold groups items that have the same key and are on different agents. A group has the position of
// its first item. An item with an empty key is a group of its own. A second item with the same key
// on an agent begins a new group.
func Fold[T any](items []T, key func(item *T) (key, agent string)) []Folded {
	type open struct {
		at     int
		agents map[string]bool
	}
	out := make([]Folded, 0, len(items))
	groups := map[string]open{}
	for i := range items {
		k, agent := key(&items[i])
		if g, is := groups[k]; is && k != "" && !g.agents[agent] {
			g.agents[agent] = true
			out[g.at] = append(out[g.at], i)
			continue
		}
		groups[k] = open{len(out), map[string]bool{agent: true}}
		out = append(out, Folded{i})
	}
	return out
}

// Anywhere returns an id with its agent replaced by a star.
func Anywhere(id resource.ID) string {
	text := string(id)
	begin := strings.IndexByte(text, '[')
	if begin < 0 {
		return text
	}
	for i := begin + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case ',':
			return text[:begin+1] + "*" + text[i:]
		}
	}
	return text
}

// AnywhereIn replaces the agent of an id by a star, in all ids of a text.
func AnywhereIn(text string, of resource.ID) string {
	id := string(of)
	begin := strings.IndexByte(id, '[')
	if begin < 0 || !strings.Contains(text, "[") {
		return text
	}
	agent := id[begin : len(id)-len(Anywhere(of))+begin+2]
	return strings.ReplaceAll(text, agent+",", "[*,")
}

// maxAgents is the maximum number of agents that a merged item names.
const maxAgents = 5

// Same names the agents of a merged item. It returns "" for a single agent.
func Same(agents []string) string {
	if len(agents) < 2 {
		return ""
	}
	agents = slices.Clone(agents)
	slices.Sort(agents)
	names := strings.Join(agents[:min(len(agents), maxAgents)], ", ")
	if more := len(agents) - maxAgents; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("  (the same on %d agents: %s)", len(agents), names)
}
