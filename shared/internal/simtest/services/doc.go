// Package services tests services by simulation. Customers order, change and delete instances while a
// worker compiles and deploys them. The orders, the worker, the lifecycles and the engine are real;
// their stores are models. A seed determines the schedule and the faults. The package uses the
// bench of shared/internal/simtest/engine. See docs/design/simulator.md.
//
//	sim.go          one seed, campaigns, and shorter plans of failures
//	plan.go         the operations of a seed
//	run.go          processes, and the lanes that they serve
//	visits.go       notices, and visits of the instances that they name
//	ops.go          customers, and offers of models
//	books.go        I1, I5 and I7: checks of writes to instances
//	rules.go        I2, I3, I4 and I6
//	moves.go        I8: rollouts
//	rest.go         checks of the final state
//	ports.go        stores as processes call them
//	instances.go    the store of instances
//	definitions.go  the store of definitions
//	models.go       the offered models
//	compiler.go     the compiler
//	world.go        the deployed pages
package services
