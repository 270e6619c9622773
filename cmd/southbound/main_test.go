package main

import (
	"runtime/debug"
	"testing"
)

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

// TestPace holds that the pace of the collector is left alone while somebody else has set it.
func TestPace(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	is := func(want int) {
		t.Helper()
		got := debug.SetGCPercent(100)
		debug.SetGCPercent(got)
		if got != want {
			t.Errorf("got %d%%, want %d%%", got, want)
		}
	}
	p := pace{100}
	p.set(200)
	is(200)
	others := debug.SetGCPercent(1000)
	p.set(300)
	is(1000)
	debug.SetGCPercent(others)
	p.set(300)
	is(300)
}
