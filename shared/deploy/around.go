package deploy

import (
	"slices"

	"southbound/shared/dag"
	"southbound/shared/resource"
)

// surroundings are what the lanes of one agent need of a graph. To serve one agent of many then costs no more than what it has to do with.
type surroundings struct {
	// graph holds the resources of the agent, what these require and what requires them, directly or not. Of the last, not all requirements are
	// in it. So one may seem to be ready that is not; but that is decided in the lane of its own agent.
	graph  *Graph
	agents []string // whose resources these are, and the agent itself
	after  []string // lanes of the agent and of what requires something of it
	of     string   // hash of the whole graph
}

// around returns the part of a graph that concerns an agent.
func (g *Graph) around(agent string) surroundings {
	own := make([]bool, len(g.Lanes))
	for i, lane := range g.Lanes {
		own[i] = AgentOf(lane) == agent
	}
	if !slices.Contains(own, false) {
		return surroundings{graph: g, agents: []string{agent}, after: g.Lanes}
	}
	var nodes []int32
	for n, lane := range g.LaneOf {
		if own[lane] {
			nodes = append(nodes, int32(n)) //nolint:gosec // see Node
		}
	}
	before, behind := reach(len(g.IDs), nodes, g.Requires), reach(len(g.IDs), nodes, g.Dependants)
	out := surroundings{graph: g.part(union(before, behind)), agents: []string{agent}, after: g.lanesOf(behind)}
	for _, lane := range out.graph.Lanes {
		out.agents = append(out.agents, AgentOf(lane))
	}
	slices.Sort(out.agents)
	out.agents = slices.Compact(out.agents)
	return out
}

// lanesOf returns the lanes of nodes, ascending.
func (g *Graph) lanesOf(nodes []int32) []string {
	used := make([]bool, len(g.Lanes))
	for _, n := range nodes {
		used[g.LaneOf[n]] = true
	}
	var out []string
	for i, lane := range g.Lanes {
		if used[i] {
			out = append(out, lane)
		}
	}
	return out
}

// reach returns nodes and all that is reached from them, ascending. A graph has size nodes.
func reach(size int, nodes []int32, next func(n int32) []int32) []int32 {
	out, seen := slices.Clone(nodes), make([]bool, size)
	for _, n := range out {
		seen[n] = true
	}
	for i := 0; i < len(out); i++ {
		for _, n := range next(out[i]) {
			if !seen[n] {
				seen[n] = true
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

func union(a, b []int32) []int32 {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// part returns the graph of some nodes, which are ascending, and of the edges between them.
func (g *Graph) part(nodes []int32) *Graph {
	if len(nodes) == len(g.IDs) {
		return g
	}
	out := &Graph{IDs: make([]resource.ID, len(nodes)), LaneOf: make([]int32, len(nodes)), Removing: make([]bool, len(nodes))}
	lanes := make([]int32, len(g.Lanes)) // by lane: its index in out, and 1
	for _, n := range nodes {
		lanes[g.LaneOf[n]] = 1
	}
	for i, used := range lanes {
		if used != 0 {
			out.Lanes = append(out.Lanes, g.Lanes[i])
			lanes[i] = int32(len(out.Lanes)) //nolint:gosec // see Node
		}
	}
	for i, n := range nodes {
		out.IDs[i], out.LaneOf[i], out.Removing[i] = g.IDs[n], lanes[g.LaneOf[n]]-1, g.Removing[n]
	}
	var edges []int32
	out.dag = dag.New(len(nodes), func(i int) []int32 {
		edges = edges[:0]
		for _, q := range g.Requires(nodes[i]) {
			if at, in := slices.BinarySearch(nodes, q); in {
				edges = append(edges, int32(at)) //nolint:gosec // see Node
			}
		}
		return edges
	})
	return out
}
