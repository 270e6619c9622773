package step

import (
	"time"

	"southbound/shared/deploy/state"
)

// Requested is a request of a user, of a timer or of a planner. Without Check, Decided and Facts it
// schedules a resource that is not as wanted.
type Requested struct {
	Priority state.Priority
	Check    bool      // compare the resource with reality, even if it is as wanted
	Decided  bool      // a person decides that a create whose outcome is unknown may begin again
	Facts    bool      // read the facts of the resource
	Retry    bool      // even if the resource backs off, or waits for a new intent or a person
	Running  bool      // a run was claimed in the resource's agent, and serves the request
	Now      time.Time // for the backoff
}

func (e Requested) next(r *state.Row) []Effect {
	switch {
	case e.Decided && r.Blocked == state.NeedsDecision && r.Decided != r.Creating && !r.Orphaned:
		r.Decided = r.Creating
		return schedule(e.Priority)
	case e.Facts:
		return e.facts(r)
	case e.Decided || !r.Runnable():
		return nil
	case e.Check:
		return schedule(e.Priority)
	case r.AsWanted() || e.Running:
		return nil
	case !e.Retry && (!state.Retried(r.Current().Class) || r.Timer().After(e.Now)):
		return nil
	case r.Ticket() == 0:
		return schedule(e.Priority)
	case e.Priority < r.Priority: // it is scheduled already, and may be claimed by now
		return []Effect{Schedule{Priority: e.Priority, Keep: true}}
	}
	return nil
}

// facts schedules a resource whose facts are wanted, unless a running run reads them.
func (e *Requested) facts(r *state.Row) []Effect {
	asked := r.WantFacts() && e.Running
	r.AskFacts()
	if r.Ticket() != 0 || !r.Runnable() || asked {
		return nil
	}
	return schedule(e.Priority)
}

// Due is the time of a retry.
type Due struct{ Now time.Time }

func (e Due) next(r *state.Row) []Effect {
	if at := r.Timer(); at.IsZero() || at.After(e.Now) {
		return nil
	}
	return schedule(state.PriorityDeployTimer)
}

// Overtaken means that a run ended after a later one, which may not have seen the changes of the
// run, or the facts that it stored.
type Overtaken struct {
	Priority state.Priority
	Facts    bool // the resource has facts
}

func (e Overtaken) next(r *state.Row) []Effect {
	if r.Orphaned {
		return nil
	}
	if e.Facts {
		r.AskFacts()
	}
	if !r.Runnable() {
		return nil
	}
	return schedule(e.Priority)
}

// Forgotten removes the row of a resource that left the model, or whose thing has another id now
// (Moved).
type Forgotten struct{ Moved bool }

func (e Forgotten) next(r *state.Row) []Effect {
	if e.Moved || r.Orphaned || r.Removing {
		r.Gone = true
	}
	return nil
}
