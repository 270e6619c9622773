package layout

import (
	"cmp"
	"slices"
)

const sweeps = 4

// connect makes the vertices at which lines bend, one in each layer between their ends, and those
// of labels. Lines without label that leave a node share them.
func (s *sketch) connect() {
	for _, e := range s.edges {
		if e.Label != "" {
			s.spread = 2
		}
	}
	if s.spread > 1 {
		s.double()
	}
	shared := map[[2]int]int{} // by node and layer
	bends := 0
	for i := range s.edges {
		e := &s.edges[i]
		if e.from == e.to {
			s.widen(e)
			continue
		}
		top, bottom := e.top(), e.bottom()
		from, to := s.vertices[top].layer, s.vertices[bottom].layer
		labelled := from + 1 // next to the node that the line leaves
		if e.back {
			labelled = to - 1
		}
		e.chain = []int{top}
		for n := from + 1; n < to; n++ {
			label := e.Label != "" && n == labelled
			key := [2]int{top, n}
			v, there := shared[key]
			switch {
			case !label && bends >= maxBends:
				continue
			case e.Label == "" && !e.back && there:
			default:
				v = s.bend(n, e, label)
				bends++
				if e.Label == "" && !e.back {
					shared[key] = v
				}
			}
			e.chain = append(e.chain, v)
		}
		e.chain = append(e.chain, bottom)
	}
	s.joinChains()
}

// double inserts a layer for labels below each layer.
func (s *sketch) double() {
	layers := make([][]int, max(0, 2*len(s.layers)-1))
	for n, l := range s.layers {
		layers[2*n] = l
	}
	s.layers = layers
	s.number()
}

// bend makes a vertex without node in a layer.
func (s *sketch) bend(layer int, e *link, label bool) int {
	v := vertex{node: -1, width: bendWidth, layer: layer}
	if label {
		v.width = labelWidth(e.Label)
	}
	s.vertices = append(s.vertices, v)
	s.layers[layer] = append(s.layers[layer], len(s.vertices)-1)
	return len(s.vertices) - 1
}

// widen makes room for an edge from a node to itself, at its right.
func (s *sketch) widen(e *link) {
	v := &s.vertices[e.from]
	v.width = max(v.width, boxWidth+2*(loopWidth+labelWidth(e.Label)))
}

// joinChains joins neighbours of chains, each pair once.
func (s *sketch) joinChains() {
	joined := map[[2]int]bool{}
	for i := range s.edges {
		chain := s.edges[i].chain
		for n := 1; n < len(chain); n++ {
			pair := [2]int{chain[n-1], chain[n]}
			if !joined[pair] {
				joined[pair] = true
				s.join(pair[0], pair[1])
			}
		}
	}
}

// sweep sorts the layers by the mean position of the neighbours above, then below, in turn.
func (s *sketch) sweep() {
	position := make([]float64, len(s.vertices))
	for _, l := range s.layers {
		settle(position, l)
	}
	for n := range sweeps {
		for i := range s.layers {
			l := s.layers[i]
			if n%2 == 1 {
				l = s.layers[len(s.layers)-1-i]
			}
			s.arrange(l, position, n%2 == 1)
		}
	}
}

// settle numbers the positions of a layer, from 0 to 1, so that layers of different length compare.
func settle(position []float64, layer []int) {
	for i, v := range layer {
		position[v] = (float64(i) + 0.5) / float64(len(layer))
	}
}

func (s *sketch) arrange(layer []int, position []float64, upwards bool) {
	type keyed struct {
		v    int
		mean float64
	}
	keys := make([]keyed, len(layer))
	for i, v := range layer {
		neighbours := s.vertices[v].up
		if upwards {
			neighbours = s.vertices[v].down
		}
		keys[i] = keyed{v, position[v]}
		if len(neighbours) > 0 {
			sum := 0.0
			for _, n := range neighbours {
				sum += position[n]
			}
			keys[i].mean = sum / float64(len(neighbours))
		}
	}
	slices.SortStableFunc(keys, func(a, b keyed) int { return cmp.Compare(a.mean, b.mean) })
	for i, k := range keys {
		layer[i] = k.v
	}
	settle(position, layer)
}
