package layout

import (
	"cmp"
	"math"
	"slices"
)

// Sizes, in pixels.
const (
	boxWidth   = 184
	boxHeight  = 46
	labelSize  = 18 // height
	bendWidth  = 6
	gapX       = 22
	gapY       = 44
	gapLabel   = 20 // above and below a layer of labels
	margin     = 12
	loopWidth  = 26
	portStep   = 18 // between the lines of a box
	straighten = 16 // sweeps that move vertices towards their neighbours
)

// place sets the x of all vertices: each as near as possible to the mean of its neighbours, in the
// order of its layer, without overlap.
func (s *sketch) place() {
	for _, l := range s.layers {
		x := 0.0
		for _, v := range l {
			half := float64(s.vertices[v].width) / 2
			s.vertices[v].x = x + half
			x += 2*half + gapX
		}
		for _, v := range l {
			s.vertices[v].x -= x / 2
		}
	}
	for n := range straighten {
		for i := range s.layers {
			l := s.layers[i]
			if n%2 == 1 {
				l = s.layers[len(s.layers)-1-i]
			}
			s.shift(l)
		}
	}
	s.toMargin()
}

// shift moves the vertices of a layer to the mean of their neighbours. Vertices that would overlap
// move together, to the mean of their wishes (pool adjacent violators).
func (s *sketch) shift(layer []int) {
	type block struct {
		sum, weight float64 // of wishes, each less the offset of its vertex
		count       int
	}
	var blocks []block
	offsets := make([]float64, len(layer))
	mean := func(b block) float64 { return b.sum / b.weight }
	for i, v := range layer {
		if i > 0 {
			before := &s.vertices[layer[i-1]]
			offsets[i] = offsets[i-1] + float64(before.width+s.vertices[v].width)/2 + gapX
		}
		weight := s.weight(v)
		blocks = append(blocks,
			block{float64(weight * (s.wish(v) - offsets[i])), weight, 1})
		for n := len(blocks); n > 1 && mean(blocks[n-2]) > mean(blocks[n-1]); n-- {
			blocks[n-2].sum += blocks[n-1].sum
			blocks[n-2].weight += blocks[n-1].weight
			blocks[n-2].count += blocks[n-1].count
			blocks = blocks[:n-1]
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.count {
			s.vertices[layer[i]].x = mean(b) + offsets[i]
			i++
		}
	}
}

// weight returns how much the wish of a vertex counts: bends more than boxes, so that long lines
// are straight.
func (s *sketch) weight(v int) float64 {
	if s.vertices[v].node < 0 {
		return 16
	}
	return 1
}

// wish returns the x at which a vertex would stand alone: the mean of its neighbours.
func (s *sketch) wish(v int) float64 {
	sum, weights := 0.0, 0.0
	for _, neighbours := range [2][]int{s.vertices[v].up, s.vertices[v].down} {
		for _, n := range neighbours {
			weight := 1.0
			if s.vertices[v].node < 0 {
				weight = s.weight(n)
			}
			sum += float64(weight * s.vertices[n].x)
			weights += weight
		}
	}
	if weights == 0 {
		return s.vertices[v].x
	}
	return sum / weights
}

// toMargin moves everything, so that the leftmost vertex touches the margin.
func (s *sketch) toMargin() {
	left := math.Inf(1)
	for i := range s.vertices {
		left = min(left, s.vertices[i].x-float64(s.vertices[i].width)/2)
	}
	for i := range s.vertices {
		s.vertices[i].x = math.Round(s.vertices[i].x - left + margin)
	}
}

// draw writes boxes, lines and the size of the drawing.
func (s *sketch) draw(d *Drawing) {
	tops, heights := s.rows()
	d.Width, d.Height = 2*margin, margin
	if n := len(tops); n > 0 {
		d.Height = tops[n-1] + heights[n-1] + margin
	}
	for i := range s.vertices {
		v := &s.vertices[i]
		d.Width = max(d.Width, int(v.x)+(v.width+1)/2+margin)
		if v.node >= 0 {
			d.Boxes = append(d.Boxes, Box{Node: s.nodes[v.node], X: int(v.x) - boxWidth/2,
				Y: tops[v.layer], W: boxWidth, H: boxHeight, Layer: v.layer / s.spread})
		}
	}
	ports := s.ports()
	for i := range s.edges {
		e := &s.edges[i]
		line := Line{Edge: e.Edge, From: e.from, To: e.to, Back: e.back}
		if e.from == e.to {
			loop(&line, &d.Boxes[e.from])
		} else {
			s.route(&line, i, ports, tops, heights)
		}
		d.Lines = append(d.Lines, line)
	}
}

// rows returns the top and the height of each layer.
func (s *sketch) rows() (tops, heights []int) {
	y := margin
	for n, l := range s.layers {
		height, gap := 0, gapY
		for _, v := range l {
			if s.vertices[v].node >= 0 {
				height = boxHeight
			}
		}
		if s.spread > 1 {
			gap = gapLabel
			if n%2 == 1 {
				height = labelSize
			}
		}
		tops, heights = append(tops, y), append(heights, height)
		y += height + gap
	}
	return tops, heights
}

// route sets the points of a line, in the direction of its edge, and the place of its label.
func (s *sketch) route(line *Line, edge int, ports map[port]int, tops, heights []int) {
	e := &s.edges[edge]
	for n, v := range e.chain {
		at := &s.vertices[v]
		x, top, bottom := int(at.x), tops[at.layer], tops[at.layer]+heights[at.layer]
		switch {
		case n == 0:
			line.Points = append(line.Points, Point{x + ports[port{v, edge, true}], bottom})
		case n == len(e.chain)-1:
			line.Points = append(line.Points, Point{x + ports[port{v, edge, false}], top})
		case at.width != bendWidth:
			line.Label = Label{e.Label, x - at.width/2, top, at.width, labelSize}
			fallthrough
		default:
			line.Points = append(line.Points, Point{x, top}, Point{x, bottom})
		}
	}
	if e.back {
		slices.Reverse(line.Points)
	}
	line.Points = slices.Compact(line.Points)
}

// port is the end of a line at a box: below it, or above it.
type port struct {
	vertex, edge int
	below        bool
}

// ports returns the distance of the ends of lines from the middle of their box. Lines stand in the
// order of the vertices that they lead to. Lines that share their first bend share their end.
func (s *sketch) ports() map[port]int {
	type end struct{ edge, next int }
	type side struct {
		vertex int
		below  bool
	}
	ends := map[side][]end{}
	for i := range s.edges {
		if c := s.edges[i].chain; len(c) > 1 {
			above, below := side{c[0], true}, side{c[len(c)-1], false}
			ends[above] = append(ends[above], end{i, c[1]})
			ends[below] = append(ends[below], end{i, c[len(c)-2]})
		}
	}
	ports := map[port]int{}
	for where, all := range ends {
		slices.SortFunc(all, func(a, b end) int {
			return cmp.Or(cmp.Compare(s.vertices[a.next].x, s.vertices[b.next].x),
				cmp.Compare(a.next, b.next), cmp.Compare(a.edge, b.edge))
		})
		number := make([]int, len(all))
		last := 0
		for i := 1; i < len(all); i++ {
			if all[i].next != all[i-1].next || s.vertices[all[i].next].node >= 0 {
				last++
			}
			number[i] = last
		}
		step := portStep
		if last > 0 {
			step = min(step, (boxWidth-24)/last)
		}
		for i, e := range all {
			ports[port{where.vertex, e.edge, where.below}] = number[i]*step - last*step/2
		}
	}
	return ports
}

// loop sets the points of an edge from a box to itself.
func loop(line *Line, b *Box) {
	right, y := b.X+b.W, b.Y+b.H/2
	line.Back = true
	line.Points = []Point{{right, y - 10}, {right + loopWidth - 6, y - 10},
		{right + loopWidth - 6, y + 10}, {right, y + 10}}
	if line.Edge.Label != "" {
		w := labelWidth(line.Edge.Label)
		line.Label = Label{line.Edge.Label, right + loopWidth, y - labelSize/2, w, labelSize}
	}
}
