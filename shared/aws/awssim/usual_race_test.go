//go:build race

package awssim

// usual is how many seeds TestSeeds runs: with the race detector a seed takes many times as long.
const usual = 300
