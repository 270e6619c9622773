// Package sim proves the engine by simulation: it runs it, unchanged, over models of its ports and
// of the world behind its handlers, with a seed that decides what happens when and what goes wrong,
// and checks every invariant at every step. See docs/design/simulator.md.
//
//	seed ──► Plan: agents, resources, faults, operations at virtual times
//	            └──► processes, each an engine, whose entry points are tasks (coroutines)
//	                    │ every call of a port
//	                    ▼
//	                 scheduler: how long it takes, who goes on meanwhile, how it ends
//	                    ▼
//	                 recorder, with books of its own: checks each call ──► State, Files, world
//	                                                                     └── at the end: oracle
//
// State and Files are models of the ports that keep their contracts to the letter and are of use in
// other tests, too. Run runs one seed, Campaign many. Bench lends the rest to other simulations.
package sim
