//go:build race

package sim

// With the race detector a seed takes many times as long, and a run is but one goroutine at a time:
// what could race is what runs share, and few of them show that. The test command makes the usual
// seeds without it, and looks for mutants there.
const (
	defaultSeeds = 40 // seeds of TestSeeds
	focused      = 2  // seeds of each focus
	deep         = 0  // how many seeds a mutant may need to be looked for
)
