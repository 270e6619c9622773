package worker

import (
	"math/rand/v2"
	"slices"
	"testing"

	"southbound/shared/deploy/state"
)

// TestReadyHeap takes nodes out in their order, whatever the order in which they came.
func TestReadyHeap(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		var h readyHeap
		var all []readyNode
		for range n {
			x := readyNode{node: int32(r.IntN(50)), priority: state.Priority(r.IntN(3)),
				ticket: int64(r.IntN(3))}
			h.push(x)
			all = append(all, x)
			if r.IntN(4) == 0 {
				all = take(t, &h, all)
			}
		}
		for len(all) > 0 {
			all = take(t, &h, all)
		}
		if len(h) > 0 {
			t.Fatalf("%d nodes are left", len(h))
		}
	}
}

// take takes a node out, which must be the first of all, and returns the others.
func take(t *testing.T, h *readyHeap, all []readyNode) []readyNode {
	t.Helper()
	slices.SortFunc(all, func(a, b readyNode) int {
		if a.before(b) {
			return -1
		}
		return 1
	})
	if got := h.pop(); got != all[0] {
		t.Fatalf("got %+v, want %+v", got, all[0])
	}
	return all[1:]
}
