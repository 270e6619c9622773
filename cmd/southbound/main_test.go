package main

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		live uint64
		want int
	}{
		{0, 1000}, {1 << 20, 975}, {minHeap, 900}, {spare, 300}, {2 * spare, 100}, {3 * spare, 33},
		{4 * spare, 37}, {10 * spare, 67}, {1 << 40, 87},
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
	p.set(200, debug.SetGCPercent)
	is(200)
	others := debug.SetGCPercent(1000)
	p.set(300, debug.SetGCPercent)
	is(1000)
	debug.SetGCPercent(others)
	p.set(300, debug.SetGCPercent)
	is(300)
}

// TestPaceMeanwhile holds that a compile which begins while the pace is set does not keep its own
// for good: it used to be given that back when it had ended already.
func TestPaceMeanwhile(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	p := pace{100}
	found := 0
	p.set(200, func(percent int) int {
		found = debug.SetGCPercent(1000) // the compile begins
		return debug.SetGCPercent(percent)
	})
	debug.SetGCPercent(found) // and ends
	p.set(300, debug.SetGCPercent)
	if is := debug.SetGCPercent(100); is != 300 {
		t.Errorf("the pace is %d%% after the compile, want 300%%", is)
	}
}

// TestWatchMissed holds that the pace follows a collection after which nobody was called, because
// it had begun before the watch looked: 68 MB of heap were made where 36 were to be.
func TestWatchMissed(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	var later func()
	w := watch{pace: pace{100}, after: func(_ time.Duration, f func()) { later = f }}
	runtime.GC()
	w.look()
	small := w.pace.percent
	large := make([]byte, room)
	runtime.GC() // of which w.look is not told
	later()
	if is := w.pace.percent; is >= small/2 {
		t.Errorf("with %d more bytes the heap may grow by %d %%, before by %d %%", len(large), is,
			small)
	}
	if is := debug.SetGCPercent(100); is != w.pace.percent {
		t.Errorf("the collector waits for %d %%, want %d %%", is, w.pace.percent)
	}
	runtime.KeepAlive(large)
}

// TestWatchEnds holds that it does not look for ever where nothing is collected, and that of two
// looks only the last goes on.
func TestWatchEnds(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	var later []func()
	w := watch{pace: pace{100}, after: func(_ time.Duration, f func()) { later = append(later, f) }}
	w.look()
	w.look()
	n := 0
	for ; len(later) > 0 && n < 100; n++ {
		f := later[0]
		later = later[1:]
		f()
	}
	if n < 10 || n > 12 {
		t.Errorf("looked %d times", n)
	}
}
