// Package lane is the worker of a lane. Run takes the lane's lease and then repeats: pick what is
// ready in the frontier of the graph, claim it, run the handlers (package run), and record the
// results with what follows from them in one commit under the lease. It ends when nothing is ready,
// the time is up or the agent is paused.
//
// What a worker has read stays in memory and may be outdated; each write is refused or returned
// where that matters. What it decides itself follows docs/design/engine.md: who may start
// (frontier), how much of the graph it has to know (look, view), what a result still means for a
// row that others have changed (settle), and who has to hear of it (rings).
package lane
