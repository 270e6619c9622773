package parallel_test

import (
	"testing"

	"southbound/shared/internal/parallel"
)

// TestFor calls the function once for each number.
func TestFor(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 1000} {
		calls := make([]int, n)
		parallel.For(n, func(i int) { calls[i]++ })
		for i, c := range calls {
			if c != 1 {
				t.Errorf("of %d: %d was called %d times", n, i, c)
			}
		}
	}
}
