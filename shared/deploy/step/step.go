// Package step is the transition function of resources: Next returns the row of a resource after an
// event, and the effects that its caller executes. It has no store, no clock and no randomness:
// times and jitter are part of the event. docs/design/engine.md lists events and effects.
package step

import "southbound/shared/deploy/state"

// Event happens to one resource. The events of a worker are Finished and HolderLost; all others are
// those of a planner.
type Event interface{ next(r *state.Row) []Effect }

// Next returns the row of a resource after an event, and the effects. An event that comes late or
// twice leaves the row as it is.
func Next(r state.Row, e Event) (state.Row, []Effect) {
	effects := e.next(&r)
	return r, effects
}

// HolderLost means that a run of the resource ended without a record, or may have. The run may have
// changed the thing, so the next success notifies the receivers of its events.
type HolderLost struct{}

func (HolderLost) next(r *state.Row) []Effect {
	r.PossiblyChanged = true
	return nil
}

// Effect follows from an event: Schedule, Notify, Resolve or Stale.
type Effect interface{ effect() }

type (
	// Schedule gives the resource the ticket of the planner's commit, and the more urgent of both
	// priorities. Keep means that the resource keeps its ticket.
	Schedule struct {
		Priority state.Priority
		Keep     bool
	}
	// Notify notifies dependants: skipped ones (OutboxRecovered), or receivers of events
	// (OutboxEvent). Without a Ticket, it is not needed if all dependants are sure to run
	// afterwards. With a Ticket, it is needed only for dependants that were scheduled before.
	Notify struct {
		Kind   state.OutboxKind
		Ticket int64
	}
	// Resolve requests work of a planner: to resolve references again (OutboxFact), to restore a
	// damaged row (OutboxDamaged), or to schedule the resource again (OutboxAgain). In the last
	// case, the run of the resource may not have seen the effect of another run.
	Resolve struct{ Kind state.OutboxKind }
	// Stale means that the result does not count for the row. Gone means that there is no row.
	Stale struct{ Gone bool }
)

func (Schedule) effect() {}
func (Notify) effect()   {}
func (Resolve) effect()  {}
func (Stale) effect()    {}

func schedule(p state.Priority) []Effect { return []Effect{Schedule{Priority: p}} }
