//go:build race

package source

// raced reports whether the race detector watches these tests.
const raced = true
