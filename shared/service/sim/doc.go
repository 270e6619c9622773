// Package sim proves services by simulation: customers order, change and delete instances while a
// worker compiles and deploys what they become, with the real orders, worker, lifecycles and
// engine, over models of their stores. A seed decides what happens when and what goes wrong. It
// stands on the bench of shared/deploy/sim. See docs/design/simulator.md.
//
//	sim.go          one seed, many, and a shorter plan of one that fails
//	plan.go         what a seed has happen
//	run.go          processes, and what they serve
//	visits.go       notices, and who works on what they name
//	ops.go          customers, and whoever offers models
//	books.go        I1, I5 and I7: what is written to instances
//	rules.go        I2, I3, I4 and I6
//	moves.go        I8: rollouts
//	rest.go         what is left in the end
//	ports.go        stores as processes reach them
//	instances.go    the store of instances
//	definitions.go  the store of definitions
//	models.go       what is offered
//	compiler.go     the compiler
//	world.go        what is deployed
package sim
