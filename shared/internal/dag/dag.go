// Package dag is a compact, immutable graph of requirements, with its topological order and its
// cycles. Nodes are numbered from 0. The algorithms are not recursive, so chains may have any
// length.
package dag

import (
	"container/heap"
	"slices"
)

// Graph holds only direct edges, in two flat arrays per direction. It is safe for concurrent use.
type Graph struct {
	reqStart, reqs []int32 // node i requires reqs[reqStart[i]:reqStart[i+1]]
	depStart, deps []int32 // node i is required by deps[depStart[i]:depStart[i+1]]
}

// New returns a graph of n nodes. The function requires returns the nodes that node i requires,
// each in 0..n-1. New calls it once per node, in ascending order, and copies the result. Repeated
// edges count once. A node may require itself, which is a cycle.
func New(n int, requires func(i int) []int32) *Graph {
	g := &Graph{reqStart: make([]int32, 1, n+1)}
	for i := range n {
		g.add(requires(i))
	}
	g.turn()
	return g
}

// turn builds the lists of dependants from the lists of requirements.
func (g *Graph) turn() {
	n := g.Len()
	g.depStart = make([]int32, n+1)
	for _, r := range g.reqs {
		g.depStart[r+1]++
	}
	for i := range n {
		g.depStart[i+1] += g.depStart[i]
	}
	g.deps = make([]int32, len(g.reqs))
	next := slices.Clone(g.depStart)
	for i := range n {
		for _, r := range g.Requires(i) {
			g.deps[next[r]] = int32(i) // no overflow: nodes are far fewer than 2^31
			next[r]++
		}
	}
}

// Edit returns a new graph. If from[i] is not negative, node i of the new graph is node from[i] of
// g, with its remaining requirements. If from[i] is negative, node i is new, and requires returns
// its requirements as nodes of the new graph. now[j] is the new number of node j of g, or the
// number of the node that replaces it. If now[j] is negative, node j has no successor, and its
// dependants lose the requirement. The elements of from and now that are not negative are
// ascending.
func (g *Graph) Edit(from, now []int32, requires func(i int) []int32) *Graph {
	out := &Graph{reqStart: make([]int32, 1, len(from)+1), reqs: make([]int32, 0, len(g.reqs))}
	for i, was := range from {
		if was < 0 {
			out.add(requires(i))
			continue
		}
		for _, q := range g.Requires(int(was)) {
			if q = now[q]; q >= 0 {
				out.reqs = append(out.reqs, q)
			}
		}
		out.reqStart = append(out.reqStart, int32(len(out.reqs))) // no overflow; see add
	}
	out.turn()
	return out
}

// add adds a node with its requirements.
func (g *Graph) add(requires []int32) {
	from := len(g.reqs)
	g.reqs = append(g.reqs, requires...)
	part := g.reqs[from:]
	slices.Sort(part)
	g.reqs = g.reqs[:from+len(slices.Compact(part))]
	g.reqStart = append(g.reqStart, int32(len(g.reqs))) // no overflow: far fewer than 2^31 edges
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.reqStart) - 1 }

// Requires returns the nodes that i requires, ascending. The slice belongs to the graph, and
// callers must not modify it.
func (g *Graph) Requires(i int) []int32 { return g.reqs[g.reqStart[i]:g.reqStart[i+1]] }

// Dependants returns the nodes that require i, ascending. The slice belongs to the graph, and
// callers must not modify it.
func (g *Graph) Dependants(i int) []int32 { return g.deps[g.depStart[i]:g.depStart[i+1]] }

// Order returns the nodes in topological order: each node comes after all nodes that it requires.
// Among several possible next nodes, Order takes the smallest, so an existing topological order of
// the numbers is kept. The result omits nodes on a cycle, and all nodes that require such a node
// directly or indirectly.
func (g *Graph) Order() []int32 {
	n := g.Len()
	waiting := make([]int32, n)
	order := make([]int32, 0, n)
	for i := range n {
		waiting[i] = g.reqStart[i+1] - g.reqStart[i]
	}
	// The loop visits the nodes in ascending order. A visited node may free smaller nodes, which
	// are processed before the loop continues.
	var behind nodeHeap
	next := 0
	for {
		i, some := 0, behind.Len() > 0
		if some {
			i = heap.Pop(&behind).(int)
		}
		for !some {
			if next == n {
				return order
			}
			i, some = next, waiting[next] == 0
			next++
		}
		order = append(order, int32(i)) // no overflow: nodes are far fewer than 2^31
		for _, d := range g.Dependants(i) {
			if waiting[d]--; waiting[d] == 0 && int(d) < next {
				heap.Push(&behind, int(d))
			}
		}
	}
}
