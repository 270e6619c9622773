// Package worker is the worker of an agent. Run takes the agent's lease. The lanes of the agent are
// goroutines of the worker, which share its state; each repeats:
//
//	reload     reads the schedule, the rows, and the part of the graph that the agent needs
//	           (finder, view)
//	queue      picks the rows that are ready in the frontier of the graph, the most urgent first
//	holding    claims them, if the schedule is still the one that was read
//	batch      runs the handlers (package run), for a few milliseconds
//	recording  commits the results and their follow-up; if another writer has changed a row,
//	           it records the result as far as it still counts (step.Finished)
//	notices    notify the agents whose rows wait for the finished resources
//
// Run ends when no row is ready, the time is up or the agent is paused. The data of a worker stays
// in memory and may be outdated. Where that matters, a write under the lease is refused or the row
// comes back as a conflict. See docs/design/engine-today.md.
package worker
