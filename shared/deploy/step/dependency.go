package step

import (
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Dependency is an entry of the outbox about a requirement, for one of its dependants.
type Dependency struct {
	Priority state.Priority
	Ticket   int64 // of the requirement: dependants that were scheduled no earlier waited for it
	Running  bool  // the dependant is being run
	Checking bool  // a check of everything has yet to run the dependant
}

// DependencyRecovered wakes a dependant that was skipped.
type DependencyRecovered struct{ Dependency }

func (e DependencyRecovered) next(r *state.Row) []Effect {
	return e.wake(r, r.Current().Blocked == state.BlockedTemp)
}

// DependencyChanged means that a requirement of the resource has changed.
type DependencyChanged struct {
	Dependency
	Of     *state.Row  // the requirement; nil: its row is gone
	At     time.Time   // the end of the run that changed it
	Purged resource.ID // the requirement, if it left the model and was purged; else ""
}

func (e DependencyChanged) next(r *state.Row) []Effect {
	// A run after a purge does not know of the purge. If the row of the requirement has no such
	// change, the event is void: the result did not count. A purge counts if its resource has come
	// back since: its row is new, and has no change at all.
	ranSince := e.Purged == "" && (r.SucceededAt.After(e.At) || r.TriedAt.After(e.At))
	void := e.Of != nil && e.Of.ChangedAt.Before(e.At) && (e.Purged == "" || !e.Of.ChangedAt.IsZero())
	if ranSince || void || !r.ReceivesEventsOf(e.Of) {
		return nil
	}
	if e.Purged != "" && !r.Orphaned && !r.Removing {
		r.AddPurges(e.Purged)
	}
	return e.wake(r, r.Current().Blocked != state.BlockedTemp)
}

// wake schedules a dependant that is not scheduled, if it is concerned. A scheduled one sees the
// outcome of the requirement, unless it is running and was claimed without knowing of it.
func (e *Dependency) wake(r *state.Row, concerned bool) []Effect {
	if r.Ticket() != 0 || e.Checking {
		concerned = e.Running && r.Ticket() < e.Ticket
	}
	if !concerned || !r.Runnable() {
		return nil
	}
	return schedule(e.Priority)
}
