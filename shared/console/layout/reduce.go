package layout

import (
	"fmt"
	"slices"
)

// reduce removes nodes and edges above the bounds. Of too many nodes, those that are wrong or
// current remain, then their neighbours; if there is none, the first ones remain.
func (s *sketch) reduce(o Options) {
	if len(s.nodes) > o.Boxes {
		s.retain(s.chosen(o.Boxes))
	}
	if len(s.edges) > o.Lines {
		slices.SortStableFunc(s.edges, func(a, b link) int { return s.rank(&a) - s.rank(&b) })
		s.edges = s.edges[:o.Lines]
	}
}

// rank orders edges by how much they matter: those of wrong nodes first.
func (s *sketch) rank(l *link) int {
	from, to := &s.nodes[l.from], &s.nodes[l.to]
	switch {
	case from.Current || to.Current:
		return 0
	case from.Wrong && to.Wrong:
		return 1
	case from.Wrong || to.Wrong:
		return 2
	}
	return 3
}

// chosen returns the nodes that remain, at most limit.
func (s *sketch) chosen(limit int) map[int]bool {
	chosen := make(map[int]bool, limit)
	add := func(i int, ok bool) {
		if ok && len(chosen) < limit {
			chosen[i] = true
		}
	}
	for i := range s.nodes {
		add(i, s.nodes[i].Current)
	}
	for i := range s.nodes {
		add(i, s.nodes[i].Wrong)
	}
	if len(chosen) == 0 {
		for i := range s.nodes {
			add(i, true)
		}
		return chosen
	}
	first := make([]bool, len(s.nodes))
	for i := range chosen {
		first[i] = true
	}
	for _, e := range s.edges {
		add(e.to, first[e.from])
		add(e.from, first[e.to])
	}
	return chosen
}

func (s *sketch) retain(chosen map[int]bool) {
	index := make([]int, len(s.nodes))
	var nodes []Node
	for i, n := range s.nodes {
		index[i] = len(nodes)
		if chosen[i] {
			nodes = append(nodes, n)
		}
	}
	var edges []link
	for _, e := range s.edges {
		if chosen[e.from] && chosen[e.to] {
			e.from, e.to = index[e.from], index[e.to]
			edges = append(edges, e)
		}
	}
	s.nodes, s.edges = nodes, edges
}

// notice returns a sentence about what a drawing leaves out; "" if it is complete.
func notice(d *Drawing) string {
	some := slices.ContainsFunc(d.Boxes, func(b Box) bool { return b.Wrong || b.Current })
	switch {
	case len(d.Boxes) < d.AllBoxes && some:
		return fmt.Sprintf("%d of %d boxes are drawn: those with problems, and their neighbours.",
			len(d.Boxes), d.AllBoxes)
	case len(d.Boxes) < d.AllBoxes:
		return fmt.Sprintf("The first %d of %d boxes are drawn; none has a problem.",
			len(d.Boxes), d.AllBoxes)
	case len(d.Lines) < d.AllLines:
		return fmt.Sprintf("%d of %d lines are drawn: those of boxes with problems first.",
			len(d.Lines), d.AllLines)
	}
	return ""
}
