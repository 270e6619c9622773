package fulfil_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// cpu is what this process has used of processors.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkOrder takes one order to up and its file, among some that are there. It measures time of
// processors.
func BenchmarkOrder(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newWorld(b, site)
			for i := range n {
				w.order("site", fmt.Sprintf("i%d", i), map[string]any{"host_name": fmt.Sprintf("f%d", i)})
			}
			w.work()
			began := cpu(b)
			for i := 0; b.Loop(); i++ {
				id := fmt.Sprintf("more%d", i)
				w.order("site", id, map[string]any{"host_name": id})
				w.work()
			}
			b.ReportMetric(float64(cpu(b)-began)/float64(b.N)/1e6, "cpu-ms/op")
		})
	}
}
