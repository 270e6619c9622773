// Package lane is the worker of a lane. Run takes the lane's lease and then repeats:
//
//	reload     the schedule, the part of the graph that concerns the lane (finder, view), its rows
//	queue      picks what is ready in the frontier of the graph, the most urgent first
//	holding    claims it, if the schedule is still the one that was read
//	batch      runs the handlers (package run), for a few milliseconds
//	recording  commits the results and what follows from them, for rows that others have changed
//	           meanwhile as far as they still count (step.Finished)
//	notices    tell the lanes in which something waits for what has finished
//
// It ends when nothing is ready, the time is up or the agent is paused. What a worker has read
// stays in memory and may be outdated; where that matters, a write under the lease is refused or
// the row comes back as a conflict. See docs/design/engine-today.md.
package lane
