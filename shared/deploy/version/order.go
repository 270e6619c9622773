package version

import (
	"slices"

	"southbound/shared/internal/dag"
	"southbound/shared/resource"
)

// ReversePurged reverses the edges between purged nodes, except for edges that would be part of a
// cycle with other edges. Requirements that are not among the nodes stay.
func ReversePurged(nodes []Node, purged map[resource.ID]bool) []Node {
	if len(purged) < 2 {
		return nodes
	}
	index := make(map[resource.ID]int32, len(nodes))
	for i := range nodes {
		index[nodes[i].ID] = int32(i) // far fewer than 2^31
	}
	turned := reversed(nodes, index, func(i, j int32) bool {
		return purged[nodes[i].ID] && purged[nodes[j].ID]
	})
	g := dag.New(len(turned), func(i int) []int32 {
		var reqs []int32
		for _, id := range turned[i].Requires {
			if j, ok := index[id]; ok {
				reqs = append(reqs, j)
			}
		}
		return reqs
	})
	if len(g.Cycles()) == 0 {
		return turned
	}
	part := g.Parts()
	return reversed(nodes, index, func(i, j int32) bool {
		return purged[nodes[i].ID] && purged[nodes[j].ID] && part[i] != part[j]
	})
}

// reversed reverses the edges for which turns returns true, from node i to node j.
func reversed(
	nodes []Node, index map[resource.ID]int32, turns func(i, j int32) bool,
) []Node {
	out := slices.Clone(nodes)
	for i := range out {
		goes := func(id resource.ID) bool {
			j, ok := index[id]
			return ok && turns(int32(i), j) // see ReversePurged
		}
		if slices.ContainsFunc(out[i].Requires, goes) {
			out[i].Requires = slices.DeleteFunc(slices.Clone(out[i].Requires), goes)
		}
	}
	for i := range nodes {
		for _, id := range nodes[i].Requires {
			if j, ok := index[id]; ok && turns(int32(i), j) {
				out[j].Requires = append(slices.Clip(out[j].Requires), nodes[i].ID)
			}
		}
	}
	return out
}

// WithoutCircles removes the edges by which a leaving node waits for a node that waits for it.
func WithoutCircles(nodes []Node) []Node {
	index := make(map[resource.ID]int32, len(nodes))
	for i := range nodes {
		index[nodes[i].ID] = int32(i) // far fewer than 2^31
	}
	part := dag.New(len(nodes), func(i int) []int32 {
		var out []int32
		for _, id := range nodes[i].Requires {
			if j, ok := index[id]; ok && int(j) != i {
				out = append(out, j)
			}
		}
		return out
	}).Parts()
	for i := range nodes {
		n := &nodes[i]
		if !n.Removing {
			continue
		}
		n.Requires = slices.DeleteFunc(slices.Clone(n.Requires), func(id resource.ID) bool {
			j, ok := index[id]
			return ok && !nodes[j].Removing && part[j] == part[i]
		})
	}
	return nodes
}

// Rewired returns the resources in both graphs whose requirements differ.
func Rewired(old, now *Graph) []resource.ID {
	if old == now {
		return nil
	}
	var out []resource.ID
	m := 0
	for n, id := range now.IDs {
		for m < len(old.IDs) && old.IDs[m] < id {
			m++
		}
		if m == len(old.IDs) || old.IDs[m] != id {
			continue
		}
		if !sameRequires(old, now, int32(m), int32(n)) { // see Node
			out = append(out, id)
		}
	}
	return out
}

// RewiredOf is Rewired for some resources only.
func RewiredOf(old, now *Graph, of []resource.ID) []resource.ID {
	var out []resource.ID
	for _, id := range of {
		m, n := old.Node(id), now.Node(id)
		if m >= 0 && n >= 0 && !sameRequires(old, now, m, n) {
			out = append(out, id)
		}
	}
	return out
}

// sameRequires reports whether node m of a graph and node n of another one have the same
// requirements.
func sameRequires(old, now *Graph, m, n int32) bool {
	same := func(a, b int32) bool { return old.IDs[a] == now.IDs[b] }
	return slices.EqualFunc(old.Requires(m), now.Requires(n), same)
}
