package version

import (
	"slices"

	"southbound/shared/dag"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// AgentIndex says which nodes of a graph are of which agent.
type AgentIndex struct {
	Names  []string
	Number map[string]int32 // by name: index into names
	of     []int32          // by lane
	Nodes  [][]int32        // by agent, ascending
	At     []int32          // by node: where it is among those of its agent
}

// Agents returns the index of the agents of a graph. It is made once.
func (g *Graph) Agents() *AgentIndex {
	g.agentsOnce.Do(func() {
		x := &AgentIndex{Number: map[string]int32{}, of: make([]int32, len(g.Lanes))}
		x.At = make([]int32, len(g.IDs))
		for i, lane := range g.Lanes {
			name := state.AgentOf(lane)
			a, known := x.Number[name]
			if !known {
				a = int32(len(x.Names)) // see Node
				x.Number[name], x.Names = a, append(x.Names, name)
			}
			x.of[i] = a
		}
		x.Nodes = make([][]int32, len(x.Names))
		for n, lane := range g.LaneOf {
			a := x.of[lane]
			x.At[n] = int32(len(x.Nodes[a]))          // see Node
			x.Nodes[a] = append(x.Nodes[a], int32(n)) // see Node
		}
		g.agentIndex = x
	})
	return g.agentIndex
}

// NodesOf returns the nodes of an agent, ascending.
func (x *AgentIndex) NodesOf(agent string) []int32 {
	if a, known := x.Number[agent]; known {
		return x.Nodes[a]
	}
	return nil
}

// AgentOf returns the number of the agent of a node.
func (g *Graph) AgentOf(n int32) int32 { return g.Agents().of[g.LaneOf[n]] }

// Part returns the graph of some nodes, which are ascending, and of the edges between them.
func (g *Graph) Part(nodes []int32) *Graph {
	out := &Graph{
		IDs:      make([]resource.ID, len(nodes)),
		LaneOf:   make([]int32, len(nodes)),
		Removing: make([]bool, len(nodes)),
	}
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
		out.LaneOf[i] = int32(lane) // see Node
	}
	var edges []int32
	out.dag = dag.New(len(nodes), func(i int) []int32 {
		edges = edges[:0]
		for _, q := range g.Requires(nodes[i]) {
			if at, in := slices.BinarySearch(nodes, q); in {
				edges = append(edges, int32(at)) // see Node
			}
		}
		return edges
	})
	return out
}

// Nodes returns the indexes of ids in the graph, leaving out those that are not in it.
func (g *Graph) Nodes(ids []resource.ID) []int32 {
	out := make([]int32, 0, len(ids))
	for _, id := range ids {
		if n := g.Node(id); n >= 0 {
			out = append(out, n)
		}
	}
	return out
}
