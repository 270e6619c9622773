package lane

import (
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// part is what a lane knows of the graph: the nodes that concern it, see finder, and the rows
// there.
type part struct {
	view     *view
	graph    *version.Graph // the part of view.graph
	full     []int32        // by node of graph: which one that is in view.graph
	frontier *frontier
	// nodes of view.graph that were looked up since everything was read
	asked   map[int32]bool
	assumed map[int32]bool       // taken to be scheduled, perhaps wrongly
	tickets []int64              // by node; 0: none
	rows    rowsOf               // of this lane, by node
	deps    map[int32]*state.Row // requirements in other lanes, as far as they were read
}

// rowsOf holds rows by node. A lane asks for them at every step, so that they stand in a list.
type rowsOf []*state.Row

// of returns the row of a node, nil if there is none.
func (l rowsOf) of(n int32) *state.Row {
	if n < 0 || int(n) >= len(l) {
		return nil
	}
	return l[n]
}

// all yields the rows that there are, in the order of their nodes.
func (l rowsOf) all(yield func(n int32, r *state.Row) bool) {
	for n, r := range l {
		if r != nil && !yield(int32(n), r) { // see version.Graph.Node
			return
		}
	}
}

// waitsFor returns what the rows of this lane wait for in other lanes, as far as they do not wait
// for others of this lane as well.
func (p *part) waitsFor() []resource.ID {
	var waiting []int32
	here := func(q int32) bool { return p.rows.of(q) != nil && p.frontier.needs[q] }
	for n := range p.rows.all {
		waits := p.frontier.needs[n] && !p.frontier.ready(n)
		if waits && !slices.ContainsFunc(p.graph.Requires(n), here) {
			waiting = append(waiting, n)
		}
	}
	slices.Sort(waiting)
	return p.unfinishedBefore(waiting)
}

// unfinishedBefore returns what nodes wait for in other lanes.
func (p *part) unfinishedBefore(nodes []int32) []resource.ID {
	var out []resource.ID
	seen := map[int32]bool{}
	for len(nodes) > 0 {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		for _, q := range p.graph.Requires(n) {
			if p.frontier.clear[q] || seen[q] || p.rows.of(q) != nil && p.frontier.needs[q] {
				continue // what waits in this lane itself is not for others to tell
			}
			if seen[q] = true; p.frontier.needs[q] {
				out = append(out, p.graph.IDs[q])
			} else {
				nodes = append(nodes, q)
			}
		}
	}
	return out
}
