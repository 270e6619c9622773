//go:build race

package remote

// mostHostile bounds what a hostile machine may make this program take, in kB: the race detector
// takes as much again.
const mostHostile = 512 << 10
