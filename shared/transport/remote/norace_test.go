//go:build !race

package remote

// maxHostile bounds what a hostile machine may make this program take, in kB.
const maxHostile = 256 << 10
