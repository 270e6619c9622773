package deploy

import (
	"slices"

	"southbound/shared/dag"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// agentIndex says which nodes of a graph are of which agent.
type agentIndex struct {
	names  []string
	number map[string]int32 // by name: index into names
	of     []int32          // by lane
	nodes  [][]int32        // by agent, ascending
	at     []int32          // by node: where it is among those of its agent
}

// agents returns the index of the agents of a graph. It is made once.
func (g *Graph) agents() *agentIndex {
	g.agentsOnce.Do(func() {
		x := &agentIndex{number: map[string]int32{}, of: make([]int32, len(g.Lanes))}
		x.at = make([]int32, len(g.IDs))
		for i, lane := range g.Lanes {
			name := state.AgentOf(lane)
			a, known := x.number[name]
			if !known {
				a = int32(len(x.names)) //nolint:gosec // see Node
				x.number[name], x.names = a, append(x.names, name)
			}
			x.of[i] = a
		}
		x.nodes = make([][]int32, len(x.names))
		for n, lane := range g.LaneOf {
			a := x.of[lane]
			x.at[n] = int32(len(x.nodes[a]))          //nolint:gosec // see Node
			x.nodes[a] = append(x.nodes[a], int32(n)) //nolint:gosec // see Node
		}
		g.agentIndex = x
	})
	return g.agentIndex
}

// nodesOf returns the nodes of an agent, ascending.
func (x *agentIndex) nodesOf(agent string) []int32 {
	if a, known := x.number[agent]; known {
		return x.nodes[a]
	}
	return nil
}

// agentOf returns the number of the agent of a node.
func (g *Graph) agentOf(n int32) int32 { return g.agents().of[g.LaneOf[n]] }

// part returns the graph of some nodes, which are ascending, and of the edges between them.
func (g *Graph) part(nodes []int32) *Graph {
	out := &Graph{IDs: make([]resource.ID, len(nodes)), LaneOf: make([]int32, len(nodes)), Removing: make([]bool, len(nodes))}
	used := make([]int32, len(nodes))
	for i, n := range nodes {
		used[i] = g.LaneOf[n]
	}
	slices.Sort(used)
	used = slices.Compact(used)
	for _, lane := range used {
		out.Lanes = append(out.Lanes, g.Lanes[lane])
	}
	for i, n := range nodes {
		lane, _ := slices.BinarySearch(used, g.LaneOf[n])
		out.IDs[i], out.Removing[i] = g.IDs[n], g.Removing[n]
		out.LaneOf[i] = int32(lane) //nolint:gosec // see Node
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
