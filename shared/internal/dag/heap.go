package dag

import "sort"

// nodeHeap is a min-heap of nodes for package heap.
type nodeHeap struct{ sort.IntSlice }

// Push implements heap.Interface.
func (h *nodeHeap) Push(x any) { h.IntSlice = append(h.IntSlice, x.(int)) }

// Pop implements heap.Interface.
func (h *nodeHeap) Pop() any {
	last := len(h.IntSlice) - 1
	x := h.IntSlice[last]
	h.IntSlice = h.IntSlice[:last]
	return x
}
