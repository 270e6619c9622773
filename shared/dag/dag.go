// Package dag is a compact, immutable graph of what requires what, with order and cycles. Nodes are numbers from 0.
package dag

import "slices"

// Graph holds direct edges only, in two flat arrays each way.
type Graph struct {
	reqStart, reqs []int32
	depStart, deps []int32
}

// New returns a graph of n nodes; requires returns the nodes that node i requires and is called once a node. Repeated edges count once.
func New(n int, requires func(i int) []int32) *Graph {
	g := &Graph{reqStart: make([]int32, n+1), depStart: make([]int32, n+1)}
	for i := range n {
		from := len(g.reqs)
		g.reqs = append(g.reqs, requires(i)...)
		part := g.reqs[from:]
		slices.Sort(part)
		g.reqs = g.reqs[:from+len(slices.Compact(part))]
		g.reqStart[i+1] = int32(len(g.reqs))
	}
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
			g.deps[next[r]] = int32(i)
			next[r]++
		}
	}
	return g
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.reqStart) - 1 }

// Requires returns the nodes that i requires, ascending. The slice belongs to the graph.
func (g *Graph) Requires(i int) []int32 { return g.reqs[g.reqStart[i]:g.reqStart[i+1]] }

// Dependants returns the nodes that require i, ascending. The slice belongs to the graph.
func (g *Graph) Dependants(i int) []int32 { return g.deps[g.depStart[i]:g.depStart[i+1]] }

// Order returns the nodes so that each comes after all it requires; among those free to go, first come first. Nodes on a cycle, and
// behind one, are left out.
func (g *Graph) Order() []int32 {
	n := g.Len()
	waiting := make([]int32, n)
	order := make([]int32, 0, n)
	for i := range n {
		waiting[i] = g.reqStart[i+1] - g.reqStart[i]
		if waiting[i] == 0 {
			order = append(order, int32(i))
		}
	}
	for at := 0; at < len(order); at++ {
		for _, d := range g.Dependants(int(order[at])) {
			if waiting[d]--; waiting[d] == 0 {
				order = append(order, d)
			}
		}
	}
	return order
}

// Cycles returns one shortest cycle of each strongly connected part that has any, each starting at its smallest node, in order of that
// node. The result is empty when the graph is acyclic. Each node of a cycle requires the next, the last the first.
func (g *Graph) Cycles() [][]int32 {
	if len(g.Order()) == g.Len() {
		return nil
	}
	var out [][]int32
	comp := g.components()
	members := map[int32][]int32{}
	for i, c := range comp {
		members[c] = append(members[c], int32(i))
	}
	for _, part := range members {
		if c := g.shortest(part, comp); c != nil {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b []int32) int { return int(a[0] - b[0]) })
	return out
}

// components numbers strongly connected parts: Tarjan's algorithm without recursion, so that a chain of any length fits.
func (g *Graph) components() []int32 {
	n := g.Len()
	comp, low, num := make([]int32, n), make([]int32, n), make([]int32, n)
	next := make([]int32, n)
	var stack, call []int32
	counter, parts := int32(0), int32(0)
	on := make([]bool, n)
	for root := range n {
		if num[root] != 0 {
			continue
		}
		call = append(call, int32(root))
		for len(call) > 0 {
			v := call[len(call)-1]
			if num[v] == 0 {
				counter++
				num[v], low[v], on[v] = counter, counter, true
				stack = append(stack, v)
			}
			reqs := g.Requires(int(v))
			descended := false
			for int(next[v]) < len(reqs) {
				w := reqs[next[v]]
				if num[w] == 0 {
					call = append(call, w)
					descended = true
					break
				}
				if on[w] {
					low[v] = min(low[v], low[w])
				}
				next[v]++
			}
			if descended {
				continue
			}
			call = call[:len(call)-1]
			if low[v] == num[v] {
				for {
					w := stack[len(stack)-1]
					stack = stack[:len(stack)-1]
					on[w], comp[w] = false, parts
					if w == v {
						break
					}
				}
				parts++
			}
		}
	}
	return comp
}

// shortest returns a shortest cycle within one strongly connected part, or nil. It looks from at most a few nodes, which is exact for
// small parts and near enough for large ones.
func (g *Graph) shortest(part []int32, comp []int32) []int32 {
	var best []int32
	for _, start := range part[:min(len(part), 200)] {
		if c := g.cycleFrom(start, comp); c != nil && (best == nil || len(c) < len(best)) {
			best = c
		}
	}
	if best == nil {
		return nil
	}
	at := slices.Index(best, slices.Min(best))
	return append(slices.Clone(best[at:]), best[:at]...)
}

// cycleFrom returns a shortest cycle through start, or nil.
func (g *Graph) cycleFrom(start int32, comp []int32) []int32 {
	from := map[int32]int32{}
	queue := []int32{start}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, w := range g.Requires(int(v)) {
			if w == start {
				path := []int32{v}
				for v != start {
					v = from[v]
					path = append(path, v)
				}
				slices.Reverse(path)
				return path
			}
			if _, seen := from[w]; !seen && comp[w] == comp[start] {
				from[w] = v
				queue = append(queue, w)
			}
		}
	}
	return nil
}
