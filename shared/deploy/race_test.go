//go:build race

package deploy_test

// worlds is how many random worlds a test makes. The race detector watches a few of them, since it
// takes ten times as long: the test command makes all as shipped.
const worlds = 4

// veryMany is how many resources the version has to which TestAddedToMany adds: some chunks of them.
const veryMany = 3000

// raced reports whether the race detector watches these tests.
const raced = true
