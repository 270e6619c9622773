// Package modtest runs the tests of modules: scripts that compile a model, say what has to come
// out, and have resources deployed.
//
// A script is a txtar file: commands, and below them the files that they work with. It runs in a
// folder of its own. What the commands work on is a Bench, so that this package knows no engine.
package modtest
