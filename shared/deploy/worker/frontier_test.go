package worker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// TestFrontier finishes random schedules on random graphs in random order: what is ready is exactly
// what has no scheduled, unfinished ancestor (invariant D1), and everything gets its turn.
func TestFrontier(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rnd.IntN(12)
		nodes := make([]version.Node, n)
		for i := range nodes {
			nodes[i] = version.Node{ID: resource.ID(fmt.Sprintf("t::T[a,n=%02d]", i))}
			for j := range i {
				if rnd.IntN(3) == 0 {
					nodes[i].Requires = append(nodes[i].Requires, nodes[j].ID)
				}
			}
		}
		g := version.NewGraph(nodes)
		scheduled := make([]bool, n)
		left := 0
		for i := range scheduled {
			if scheduled[i] = rnd.IntN(2) == 0; scheduled[i] {
				left++
			}
		}
		f := newFrontier(g, scheduled)
		for ; left > 0; left-- {
			var ready []int32
			for i := range int32(n) { // small
				if want := f.needs[i] && !waits(g, f.needs, i); f.ready(i) != want {
					t.Fatalf("seed %d: node %d ready %v, want %v", seed, i, f.ready(i), want)
				}
				if f.ready(i) {
					ready = append(ready, i)
				}
			}
			if len(ready) == 0 {
				t.Fatalf("seed %d: %d left and none ready", seed, left)
			}
			f.finish(ready[rnd.IntN(len(ready))], func(int32, bool) {})
		}
	}
}

// waits is the plain definition: an ancestor is scheduled.
func waits(g *version.Graph, needs []bool, n int32) bool {
	for _, r := range g.Requires(n) {
		if needs[r] || waits(g, needs, r) {
			return true
		}
	}
	return false
}
