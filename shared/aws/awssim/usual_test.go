//go:build !race

package awssim

// usual is how many seeds TestSeeds runs.
const usual = 2000
