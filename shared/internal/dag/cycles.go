package dag

import "slices"

// searchBudget is the maximum number of edges visited to find the shortest cycle of one part. It
// suffices for the exact answer in any graph that occurs in practice. Beyond it, the search returns
// the shortest cycle found so far.
const searchBudget = 10_000_000

// Cycles returns a shortest cycle of each strongly connected part that has any: one for each
// problem to be solved. Each cycle starts at its smallest node; each node in it requires the next,
// and the last requires the first. The cycles are in the order of their first nodes. The result is
// empty if the graph is acyclic. If a part is so large that the search is abandoned, the cycle is
// short but not always the shortest.
func (g *Graph) Cycles() [][]int32 {
	part, count := g.parts()
	start := make([]int32, count+1)
	for _, p := range part {
		start[p+1]++
	}
	for p := range count {
		start[p+1] += start[p]
	}
	members := make([]int32, len(part))
	next := slices.Clone(start)
	for i, p := range part {
		members[next[p]] = int32(i)
		next[p]++
	}
	var out [][]int32
	var s *search
	for p := range count {
		nodes := members[start[p]:start[p+1]]
		if len(nodes) == 1 && !slices.Contains(g.Requires(int(nodes[0])), nodes[0]) {
			continue
		}
		if s == nil {
			s = newSearch(g, part)
		}
		out = append(out, s.shortest(nodes))
	}
	slices.SortFunc(out, func(a, b []int32) int { return int(a[0]) - int(b[0]) })
	return out
}

// Parts returns for each node the number of its strongly connected part. Two nodes are in the same
// part if each requires the other, directly or indirectly.
func (g *Graph) Parts() []int32 {
	part, _ := g.parts()
	return part
}

// parts numbers the strongly connected part of each node: Tarjan's algorithm with its own stack.
func (g *Graph) parts() (part []int32, count int32) {
	n := g.Len()
	part = make([]int32, n)
	index, low := make([]int32, n), make([]int32, n) // index 0: not visited
	next := slices.Clone(g.reqStart[:n])             // the next edge of each node to follow
	// nodes whose part is not known; path from the root to the current node
	var open, path []int32
	seen := int32(0)
	enter := func(v int32) {
		seen++
		index[v], low[v] = seen, seen
		open, path = append(open, v), append(path, v)
	}
	for root := range int32(n) { // no overflow: nodes are far fewer than 2^31
		if index[root] != 0 {
			continue
		}
		for enter(root); len(path) > 0; {
			v := path[len(path)-1]
			if next[v] < g.reqStart[v+1] {
				w := g.reqs[next[v]]
				next[v]++
				switch {
				case index[w] == 0:
					enter(w)
				case part[w] == 0: // still open
					low[v] = min(low[v], index[w])
				}
				continue
			}
			path = path[:len(path)-1]
			if len(path) > 0 {
				up := path[len(path)-1]
				low[up] = min(low[up], low[v])
			}
			if low[v] == index[v] {
				count++
				at := len(open) - 1
				for ; open[at] != v; at-- {
					part[open[at]] = count
				}
				part[v] = count
				open = open[:at]
			}
		}
	}
	for i := range part {
		part[i]--
	}
	return part, count
}

// search finds shortest cycles. Its arrays are reused for all parts.
type search struct {
	g        *Graph
	part     []int32
	gone     []bool  // removed from the search
	ins      []int32 // number of edges from and to remaining nodes of the same part
	outs     []int32
	from     []int32 // the predecessor in the search that seen identifies
	seen     []int32
	distance []int32
	round    int32
	queue    []int32
	left     int // remaining budget of edges
}

func newSearch(g *Graph, part []int32) *search {
	n := g.Len()
	return &search{
		g: g, part: part, gone: make([]bool, n), ins: make([]int32, n), outs: make([]int32, n),
		from: make([]int32, n), seen: make([]int32, n), distance: make([]int32, n),
	}
}

// shortest returns a shortest cycle of one part. It finds the shortest cycle through one node, and
// removes the node with all nodes that are then on no cycle. It repeats this with the remaining
// nodes.
func (s *search) shortest(nodes []int32) []int32 {
	for _, v := range nodes {
		for _, w := range s.g.Requires(int(v)) {
			if s.part[w] == s.part[v] {
				s.outs[v]++
				s.ins[w]++
			}
		}
	}
	s.left = searchBudget
	var best []int32
	for _, v := range nodes {
		if s.gone[v] {
			continue
		}
		if c := s.through(v, len(best)); c != nil {
			best = c
		}
		if len(best) == 1 || s.left <= 0 {
			break
		}
		s.remove(v)
	}
	at := slices.Index(best, slices.Min(best))
	return append(slices.Clone(best[at:]), best[:at]...)
}

// through returns a shortest cycle through start. It returns nil if no cycle is shorter than limit;
// 0 means no limit.
func (s *search) through(start int32, limit int) []int32 {
	s.round++
	s.queue = append(s.queue[:0], start)
	s.distance[start] = 0
	for at := 0; at < len(s.queue); at++ {
		v := s.queue[at]
		if limit > 0 && int(s.distance[v])+1 >= limit {
			return nil
		}
		reqs := s.g.Requires(int(v))
		s.left -= len(reqs)
		for _, w := range reqs {
			switch {
			case w == start:
				return s.path(start, v)
			case s.part[w] == s.part[start] && !s.gone[w] && s.seen[w] != s.round:
				s.seen[w], s.from[w], s.distance[w] = s.round, v, s.distance[v]+1
				s.queue = append(s.queue, w)
			}
		}
		if s.left <= 0 && limit > 0 {
			return nil
		}
	}
	return nil
}

// path returns the nodes from start to last, in the order of the search.
func (s *search) path(start, last int32) []int32 {
	path := []int32{last}
	for v := last; v != start; {
		v = s.from[v]
		path = append(path, v)
	}
	slices.Reverse(path)
	return path
}

// remove removes a node, and all nodes that are on no cycle without it.
func (s *search) remove(v int32) {
	s.gone[v] = true
	s.queue = append(s.queue[:0], v)
	for len(s.queue) > 0 {
		v := s.queue[len(s.queue)-1]
		s.queue = s.queue[:len(s.queue)-1]
		s.drop(v, s.g.Requires(int(v)), s.ins)
		s.drop(v, s.g.Dependants(int(v)), s.outs)
	}
}

// drop decrements the edge count of each neighbour, and queues the neighbours without edges on that
// side.
func (s *search) drop(v int32, neighbours, count []int32) {
	for _, w := range neighbours {
		if s.part[w] != s.part[v] || s.gone[w] {
			continue
		}
		if count[w]--; count[w] == 0 {
			s.gone[w] = true
			s.queue = append(s.queue, w)
		}
	}
}
