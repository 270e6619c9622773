// Command southbound deploys desired state; see the README.
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"

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
	room  = 36 << 20
	spare = 12 << 20
)

// minHeap is what the collector counts as live before it has run for the first time.
const minHeap = 4 << 20

// collectSeldom has the collector wait for room and spare, or until a large heap has nearly doubled. It
// looks at the size of the heap after each collection.
func collectSeldom() {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	p := pace{-1}
	debug.SetGCPercent(p.percent)
	var look func(struct{})
	look = func(struct{}) {
		metrics.Read(live)
		p.set(percentFor(live[0].Value.Uint64()), debug.SetGCPercent)
		runtime.AddCleanup(new([64]byte), look, struct{}{}) // called after the next collection
	}
	look(struct{}{})
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
	grow := max(room-int64(live), spare, int64(live)-spare) // heaps are far smaller than 2^63
	return int(grow * 100 / max(int64(live), minHeap))      // room bounds it
}
