package main

import "testing"

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 600}, {1 << 20, 600}, {minHeap, 600}, {12 << 20, 200}, {spare, 100}, {2 * spare, 50},
		{4 * spare, 75}, {1 << 40, 99},
	} {
		if got := percentFor(c.live); got != c.want {
			t.Errorf("a heap of %d bytes may grow by %d %%, want %d", c.live, got, c.want)
		}
	}
}
