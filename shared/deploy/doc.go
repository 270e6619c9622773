// Package deploy is the engine. It stores versions, decides which resources run and in which order,
// runs handlers, and records the results. It is plain Go over ports, and knows neither files nor
// networks nor threads.
//
// It is a facade over packages, each of which imports only those below it:
//
//	planner   stores versions, releases them, schedules, sweeps: all work under the lease "plan"
//	worker    the worker of an agent: claims ready resources, records their results
//	step      the row of a resource after an event, and the effects: the transition function
//	run       one run of a handler for one resource: connect, read, compare, act
//	version   how a version and its graph are stored, and how an edit changes one
//	model     the exported model: checks by types, relations, generated resources, references
//	state     the ports, the records that they store, and the predicates of a record
//
// An export goes down through model and version to a commit of the planner. The notices of that
// commit start the workers of agents. The commits of a worker lead back to the planner through the
// outbox. docs/design/path.md follows one resource along this path. docs/design/engine.md is the
// algorithm, and docs/design/engine-today.md describes the code where it still differs.
//
// This package also holds the operations that need no lease: dry runs, previews, discovery and
// queries.
package deploy
