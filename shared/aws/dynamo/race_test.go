//go:build servers && race

package dynamo_test

// raced reports whether the race detector watches these tests.
const raced = true
