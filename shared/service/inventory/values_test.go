package inventory_test

import (
	"testing"

	"southbound/shared/service/inventory"
)

// TestEqualDeep holds that comparing values takes what reading them does, however deeply they are
// nested: each level was once made anew for each level above it, and 60 kB took all memory.
func TestEqualDeep(t *testing.T) {
	const depth = 2000
	deep := func() any {
		var out any = int64(1)
		for range depth {
			out = map[string]any{"a": out}
		}
		return out
	}
	a, b := deep(), deep()
	allocs := testing.AllocsPerRun(1, func() {
		if !inventory.Equal(a, b) {
			t.Error("they differ")
		}
	})
	if allocs > 20*depth {
		t.Errorf("%v allocations for %d levels", allocs, depth)
	}
}
