package version

import (
	"slices"

	"southbound/shared/dag"
	"southbound/shared/resource"
)

// ReversePurged turns round the edges between purged nodes, unless that would make a cycle with
// other edges.
func ReversePurged(nodes []Node, purged map[resource.ID]bool) []Node {
	if len(purged) < 2 {
		return nodes
	}
	out := slices.Clone(nodes)
	index := make(map[resource.ID]int, len(nodes))
	for i := range out {
		index[out[i].ID] = i
		if purged[out[i].ID] {
			out[i].Requires = slices.DeleteFunc(
				slices.Clone(out[i].Requires),
				func(id resource.ID) bool { return purged[id] },
			)
		}
	}
	for i := range nodes {
		if !purged[nodes[i].ID] {
			continue
		}
		for _, id := range nodes[i].Requires {
			if j, ok := index[id]; ok && purged[id] {
				out[j].Requires = append(slices.Clip(out[j].Requires), nodes[i].ID)
			}
		}
	}
	g := dag.New(len(out), func(i int) []int32 {
		var reqs []int32
		for _, id := range out[i].Requires {
			reqs = append(reqs, int32(index[id])) // far fewer than 2^31
		}
		return reqs
	})
	if len(g.Cycles()) > 0 {
		return nodes
	}
	return out
}

// WithoutCircles takes away the edges by which what leaves waits for what waits for it.
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
		was, is := old.dag.Requires(m), now.dag.Requires(n)
		if !slices.EqualFunc(was, is, func(a, b int32) bool { return old.IDs[a] == now.IDs[b] }) {
			out = append(out, id)
		}
	}
	return out
}
