// Package state defines the engine's stored records and the ports to its storage: the records of an
// environment, methods that derive facts from one record, and the services that an engine needs
// from its home.
//
//	a planner ── Commit: rows with a ticket, Env, Version, Agents ──► State
//	                                                                    │ Schedule, LaneRows
//	an agent's worker ◄───────────────────────────────────────────────────┘
//	      └── Commit: rows with a result, Actions, Outbox, Parameters ──► State
//
// The package makes no decisions: planners decide which resources to schedule, and workers decide
// what a result means for a row. It runs nothing and does not depend on types of resources. The
// conformance suite of the ports is package deploytest.
package state
