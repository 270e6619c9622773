package worker

import "southbound/shared/deploy/version"

// frontier determines which scheduled resources may start. A resource may start if none of its
// requirements, direct or through unscheduled resources, is scheduled and unfinished (invariant
// D1). The frontier is built in memory from a graph and a schedule.
//
// A node is clear when it is not scheduled and all its requirements are clear. A scheduled node may
// start when all its requirements are clear. Finishing a node clears it and, through it,
// unscheduled dependants, each once. Over its whole life a frontier costs time proportional to the
// edges of the graph, and it stores no set of ancestors.
type frontier struct {
	g       *version.Graph
	needs   []bool  // scheduled and unfinished
	waiting []int32 // requirements that are not clear
	clear   []bool
}

// newFrontier returns the frontier in which exactly the nodes for which scheduled is true are
// scheduled; it keeps and changes scheduled.
func newFrontier(g *version.Graph, scheduled []bool) *frontier {
	f := &frontier{
		g:       g,
		needs:   scheduled,
		waiting: make([]int32, len(g.IDs)),
		clear:   make([]bool, len(g.IDs)),
	}
	for _, n := range g.Order() {
		for _, r := range g.Requires(n) {
			if !f.clear[r] {
				f.waiting[n]++
			}
		}
		f.clear[n] = !f.needs[n] && f.waiting[n] == 0
	}
	return f
}

// ready reports whether node is scheduled and may start.
func (f *frontier) ready(node int32) bool { return f.needs[node] && f.waiting[node] == 0 }

// finish marks node as finished. It calls touched for every scheduled node that waited for it,
// directly or through nodes that are not scheduled, with whether that node is ready now.
func (f *frontier) finish(node int32, touched func(node int32, ready bool)) {
	if !f.needs[node] {
		return
	}
	f.needs[node] = false
	if f.waiting[node] == 0 {
		f.clearFrom(node, touched)
	}
}

// finishAll marks node and all its requirements as finished, regardless of their state in the
// frontier: another worker has finished them. It calls touched like finish.
func (f *frontier) finishAll(node int32, touched func(node int32, ready bool)) {
	for stack := []int32{node}; len(stack) > 0; {
		n := stack[len(stack)-1]
		before := len(stack)
		for _, q := range f.g.Requires(n) {
			if !f.clear[q] {
				stack = append(stack, q)
			}
		}
		if len(stack) > before {
			continue
		}
		stack = stack[:len(stack)-1]
		if !f.clear[n] {
			f.needs[n] = false
			f.clearFrom(n, touched)
		}
	}
}

// clearFrom clears node, and every unscheduled node that waited only for it.
func (f *frontier) clearFrom(node int32, touched func(node int32, ready bool)) {
	stack := []int32{node}
	f.clear[node] = true
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range f.g.Dependants(n) {
			f.waiting[d]--
			switch {
			case f.needs[d]:
				touched(d, f.waiting[d] == 0)
			case f.waiting[d] == 0 && !f.clear[d]:
				f.clear[d] = true
				stack = append(stack, d)
			}
		}
	}
}
