// Command southbound deploys desired state; see the README.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"southbound/handlers"
	"southbound/shared/cli"
)

func main() {
	if os.Getenv("GOGC") == "" { // whoever sets it knows better
		collectSeldom()
	}
	os.Exit(cli.Main(handlers.All(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// room is what the heap may take before garbage is collected at all, and spare how much garbage may
// at least pile up between two collections. To collect it sooner costs a small heap more time;
// later, the memory itself does, as every page of it has to be made first.
const (
	room  = 40 << 20
	spare = 10 << 20
)

// minHeap is what the collector counts as live before it has run for the first time.
const minHeap = 4 << 20

// collectSeldom has the collector wait for room and spare, or until a large heap has nearly
// doubled. It looks at the size of the heap after each collection.
func collectSeldom() {
	w := watch{pace: pace{-1}, after: func(d time.Duration, f func()) { time.AfterFunc(d, f) }}
	debug.SetGCPercent(w.pace.percent)
	var look func(struct{})
	look = func(struct{}) {
		w.look()
		runtime.AddCleanup(new([64]byte), look, struct{}{}) // called after the next collection
	}
	look(struct{}{})
}

// watch follows the size of the heap from collection to collection. If one has begun before look
// was called for the one before, nobody calls it after that: what is allocated while a heap is
// marked outlives it. What was right for a small heap would then let a large one grow to several
// times its size. So watch also looks again by itself for a while.
type watch struct {
	mu    sync.Mutex
	pace  pace
	looks int // begun, each with what it does again
	after func(d time.Duration, f func())
}

// It looks again after firstLook, then after twice as long each time, up to lastLook.
const (
	firstLook = 2 * time.Millisecond
	lastLook  = time.Second
)

// look sets the pace now and, as long as it is not called once more, some times later.
func (w *watch) look() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	w.fit()
	w.again(w.looks, firstLook)
}

// fit sets the pace by the size of the heap.
func (w *watch) fit() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if percent := percentFor(live[0].Value.Uint64()); percent != w.pace.percent {
		w.pace.set(percent, debug.SetGCPercent) // stops everything for a moment
	}
}

// again fits the pace once more after d, and then less and less often.
func (w *watch) again(look int, d time.Duration) {
	w.after(d, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.looks != look {
			return
		}
		if w.fit(); d < lastLook {
			w.again(look, 2*d)
		}
	})
}

// pace is how seldom garbage is collected, as it was set last.
type pace struct{ percent int }

// set sets the pace, unless somebody else has set another one since: what compiles a model does
// that until it is done, and puts back what it has found. Where that begins between the two looks,
// it goes on with this pace and puts the one before back: to give it its own again could come after
// its end, and stay for good. setPercent is debug.SetGCPercent.
func (p *pace) set(percent int, setPercent func(int) int) {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	if is := int64(now[0].Value.Uint64()); is != int64(p.percent) { // -1 comes back
		return
	}
	if setPercent(percent) == p.percent {
		p.percent = percent
	}
}

// percentFor returns by how much a heap may grow before it is collected.
func percentFor(live uint64) int {
	have := int64(live) // heaps are far smaller than 2^63
	grow := max(room-have, spare, have-have/8-room/2)
	return int(grow * 100 / max(have, minHeap)) // room bounds it
}
