//go:build !race

package remote

// mostHostile bounds what a hostile machine may make this program take, in kB.
const mostHostile = 256 << 10
