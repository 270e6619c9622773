package sim

import (
	"math/rand/v2"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// hosts lets one plan in five say, from some export on, that an agent is reached in another way.
func (d *drawer) hosts(rng *rand.Rand) {
	if rng.IntN(5) != 0 && (d.focus == nil || !d.focus.rehosted) {
		return
	}
	ports := map[string]int64{}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opExport {
			continue
		}
		if o.At > 0 && rng.IntN(3) == 0 {
			ports[d.agents[rng.IntN(len(d.agents))].Name] = 1 + rng.Int64N(3)
		}
		o.agents = slices.Clone(o.agents)
		for j := range o.agents {
			if port := ports[o.agents[j].Name]; port != 0 {
				o.agents[j].Options = map[string]any{"port": port}
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
	return a.Name == b.Name && a.Transport == b.Transport && a.Lanes == b.Lanes && portOf(a) == portOf(b)
}

// rehosted reports whether two versions describe the agent of a resource in another way.
func (c *content) rehosted(base *content, id resource.ID) bool {
	at := func(of *content) int64 {
		i := slices.IndexFunc(of.agents, func(a resource.Agent) bool { return a.Name == id.Agent() })
		if i < 0 {
			return 0
		}
		return portOf(of.agents[i])
	}
	return at(c) != at(base)
}

// checkConnected checks that what starts runs over a connection with its agent as that is described
// in what is in force: whoever is allowed to start something has read that.
func (r *run) checkConnected(t *task, e *environment, c *deploy.Commit) {
	name := deploy.AgentOf(c.Guard.Key)
	if now := portOf(e.agents[name].Agent); t.books.open > 0 && t.books.port != now {
		r.violate("transport", "%s starts %v over a connection with port %d of %s, which is reached at %d",
			t.name, c.Next, t.books.port, name, now)
	}
}
