package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// hosts changes the connections of agents in one plan in five, from some export on.
func (d *drawer) hosts(rng *rand.Rand) {
	if rng.IntN(5) != 0 && (d.focus == nil || !d.focus.rehosted) {
		return
	}
	ports, over := map[string]int64{}, map[string]string{}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opExport {
			continue
		}
		switch name := d.agents[rng.IntN(len(d.agents))].Name; {
		case o.At == 0, d.focus != nil && d.focus.oneTarget:
		case rng.IntN(3) == 0:
			ports[name] = 1 + rng.Int64N(3)
		case rng.IntN(3) == 0:
			over[name] = []string{"local", "http", "http", "wire"}[rng.IntN(4)]
		}
		o.agents = slices.Clone(o.agents)
		for j := range o.agents {
			if port := ports[o.agents[j].Name]; port != 0 {
				o.agents[j].Options = map[string]any{"port": port}
			}
			if t := over[o.agents[j].Name]; t != "" {
				o.agents[j].Transport = t
			}
		}
	}
}

// portOf returns the port of an agent's connection, or 0 if there is none.
func portOf(a resource.Agent) int64 {
	port, _ := a.Options["port"].(int64)
	return port
}

// sameAgent reports whether two descriptions of an agent are equal.
func sameAgent(a, b resource.Agent) bool {
	return a.Name == b.Name && a.Transport == b.Transport && a.Lanes == b.Lanes &&
		portOf(a) == portOf(b)
}

// rehosted reports whether two versions describe different connections of a resource's agent.
func (c *content) rehosted(base *content, id resource.ID) bool {
	at := func(of *content) string {
		i := slices.IndexFunc(of.agents,
			func(a resource.Agent) bool { return a.Name == id.Agent() })
		if i < 0 {
			return ""
		}
		return wayTo(of.agents[i])
	}
	return at(c) != at(base)
}

// behind reports whether a version holds the intent of a resource from before a change of its
// agent's description. A targeted export leaves the other resources unchanged, and the next export
// without a target updates them.
func (c *content) behind(id resource.ID) bool {
	i := slices.IndexFunc(c.agents, func(a resource.Agent) bool { return a.Name == id.Agent() })
	if i < 0 {
		return false
	}
	hash, err := c.entries[id].res.Hash(c.agents[i])
	return err == nil && hash != c.entries[id].hash
}

// wayTo describes the connection of an agent.
func wayTo(a resource.Agent) string { return fmt.Sprintf("%s, port %d", a.Transport, portOf(a)) }

// reached reports whether objects of a type are reached over a transport. Batch and slow types are
// not reached over "wire".
func reached(typ, transport string) bool {
	return transport != "wire" || typ != typeBatch && typ != typeSlow
}

// refused reports whether an export must be refused because its documents contradict themselves.
func (o *op) refused() bool {
	over := map[string]string{}
	for _, a := range o.agents {
		over[a.Name] = a.Transport
	}
	return slices.ContainsFunc(o.model, func(s spec) bool {
		destroys := s.flags.PreventDestroy && (s.flags.Purged || s.flags.PurgeOnDelete)
		return destroys || !reached(s.id.Type(), over[s.id.Agent()])
	})
}

// strandsAgent reports whether an export may have to be refused because it changes a connection.
// The new transport may not reach a resource that has left the model and may still have to be
// purged.
func strandsAgent(r *run, o *op) bool {
	over := map[string]string{}
	for _, a := range o.agents {
		over[a.Name] = a.Transport
	}
	strands := func(s spec) bool {
		stays := slices.ContainsFunc(o.model, func(n spec) bool { return n.id == s.id })
		return !stays && !reached(s.id.Type(), over[s.id.Agent()])
	}
	return slices.ContainsFunc(r.plan.Ops,
		func(o op) bool { return slices.ContainsFunc(o.model, strands) })
}

// checkConnected checks that a claim runs over the agent's current connection. A worker that may
// start resources has read the description in force.
func checkConnected(r *run, t *task, e *environment, c *state.Commit) {
	name := c.Guard.Key
	if now := wayTo(e.agents[name].Agent); t.books.open > 0 && t.books.way != now {
		r.violate("transport",
			"%s starts %v over a connection with %s (%s), which is reached otherwise (%s)",
			t.name, c.Next, name, t.books.way, now)
	}
}
