package memory

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestLimit pins what the collector is told of a function's memory, and that whoever has told
// Go's runtime himself is left alone.
func TestLimit(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	for _, c := range []struct {
		reason, megabytes, own string
		want                   int64
	}{
		{"a function", "256", "", 192 << 20},
		{"a large one", "1000", "", 800 << 20},
		{"a small one", "100", "", 64 << 20},
		{"not a function", "", "", 0},
		{"not a number", "many", "", 0},
		{"told otherwise", "512", "300MiB", 0},
	} {
		debug.SetMemoryLimit(math.MaxInt64)
		got := Limit(func(name string) string {
			return map[string]string{Env: c.megabytes, envGo: c.own}[name]
		})
		if is := debug.SetMemoryLimit(-1); got != c.want || (got > 0 && is != got) ||
			(got == 0 && is != math.MaxInt64) {
			t.Errorf("%s: %d, and the runtime has %d; want %d", c.reason, got, is, c.want)
		}
	}
}
