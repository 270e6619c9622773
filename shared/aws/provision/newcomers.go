package provision

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Preparing returns a state that wraps s. With each commit it puts off the agents that are new to
// the environment or that another function serves from now on, and the agents that may be idle and
// get work. A planner notifies the agents that
// can start immediately. An agent that waits for another agent's resources is notified by the
// handler. The handler may not make queues or enable mappings, so they have to be prepared now.
func (p *Provisioner) Preparing(s state.State) state.State {
	out := preparing{s, p}
	if l, is := s.(state.Looker); is { // the wrapper also has to implement state.Looker
		return struct {
			preparing
			state.Looker
		}{out, l}
	}
	return out
}

type preparing struct {
	state.State
	p *Provisioner
}

// Commit implements state.State.
func (s preparing) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	if len(c.Agents) == 0 {
		out, err := s.State.Commit(ctx, env, c)
		if err == nil {
			s.wake(env, c.Rows)
		}
		return out, err
	}
	before, err := s.Agents(ctx, env)
	if err != nil {
		return state.Committed{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	// Agents are put off after the commit, and only in memory. If the process crashes before it
	// prepares them, the sweep finds those that have work.
	out, err := s.State.Commit(ctx, env, c)
	if err != nil {
		return out, err
	}
	for _, a := range c.Agents {
		if was, there := before[a.Name]; !there || s.p.function(was.Agent) != s.p.function(a) {
			s.p.PutOff(env, a.Name, nil)
		}
	}
	s.wake(env, c.Rows)
	return out, nil
}

// wake puts off the agents that may be idle and for which rows schedule work.
func (s preparing) wake(env string, rows []state.Row) {
	for i := range rows {
		if agent := rows[i].Agent; rows[i].Ticket() != 0 &&
			s.p.mayBeIdle(owner{env, agent}) {
			s.p.PutOff(env, agent, nil)
		}
	}
}
