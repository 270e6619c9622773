//go:build race

package project_test

// raced reports whether the race detector watches these tests.
const raced = true
