package deploy

import (
	"slices"

	"southbound/shared/dag"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// makeRoom returns the nodes of a graph: what a version holds, and what is being removed because it
// left the model. What stands for the same thing as something that leaves, such as a directory for
// the path of a file, waits until that is gone.
//
// What leaves waits in turn for all that required it. Where that stays, and requires by now what takes
// the place, it would wait for itself: then it is what leaves that goes first.
func (e *Engine) makeRoom(kept []graphNode, resources []*resource.Resource, leaving []graphNode,
	rows map[resource.ID]*state.Row) []graphNode {
	left := map[thing]resource.ID{}
	for _, n := range leaving {
		res, err := resource.Decode(rows[n.ID].Body)
		if err != nil {
			continue // it says so when it is run
		}
		if of, ok := e.thingOf(res); ok {
			left[of] = n.ID
		}
	}
	all := append(slices.Clone(kept), leaving...)
	if len(left) == 0 {
		return all
	}
	for i, res := range resources {
		of, _ := e.thingOf(res)
		if id, ok := left[of]; ok {
			all[i].Requires = append(slices.Clip(all[i].Requires), id)
		}
	}
	return withoutCircles(all)
}

// withoutCircles takes away the edges by which what leaves waits for what waits for it.
func withoutCircles(nodes []graphNode) []graphNode {
	index := make(map[resource.ID]int32, len(nodes))
	for i := range nodes {
		index[nodes[i].ID] = int32(i) //nolint:gosec // far fewer than 2^31
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
