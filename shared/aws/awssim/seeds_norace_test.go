//go:build !race

package awssim

import "math"

const (
	defaultSeeds = 1000        // seeds of TestSeeds
	deep         = math.MaxInt // how many seeds a mutant may need to be looked for
)
