package version

import (
	"crypto/sha256"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestContentsCount changes contents at random, folds and encodes them, and compares their marks with
// a list.
func TestContentsCount(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var want Marks
		x := &Contents{Sums: [][sha256.Size]byte{sha256.Sum256([]byte("chunk"))}}
		for step := range 40 {
			var more, gone Marks
			for range rng.IntN(30) {
				more = append(more, []uint64{rng.Uint64N(40), math.MaxUint64}[rng.IntN(10)/9])
			}
			slices.Sort(more)
			for _, mark := range want {
				if rng.IntN(5) == 0 {
					gone = append(gone, mark)
				}
			}
			x = x.Changed(gone, more)
			if want, _ = want.with(more).without(gone); rng.IntN(4) == 0 {
				x = x.Folded()
			}
			if !slices.Equal(x.all(), want) {
				t.Fatalf("seed %d, step %d: %v, want %v", seed, step, x.all(), want)
			}
			for mark := range uint64(40) {
				if x.Has(mark) != slices.Contains(want, mark) {
					t.Fatalf("seed %d, step %d: mark %d", seed, step, mark)
				}
			}
			back, whole := decodeMarks(x.all().encode())
			if !whole || !slices.Equal(back, want) {
				t.Fatalf("seed %d, step %d: they are read as %v", seed, step, back)
			}
		}
	}
}
