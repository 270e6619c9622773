// Package step is the transition function of resources: Next returns the row of a resource after an
// event, and the effects that its caller executes. It has no store, no clock and no randomness:
// times, tickets and jitter are part of the event. docs/design/engine.md lists events and effects.
package step

import "southbound/shared/deploy/state"

// Event happens to one resource: Finished or HolderLost.
type Event interface{ event() }

// HolderLost tells that a run of the resource ended without a record, or may have. The run may have
// changed the thing, so the next success notifies the receivers of its events.
type HolderLost struct{}

func (Finished) event()   {}
func (HolderLost) event() {}

// Effect follows from an event: Notify, Resolve or Stale.
type Effect interface{ effect() }

type (
	// Notify notifies dependants: those that were skipped (OutboxRecovered), or those that receive
	// events (OutboxEvent). Without a Ticket it is not needed if all of them are sure to run
	// afterwards; with one, only for those that were scheduled before.
	Notify struct {
		Kind   state.OutboxKind
		Ticket int64
	}
	// Resolve lets a planner resolve references again (OutboxFact), restore a damaged row
	// (OutboxDamaged), or schedule the resource again, whose run may not have seen the effect of
	// another run (OutboxAgain).
	Resolve struct{ Kind state.OutboxKind }
	// Stale tells that the result does not count for the row. Gone: there is no row.
	Stale struct{ Gone bool }
)

func (Notify) effect()  {}
func (Resolve) effect() {}
func (Stale) effect()   {}

// Next returns the row of a resource after an event, and the effects. An event that comes late or
// twice leaves the row as it is.
func Next(r state.Row, e Event) (state.Row, []Effect) {
	var effects []Effect
	switch e := e.(type) {
	case Finished:
		effects = e.next(&r)
	case HolderLost:
		r.PossiblyChanged = true
	}
	return r, effects
}
