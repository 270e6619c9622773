//go:build servers && !race

package logs_test

// raced reports whether the race detector watches these tests.
const raced = false
