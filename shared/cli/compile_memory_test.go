package cli

import (
	"math"
	"runtime/debug"
	"testing"
)

// TestCollectSeldom holds that compiling lets the collector run less often within a limit, leaves
// alone what the user has said by the variables of the runtime, and puts back what was there.
func TestCollectSeldom(t *testing.T) {
	const percent, limit = 75, 100 << 20
	for name, c := range map[string]struct {
		gogc, memory string
		percent      bool // is changed
		limit        bool
	}{
		"nothing is said":        {"", "", true, true},
		"how often":              {"75", "", false, false},
		"never":                  {"off", "", false, false},
		"how much memory":        {"", "100MiB", true, false},
		"how often and how much": {"75", "100MiB", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOGC", c.gogc)
			t.Setenv("GOMEMLIMIT", c.memory)
			defer debug.SetGCPercent(debug.SetGCPercent(percent))
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(limit))
			undo := collectSeldom()
			if changed := percentNow() != percent; changed != c.percent {
				t.Errorf("collects at %d percent", percentNow())
			}
			if changed := debug.SetMemoryLimit(-1) != limit; changed != c.limit {
				t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
			}
			undo()
			if p, l := percentNow(), debug.SetMemoryLimit(-1); p != percent || l != limit {
				t.Errorf("leaves %d percent and a limit of %d", p, l)
			}
		})
	}
}

// percentNow returns how often garbage is collected.
func percentNow() int {
	is := debug.SetGCPercent(math.MaxInt32)
	debug.SetGCPercent(is)
	return is
}
