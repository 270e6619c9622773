//go:build race

package awssim

// With the race detector a seed takes many times as long, and a run is but one goroutine at a time:
// what could race is what runs share, and few of them show that. The test command makes the usual
// seeds without it.
const (
	defaultSeeds = 50  // seeds of TestSeeds
	deep         = 100 // how many seeds a mutant may need to be looked for
)
