//go:build race

package cli_test

// raced reports whether the race detector watches these tests.
const raced = true
