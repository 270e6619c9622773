//go:build !race

package sim

import "math"

const (
	defaultSeeds = 1000        // seeds of TestSeeds
	focused      = 40          // seeds of each focus
	deep         = math.MaxInt // how many seeds a mutant may need to be looked for
)
