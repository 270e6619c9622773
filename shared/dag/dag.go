// Package dag is a compact, immutable graph of what requires what, with its order and cycles. Nodes
// are numbers from 0. Nothing in it is recursive, so chains may be of any length.
package dag

import (
	"container/heap"
	"slices"
)

// Graph holds direct edges only, in two flat arrays each way. It is safe for concurrent use.
type Graph struct {
	reqStart, reqs []int32 // node i requires reqs[reqStart[i]:reqStart[i+1]]
	depStart, deps []int32 // node i is required by deps[depStart[i]:depStart[i+1]]
}

// New returns a graph of n nodes. requires returns the nodes that node i requires, each in 0..n-1,
// and is called once a node in ascending order; what it returns is copied. Repeated edges count
// once; a node may require itself, which is a cycle.
func New(n int, requires func(i int) []int32) *Graph {
	g := &Graph{reqStart: make([]int32, 1, n+1)}
	for i := range n {
		g.add(requires(i))
	}
	g.turn()
	return g
}

// turn makes the lists of dependants from those of requirements.
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
			g.deps[next[r]] = int32(i) // nodes are far fewer than 2^31
			next[r]++
		}
	}
}

// Edit returns a graph in which node i is from[i] of this one, with the requirements that are left of
// it, or, where that is negative, one that requires what requires returns, nodes of the new graph.
// now says of each node of this graph which one it is, or which one stands in its place; negative:
// none, and whoever required it does so no more. Both ascend but for what is negative.
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
		out.reqStart = append(out.reqStart, int32(len(out.reqs))) // see add
	}
	out.turn()
	return out
}

// add adds a node that requires others.
func (g *Graph) add(requires []int32) {
	from := len(g.reqs)
	g.reqs = append(g.reqs, requires...)
	part := g.reqs[from:]
	slices.Sort(part)
	g.reqs = g.reqs[:from+len(slices.Compact(part))]
	g.reqStart = append(g.reqStart, int32(len(g.reqs))) // edges are far fewer than 2^31
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.reqStart) - 1 }

// Requires returns the nodes that i requires, ascending. The slice belongs to the graph and is not
// to be changed.
func (g *Graph) Requires(i int) []int32 { return g.reqs[g.reqStart[i]:g.reqStart[i+1]] }

// Dependants returns the nodes that require i, ascending. The slice belongs to the graph and is not
// to be changed.
func (g *Graph) Dependants(i int) []int32 { return g.deps[g.depStart[i]:g.depStart[i+1]] }

// Order returns the nodes so that each comes after all that it requires; of several possible next
// nodes it takes the smallest, so nodes whose numbers are in such an order already stay in it.
// Nodes on a cycle, and those that require one of these, are left out.
func (g *Graph) Order() []int32 {
	n := g.Len()
	waiting := make([]int32, n)
	order := make([]int32, 0, n)
	for i := range n {
		waiting[i] = g.reqStart[i+1] - g.reqStart[i]
	}
	// One pass meets all that is free by then. What is freed behind it is smaller, and comes before
	// it goes on.
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
		order = append(order, int32(i)) // nodes are far fewer than 2^31
		for _, d := range g.Dependants(i) {
			if waiting[d]--; waiting[d] == 0 && int(d) < next {
				heap.Push(&behind, int(d))
			}
		}
	}
}
