package deploy

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Overview is what Progress tells, read at one instant.
type Overview struct {
	Env      state.Env
	Schedule state.Schedule
	Leases   []state.Lease
	Counts   map[state.Status]int
	Paused   map[string]bool // agents
	Outbox   int             // entries
}

// Overviewer may be implemented by a State that has all of it in fewer requests than asking for
// each part takes.
type Overviewer interface {
	Overview(ctx context.Context, env string) (Overview, error)
}

// maxOutbox is how many entries of the outbox Progress counts.
const maxOutbox = 10

// overview is Progress of a state that has an overview.
func (e *Engine) overview(ctx context.Context, env string, from Overviewer) (Progress, error) {
	o, err := from.Overview(ctx, env)
	if err != nil {
		return Progress{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	p := Progress{Env: o.Env, Counts: o.Counts, Paused: o.Paused, Outbox: min(o.Outbox, maxOutbox)}
	e.held(o.Leases, &p)
	return p, e.countScheduled(ctx, o.Schedule, &p)
}
