//go:build race

package sim

// usual is how many seeds a run of the tests makes with the race detector, which makes switches between tasks slow.
const usual = 1000
