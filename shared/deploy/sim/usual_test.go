//go:build !race

package sim

import "math"

const (
	usual = 8000        // seeds of TestSeeds
	deep  = math.MaxInt // how many seeds a mutant may need to be looked for
)
