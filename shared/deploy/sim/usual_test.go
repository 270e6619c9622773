//go:build !race

package sim

// usual is how many seeds a run of the tests makes.
const usual = 8000
