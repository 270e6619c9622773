// Package parallel spreads computation over the processors.
package parallel

import (
	"runtime"
	"sync"
)

// For calls f for 0..n-1 on all processors, in no order, and returns when all calls have. f must be
// pure computation: it may only write to what belongs to its number, and must wait for nothing.
func For(n int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
