package planner

import (
	"cmp"
	"math"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// orderBy sorts the planned rows so that requirements come first and every prefix makes sense: see
// Commit.Rows.
func (p *changes) orderBy(g *version.Graph) {
	if len(p.order) < 2 {
		return
	}
	g = g.Behind(g.Nodes(p.order))
	rank := make([]int32, len(g.IDs))
	for i, n := range g.Order() {
		rank[n] = int32(i)
	}
	at := func(id resource.ID) int32 {
		if p.moves.to[id] != "" {
			return math.MaxInt32 // after the rows that have taken over its state
		}
		if n := g.Node(id); n >= 0 {
			return rank[n]
		}
		return -1
	}
	keys := make(map[resource.ID]int32, len(p.order))
	for _, id := range p.order {
		keys[id] = at(id)
	}
	slices.SortStableFunc(p.order, func(a, b resource.ID) int { return cmp.Compare(keys[a], keys[b]) })
}

// inOrder sorts a part of the planned rows in the order of all. Rows of moves are added out of
// order.
func (p *changes) inOrder(rows []state.Row) {
	if len(p.moves.from) == 0 {
		return
	}
	rank := make(map[resource.ID]int, len(p.order))
	for i, id := range p.order {
		rank[id] = i
	}
	slices.SortStableFunc(rows, func(a, b state.Row) int { return rank[a.ID] - rank[b.ID] })
}
