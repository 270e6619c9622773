package engine

import (
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// The functions below are for models of homes that perform in several steps an operation that the
// contract defines as one.

// Clone returns a copy that shares no mutable data.
func (s *State) Clone() *State {
	out := &State{Dead: s.Dead, envs: make(map[string]*environment, len(s.envs))}
	for name, e := range s.envs {
		c := *e
		c.versions, c.agents, c.outbox = maps.Clone(e.versions), maps.Clone(e.agents),
			maps.Clone(e.outbox)
		c.kept = maps.Clone(e.kept)
		c.parameters, c.actions = maps.Clone(e.parameters), maps.Clone(e.actions)
		c.leases = make(map[string]*state.Lease, len(e.leases))
		for k, l := range e.leases {
			c.leases[k] = new(*l)
		}
		c.rows = make(map[resource.ID]*state.Row, len(e.rows))
		for k, r := range e.rows {
			c.rows[k] = new(*r)
		}
		c.ids = slices.Clone(e.ids)
		c.written = slices.Clip(e.written)
		c.checks = make(map[string]*laneChecks, len(e.checks))
		for k, l := range e.checks {
			c.checks[k] = new(*l)
		}
		out.envs[name] = &c
	}
	return out
}

// WriteRows writes rows as part of a Commit, without checking the guard, and returns the conflicts.
func (s *State) WriteRows(env string, c *state.Commit, rows ...state.Row) []state.Row {
	var out state.Committed
	e := s.touch(env)
	for i := range rows {
		e.writeRow(&rows[i], c, &out)
	}
	return out.Conflicts
}

// Check records rows of a lane as checked, as a Commit does.
func (s *State) Check(env, lane string, epoch int64, ids ...resource.ID) {
	s.touch(env).check(lane, epoch, ids)
}

// DropOutbox removes entries of the outbox as a Commit does.
func (s *State) DropOutbox(env string, ids ...string) {
	for _, id := range ids {
		delete(s.touch(env).outbox, id)
	}
}
