package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// hosts lets one plan in five say, from some export on, that an agent is reached in another way.
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
		case o.At == 0:
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

// portOf returns the port at which an agent is reached; 0: none is said.
func portOf(a resource.Agent) int64 {
	port, _ := a.Options["port"].(int64)
	return port
}

// sameAgent reports whether two descriptions of an agent say the same.
func sameAgent(a, b resource.Agent) bool {
	return a.Name == b.Name && a.Transport == b.Transport && a.Lanes == b.Lanes &&
		portOf(a) == portOf(b)
}

// rehosted reports whether two versions describe the agent of a resource in another way.
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

// behind reports whether a version holds the intent of a resource as it was before its agent was
// described anew: an export of chosen resources leaves the others as they are, and the next one
// that is not of chosen ones brings them up to date.
func (c *content) behind(id resource.ID) bool {
	i := slices.IndexFunc(c.agents, func(a resource.Agent) bool { return a.Name == id.Agent() })
	if i < 0 {
		return false
	}
	hash, err := c.entries[id].res.Hash(c.agents[i])
	return err == nil && hash != c.entries[id].hash
}

// wayTo says how an agent is reached.
func wayTo(a resource.Agent) string { return fmt.Sprintf("%s, port %d", a.Transport, portOf(a)) }

// reached reports whether things of a type are reached over a transport: those that take long, or
// come in batches, over all but one.
func reached(typ, transport string) bool {
	return transport != "wire" || typ != typeBatch && typ != typeSlow
}

// refused reports whether an export has to be refused for what its documents say by themselves.
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

// strandsAgent reports whether an export may have to be refused since it lets an agent be reached
// in a way that is not for something that has left, and may be still to be purged.
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

// checkConnected checks that what starts runs over a connection with its agent as that is described
// in what is in force: whoever is allowed to start something has read that.
func checkConnected(r *run, t *task, e *environment, c *state.Commit) {
	name := state.AgentOf(c.Guard.Key)
	if now := wayTo(e.agents[name].Agent); t.books.open > 0 && t.books.way != now {
		r.violate("transport",
			"%s starts %v over a connection with %s (%s), which is reached otherwise (%s)",
			t.name, c.Next, name, t.books.way, now)
	}
}
