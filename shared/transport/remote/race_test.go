//go:build race

package remote

// maxHostile bounds what a hostile machine may make this program take, in kB: the race detector
// takes as much again.
const maxHostile = 512 << 10
