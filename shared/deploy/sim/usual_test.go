//go:build !race

package sim

import "math"

const (
	usual   = 8000        // seeds of TestSeeds
	focused = 200         // seeds of each focus
	deep    = math.MaxInt // how many seeds a mutant may need to be looked for
)
