package report

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// Folded are the indexes of items that are the same on several agents, in their order.
type Folded []int

// Fold groups items that have the same key and are on different agents. A group stands where its
// first item does. An item with an empty key stays alone, and so does a second one on an agent: it
// begins a group of its own.
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

// Anywhere returns an id with a star in place of its agent.
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

// AnywhereIn returns a text with stars in place of the agent of an id, in ids that the text names.
func AnywhereIn(text string, of resource.ID) string {
	id := string(of)
	begin := strings.IndexByte(id, '[')
	if begin < 0 || !strings.Contains(text, "[") {
		return text
	}
	agent := id[begin : len(id)-len(Anywhere(of))+begin+2]
	return strings.ReplaceAll(text, agent+",", "[*,")
}

// maxAgents is how many agents a folded item names.
const maxAgents = 5

// Same names the agents on which something is the same; "" for one.
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
