package layout

import "slices"

// layer marks the edges that close cycles, and puts each node below the longest path to it. Nodes
// without edges stand in the last layer.
func (s *sketch) layer(start string) {
	out := make([][]int, len(s.nodes)) // edges by the node that they leave
	in := make([]int, len(s.nodes))
	for i, e := range s.edges {
		out[e.from] = append(out[e.from], i)
		in[e.to]++
	}
	layer := make([]int, len(s.nodes))
	for _, v := range s.search(out, s.roots(start, in)) {
		for _, i := range out[v] {
			if e := &s.edges[i]; !e.back {
				layer[e.to] = max(layer[e.to], layer[v]+1)
			}
		}
	}
	s.pullDown(layer, out, start)
	last := -1
	for v := range s.nodes {
		if in[v]+len(out[v]) > 0 {
			last = max(last, layer[v])
		}
	}
	for v := range s.nodes {
		if in[v]+len(out[v]) == 0 {
			layer[v] = last + 1
		}
	}
	s.fill(layer)
}

// roots returns the nodes in the order in which a search visits them: the start, those without
// incoming edges, all others.
func (s *sketch) roots(start string, in []int) []int {
	var first, roots, others []int
	for v := range s.nodes {
		switch {
		case start != "" && s.nodes[v].ID == start:
			first = append(first, v)
		case in[v] == 0:
			roots = append(roots, v)
		default:
			others = append(others, v)
		}
	}
	return slices.Concat(first, roots, others)
}

// search marks the edges that close a cycle, by a search in depth, and returns the nodes in a
// topological order of the other edges.
func (s *sketch) search(out [][]int, roots []int) []int {
	const (
		unseen = iota
		open
		closed
	)
	state, next := make([]byte, len(s.nodes)), make([]int, len(s.nodes))
	order := make([]int, 0, len(s.nodes))
	var stack []int
	for _, root := range roots {
		if state[root] != unseen {
			continue
		}
		stack, state[root] = append(stack, root), open
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			if next[v] == len(out[v]) {
				stack, state[v] = stack[:len(stack)-1], closed
				order = append(order, v)
				continue
			}
			e := &s.edges[out[v][next[v]]]
			next[v]++
			switch state[e.to] {
			case unseen:
				stack, state[e.to] = append(stack, e.to), open
			case open:
				e.back = true
			}
		}
	}
	slices.Reverse(order)
	return order
}

// pullDown puts nodes that nothing leads to directly above the nodes that they lead to.
func (s *sketch) pullDown(layer []int, out [][]int, start string) {
	led := make([]bool, len(s.nodes))
	for _, e := range s.edges {
		led[e.to] = led[e.to] || !e.back
	}
	for v := range s.nodes {
		if led[v] || (start != "" && s.nodes[v].ID == start) {
			continue
		}
		nearest := -1
		for _, i := range out[v] {
			if e := &s.edges[i]; !e.back && (nearest < 0 || layer[e.to] < nearest) {
				nearest = layer[e.to]
			}
		}
		layer[v] = max(layer[v], nearest-1)
	}
}

// fill makes the vertices of the nodes, and the layers, without those that are empty.
func (s *sketch) fill(layer []int) {
	s.vertices = make([]vertex, len(s.nodes))
	layers := make([][]int, len(s.nodes)+1)
	for v := range s.nodes {
		s.vertices[v] = vertex{node: v, width: boxWidth}
		layers[layer[v]] = append(layers[layer[v]], v)
	}
	s.layers = slices.DeleteFunc(layers, func(l []int) bool { return len(l) == 0 })
	s.number()
}

// number writes the number of its layer into each vertex.
func (s *sketch) number() {
	for n, l := range s.layers {
		for _, v := range l {
			s.vertices[v].layer = n
		}
	}
}

// split divides layers with more than columns boxes. Neighbours in a layer come to stand below
// each other, so that the order from the left to the right remains.
func (s *sketch) split(columns int) {
	for _, e := range s.edges {
		if e.from != e.to {
			s.join(e.top(), e.bottom())
		}
	}
	s.sweep()
	var layers [][]int
	for _, l := range s.layers {
		rows := (len(l) + columns - 1) / columns
		parts := make([][]int, rows)
		for i, v := range l {
			parts[i%rows] = append(parts[i%rows], v)
		}
		layers = append(layers, parts...)
	}
	s.layers = layers
	s.number()
	for i := range s.vertices {
		s.vertices[i].up, s.vertices[i].down = nil, nil
	}
}

func (s *sketch) join(up, down int) {
	s.vertices[up].down = append(s.vertices[up].down, down)
	s.vertices[down].up = append(s.vertices[down].up, up)
}
