//go:build race

package chunk

// raced reports whether the race detector watches these tests.
const raced = true
