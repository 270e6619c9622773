//go:build !race

package sim

const (
	seedCount = 400  // seeds of TestSeeds
	compiles  = 60   // compiles that TestCompiler does twice
	deep      = 1000 // how many seeds a mutant may need to be looked for
)
