//go:build race

package api

// raced reports whether the race detector watches these tests.
const raced = true
