// Package modtest runs the tests of modules: scripts that compile a model, check the result, and
// deploy resources.
//
// A script is a txtar file: commands, followed by the files that they use. It runs in a folder of
// its own. Its commands operate on a Bench, so this package does not depend on an engine.
package modtest
