package graphs

import (
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// neighbours returns the resource of a query, the resources within its steps, the nearest first, and
// its root causes with the shortest path to each. left is the number of resources within the steps
// that exceed the limit.
func neighbours(g *version.Graph, q Query, causes []resource.ID) (ids []resource.ID, left int) {
	ids = []resource.ID{q.ID}
	start := g.Node(q.ID)
	if start < 0 { // it left the model: its causes, if any, stand alone
		return append(ids, without(causes, q.ID)...)[:min(1+len(without(causes, q.ID)), q.Limit)], 0
	}
	taken := map[int32]bool{start: true}
	take := func(n int32) {
		if !taken[n] && len(ids) < q.Limit {
			taken[n] = true
			ids = append(ids, g.IDs[n])
		}
	}
	for _, n := range pathsTo(g, start, causes) {
		take(n)
	}
	up := within(start, q.Up, g.Requires)
	down := within(start, q.Down, g.Dependants)
	all := map[int32]bool{}
	for step := range max(len(up), len(down)) {
		for _, side := range [][][]int32{up, down} {
			if step >= len(side) {
				continue
			}
			for _, n := range side[step] {
				all[n] = true
				take(n)
			}
		}
	}
	for n := range all {
		if !taken[n] {
			left++
		}
	}
	return ids, left
}

// within returns the nodes that are one step from start, two steps, and so on.
func within(start int32, steps int, next func(int32) []int32) [][]int32 {
	seen := map[int32]bool{start: true}
	var out [][]int32
	for at := []int32{start}; len(out) < steps; {
		var reached []int32
		for _, n := range at {
			for _, m := range next(n) {
				if !seen[m] {
					seen[m] = true
					reached = append(reached, m)
				}
			}
		}
		if len(reached) == 0 {
			break
		}
		out = append(out, reached)
		at = reached
	}
	return out
}

// pathsTo returns the nodes of the shortest paths from start to causes that it requires. The nodes
// of all causes come first.
func pathsTo(g *version.Graph, start int32, causes []resource.ID) []int32 {
	var wanted []int32
	missing := map[int32]bool{}
	for _, id := range causes {
		if n := g.Node(id); n >= 0 && n != start && !missing[n] {
			missing[n] = true
			wanted = append(wanted, n)
		}
	}
	before := map[int32]int32{start: start}
	for at := []int32{start}; len(missing) > 0 && len(at) > 0; {
		var reached []int32
		for _, n := range at {
			for _, m := range g.Requires(n) {
				if _, seen := before[m]; !seen {
					before[m] = n
					delete(missing, m)
					reached = append(reached, m)
				}
			}
		}
		at = reached
	}
	out := append([]int32(nil), wanted...)
	for _, n := range wanted {
		for at, ok := before[n]; ok && at != start; at = before[at] {
			out = append(out, at)
		}
	}
	return out
}

func without(ids []resource.ID, id resource.ID) []resource.ID {
	var out []resource.ID
	for _, other := range ids {
		if other != id {
			out = append(out, other)
		}
	}
	return out
}
