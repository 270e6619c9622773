package worker

import (
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// part is the part of the graph that an agent needs: the nodes that concern it, see finder, and their
// rows.
type part struct {
	view     *view
	graph    *version.Graph // the part of view.graph
	full     []int32        // by node of graph: its index in view.graph
	frontier *frontier
	// nodes of view.graph that were looked up since everything was read
	asked   map[int32]bool
	tickets []int64              // by node; 0: none
	rows    rowsOf               // of this agent, by node
	deps    map[int32]*state.Row // requirements at other agents that were read
}

// rowsOf holds rows by node. It is a slice, since an agent looks up rows at every step.
type rowsOf []*state.Row

// of returns the row of a node, nil if there is none.
func (l rowsOf) of(n int32) *state.Row {
	if n < 0 || int(n) >= len(l) {
		return nil
	}
	return l[n]
}

// all yields the rows that exist, in the order of their nodes.
func (l rowsOf) all(yield func(n int32, r *state.Row) bool) {
	for n, r := range l {
		if r != nil && !yield(int32(n), r) { // see version.Graph.Node
			return
		}
	}
}

// waitsFor returns the resources at other agents that rows of this agent wait for. It leaves out rows
// that also wait for a resource of this agent.
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

// unfinishedBefore returns the resources at other agents that nodes wait for.
func (p *part) unfinishedBefore(nodes []int32) []resource.ID {
	var out []resource.ID
	seen := map[int32]bool{}
	for len(nodes) > 0 {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		for _, q := range p.graph.Requires(n) {
			if p.frontier.clear[q] || seen[q] || p.rows.of(q) != nil && p.frontier.needs[q] {
				continue // this agent finishes its own rows
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
