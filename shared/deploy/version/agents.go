package version

import (
	"slices"
	"strings"

	"southbound/shared/internal/dag"
	"southbound/shared/resource"
)

// AgentIndex is the index of the agents of a graph.
type AgentIndex struct {
	Names  []string
	number map[string]int32 // by name: index into Names
	of     []int32          // by node
}

// NumberOf returns the number of an agent, that is the index of its name; -1: the graph has no
// resource of it.
func (x *AgentIndex) NumberOf(agent string) int32 {
	if a, known := x.number[agent]; known {
		return a
	}
	return -1
}

// Agents returns the index of the agents of a graph. It is made once.
func (g *Graph) Agents() *AgentIndex {
	g.agentsOnce.Do(func() {
		x := &AgentIndex{number: map[string]int32{}, of: make([]int32, len(g.IDs))}
		begin := "\x00" // of ids of the same type and agent as the id before; no id begins with it
		for i, id := range g.IDs {
			if strings.HasPrefix(string(id), begin) {
				x.of[i] = x.of[i-1]
				continue
			}
			name := id.Agent()
			a, known := x.number[name]
			if !known {
				a = int32(len(x.Names)) // see Node
				x.number[name], x.Names = a, append(x.Names, name)
			}
			x.of[i], begin = a, "\x00"
			if to := strings.IndexByte(string(id), '[') + 1 + len(name); len(id) > to &&
				strings.HasSuffix(string(id[:to]), name) && id[to] == ',' { // not escaped
				begin = string(id[:to+1])
			}
		}
		g.agentIndex = x
	})
	return g.agentIndex
}

// NodesOf returns the nodes of an agent, ascending. The lists of all agents are built at the first
// call, so callers that need few resources avoid the cost.
func (g *Graph) NodesOf(agent string) []int32 {
	x := g.Agents()
	a := x.NumberOf(agent)
	if a < 0 {
		return nil
	}
	g.nodesOnce.Do(func() {
		g.nodesOf = make([][]int32, len(x.Names))
		for n, a := range x.of {
			g.nodesOf[a] = append(g.nodesOf[a], int32(n)) // see Node
		}
	})
	return g.nodesOf[a]
}

// AgentOf returns the number of the agent of a node.
func (g *Graph) AgentOf(n int32) int32 { return g.Agents().of[n] }

// Part returns the graph of some nodes, which are ascending, and of the edges between them.
func (g *Graph) Part(nodes []int32) *Graph {
	out := &Graph{
		IDs:      make([]resource.ID, len(nodes)),
		Removing: make([]bool, len(nodes)),
	}
	for i, n := range nodes {
		out.IDs[i], out.Removing[i] = g.IDs[n], g.Removing[n]
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

// Behind returns the part of the graph with nodes and all their requirements, direct or indirect.
func (g *Graph) Behind(nodes []int32) *Graph {
	seen := make(map[int32]bool, len(nodes))
	var all []int32
	for stack := slices.Clone(nodes); len(stack) > 0; {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] {
			continue
		}
		seen[n], all = true, append(all, n)
		stack = append(stack, g.Requires(n)...)
	}
	if len(all) == len(g.IDs) {
		return g
	}
	slices.Sort(all)
	return g.Part(all)
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
