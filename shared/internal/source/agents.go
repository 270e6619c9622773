package source

import (
	"slices"
	"sync/atomic"

	"southbound/shared/resource"
)

// maxCopies limits the resources that the lists of agents in one export add to the written ones. A
// short document could otherwise expand to more resources than any machine can hold.
const maxCopies = 1_000_000

// copies counts the resources that lists of agents add.
type copies struct {
	n   atomic.Int64
	max int64
}

// room counts n more, and reports whether the total is within the limit.
func (c *copies) room(n int) bool { return c.n.Add(int64(n)) <= c.max }

// agentName reads the name of an agent; "" if it is wrong, which is reported.
func (t *taker) agentName(m *node) string {
	s := t.text(m)
	if s != "" && !resource.ValidAgent(s) {
		t.add(m.at, "use at most 255 bytes that all print", "%q cannot name an agent", short(s))
		return ""
	}
	return s
}

// agentNames reads a list of names of agents; nil if it is wrong, which is reported.
func (t *taker) agentNames(m *node) []string {
	const hint = "write it such as [web1, web2]"
	switch {
	case m.bad || m.kind != list && t.names(m, "agents"):
		return nil
	case m.kind != list:
		t.add(m.at, hint, "agents is a list of names")
		return nil
	case len(m.items) == 0:
		t.add(m.at, hint, "agents is an empty list")
		return nil
	}
	names := make([]string, 0, len(m.items))
	seen := make(map[string]bool, len(m.items))
	for i := range m.items {
		n := &m.items[i]
		n.key = "each of agents"
		name := t.agentName(n)
		if name == "" {
			continue
		}
		if seen[name] {
			t.add(n.at, "remove one of the two", "the agent %q is in the list twice", short(name))
			continue
		}
		seen[name] = true
		names = append(names, name)
	}
	if len(names) < len(m.items) {
		return nil
	}
	return names
}

// oneOf rejects a map that has both agent and agents.
func (t *taker) oneOf(n *node) {
	if a, b := n.get("agent"), n.get("agents"); a != nil && b != nil {
		t.add(b.keyAt, "keep one of the two", "agent and agents are both there")
	}
}

// onAgents adds a copy of r for each of its agents; keys are its naming attributes. Ids in requires,
// in facts and in secret outputs that omit their agent get the agent of the copy.
func (t *taker) onAgents(from *taken, r resource.Resource, keys []resource.Key) bool {
	if n := len(from.agents); n > 1 && !t.loader.copies.room(n-1) {
		t.add(from.node.at, "export in parts, as resource sets",
			"lists of agents stand for more than %d resources in all", t.loader.copies.max)
		return false
	}
	for _, agent := range from.agents {
		one := r
		one.ID, one.Agent = resource.NewID(r.Type, agent, keys...), agent
		if t.relative {
			one.Requires = requiresOn(r.Requires, agent)
			one.Attributes, _ = valueOn(r.Attributes, agent).(map[string]any)
		}
		t.part.resources = append(t.part.resources, one)
	}
	return true
}

// requiresOn returns the requirements of a resource on an agent, sorted and without duplicates.
func requiresOn(ids []resource.ID, agent string) []resource.ID {
	if len(ids) == 0 {
		return ids
	}
	out := make([]resource.ID, len(ids))
	for i, id := range ids {
		out[i] = resource.On(string(id), agent)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// valueOn returns a value in which facts and secret outputs whose id omits the agent refer to
// resources on agent.
func valueOn(v any, agent string) any {
	out, _ := resource.Walk(v, func(ref any) (any, error) { // the function returns no error
		if fact, is := ref.(resource.Fact); is {
			fact.Of = resource.On(string(fact.Of), agent)
			return fact, nil
		}
		if s, is := ref.(resource.Secret); is {
			if o, is := s.Output(); is {
				s.Source = o.On(agent).Source()
				return s, nil
			}
		}
		return ref, nil
	})
	return out
}

// named returns agents for the names that resources use and that no document describes.
func named(resources []resource.Resource, described map[string]agentAt) []resource.Agent {
	var out []resource.Agent
	seen := map[string]bool{}
	for i := range resources {
		name := resources[i].Agent
		if _, is := described[name]; !is && !seen[name] {
			seen[name] = true
			out = append(out, resource.Agent{Name: name, Transport: "local", Lanes: 1})
		}
	}
	return out
}
