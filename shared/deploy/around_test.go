package deploy

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"southbound/shared/resource"
)

// TestAround pins that what an agent sees of a random graph decides for its own resources what the whole graph decides, at every step of a random
// schedule; that whoever may wait for them is seen and will be rung; and that it sees nothing else.
func TestAround(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		g := graphOfAgents(rnd)
		agent := agentNames[rnd.IntN(len(agentNames))]
		near := g.around(agent)
		if err := sees(g, near, agent); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		scheduled, part := make([]bool, len(g.IDs)), make([]bool, len(near.graph.IDs))
		for i, id := range g.IDs {
			scheduled[i] = rnd.IntN(2) == 0
			if at := near.graph.Node(id); at >= 0 {
				part[at] = scheduled[i]
			}
		}
		whole, some := newFrontier(g, scheduled), newFrontier(near.graph, part)
		for {
			var ready []int32
			for n, id := range g.IDs {
				is := whole.ready(int32(n)) //nolint:gosec // small
				if is {
					ready = append(ready, int32(n)) //nolint:gosec // small
				}
				if id.Agent() == agent && some.ready(near.graph.Node(id)) != is {
					t.Fatalf("seed %d: %s is ready in the whole graph: %v, and not so around %s", seed, id, is, agent)
				}
			}
			if len(ready) == 0 {
				break
			}
			next := ready[rnd.IntN(len(ready))]
			whole.done(next, func(int32, bool) {})
			if at := near.graph.Node(g.IDs[next]); at >= 0 {
				some.done(at, func(int32, bool) {})
			}
		}
	}
}

var agentNames = []string{"a", "a/1", "b", "c", "d"} // one is named like a lane of another

func graphOfAgents(rnd *rand.Rand) *Graph {
	nodes := make([]graphNode, 1+rnd.IntN(14))
	for i := range nodes {
		a := agentNames[rnd.IntN(len(agentNames))]
		nodes[i] = graphNode{ID: resource.ID(fmt.Sprintf("t::T[%s,n=%02d]", a, i)), Lane: fmt.Sprintf("%s/%d", a, rnd.IntN(2)), Removing: rnd.IntN(4) == 0}
		for j := range i {
			if rnd.IntN(5) == 0 {
				nodes[i].Requires = append(nodes[i].Requires, nodes[j].ID)
			}
		}
	}
	return buildGraph(nodes)
}

// sees compares what is around an agent with the plain definition.
func sees(g *Graph, near surroundings, agent string) error {
	for i, id := range g.IDs {
		n := int32(i) //nolint:gosec // small
		before, behind := false, false
		for own, other := range g.IDs {
			if other.Agent() == agent {
				before = before || leads(g, int32(own), n) //nolint:gosec // small
				behind = behind || leads(g, n, int32(own)) //nolint:gosec // small
			}
		}
		at := near.graph.Node(id)
		switch {
		case (at >= 0) != (before || behind):
			return fmt.Errorf("%s sees %s: %v", agent, id, at >= 0)
		case at >= 0 && (near.graph.Lane(at) != g.Lane(n) || near.graph.Removing[at] != g.Removing[n] || !slices.Contains(near.agents, id.Agent())):
			return fmt.Errorf("%s sees another %s", agent, id)
		case behind && !slices.Contains(near.after, g.Lane(n)):
			return fmt.Errorf("%s may wait for %s, which does not ring %s", id, agent, g.Lane(n))
		}
	}
	return nil
}

// leads reports whether a is b or requires it, directly or not.
func leads(g *Graph, a, b int32) bool {
	return a == b || slices.ContainsFunc(g.Requires(a), func(q int32) bool { return leads(g, q, b) })
}
