// Package engine verifies the engine by simulation. It runs the unchanged engine over models of its
// ports and of the world behind its handlers. A seed decides the order of events and the faults,
// and every invariant is checked at every step. See docs/design/simulator.md.
//
//	seed ──► Plan: agents, resources, faults, operations at virtual times
//	            └──► processes, each an engine, whose entry points are tasks (coroutines)
//	                    │ every port call
//	                    ▼
//	                 scheduler: duration of the call, other tasks in that time, outcome
//	                    ▼
//	                 recorder, with its own books: checks each call ──► State, Files, world
//	                                                                     └── at the end: oracle
//
// State and Files are models of the ports that implement their contracts exactly, and that other
// tests use as well. Run runs one seed, Campaign many. Bench offers the other parts to other
// simulations.
package engine
