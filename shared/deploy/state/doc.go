// Package state is what the engine stores, and the ports through which it reaches that: the records
// of an environment, what a record says of itself, and what an engine needs from the home that it
// lives in.
//
//	a planner ── Commit: rows with a ticket, Env, Version, Agents ──► State
//	                                                                    │ Schedule, LaneRows
//	a lane's worker ◄───────────────────────────────────────────────────┘
//	      └── Commit: rows with a result, Actions, Outbox, Parameters ──► State
//
// It decides nothing: what to schedule is the affair of planners, and what a result means for a row
// that of workers. It runs nothing and knows no types of resources. The conformance suite of the
// ports is package deploytest.
package state
