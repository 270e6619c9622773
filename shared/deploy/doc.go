// Package deploy is the engine: it stores versions, decides what has to run and in which order,
// runs handlers, and records what they did. It is plain Go over ports and knows neither files nor
// networks nor threads.
//
// It is a facade over packages, each of which imports only those below it:
//
//	planner   stores versions, releases them, schedules, sweeps: all that holds the lease "plan"
//	lane      the worker of a lane: claims what is ready, records what came of it
//	step      the row of a resource after an event, and the effects: the transition function
//	run       one run of a handler for one resource: connect, read, compare, act
//	model     what is exported: checks by types, relations, generated resources, references
//	version   how a version and its graph are stored
//	state     the ports, the records that they store, and what a record says of itself
//
// An export goes down through model and version to a commit of the planner; its notices bring
// workers to their lanes; and what a worker commits leads back to the planner through the outbox.
// docs/design/path.md follows one resource on that way. docs/design/engine.md is the algorithm, and
// docs/design/engine-today.md describes the code where it still differs.
//
// Beside that, this package holds what needs no lease: dry runs, previews, discovery and queries.
package deploy
