// Command southbound deploys desired state; see the README.
package main

import (
	"os"
	"runtime"
	"sync/atomic"

	"southbound/shared/cli"
)

func main() {
	held := putOffCollecting()
	code := cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(held)
	os.Exit(code)
}

// spare is how many bytes may pile up before garbage is collected for the first time.
const spare = 32 << 20

// putOffCollecting lets a short command end before garbage is collected; the check of 10,000 files would do it eight times, in a heap of a few megabytes,
// and takes a tenth longer with it. The collector begins when the heap has doubled, so half of spare is held. It is never touched, so it costs addresses and no
// memory, and is let go after the first collection: in what is large by itself it would only be in the way.
func putOffCollecting() *atomic.Pointer[[spare / 2]byte] {
	held := new(atomic.Pointer[[spare / 2]byte])
	held.Store(new([spare / 2]byte))
	sentinel := &struct{ _ [64]byte }{}
	runtime.AddCleanup(sentinel, func(h *atomic.Pointer[[spare / 2]byte]) { h.Store(nil) }, held)
	return held
}
