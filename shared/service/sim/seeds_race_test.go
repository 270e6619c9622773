//go:build race

package sim

// With the race detector a seed takes many times as long, and a run is but one goroutine at a time.
const (
	seedCount = 20 // seeds of TestSeeds
	compiles  = 10 // compiles that TestCompiler does twice
	deep      = 0  // how many seeds a mutant may need to be looked for
)
