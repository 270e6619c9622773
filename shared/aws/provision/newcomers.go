package provision

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Preparing returns a state that puts off, with each commit, the agents that the environment did
// not have before, and those that may be idle and get work. A planner notifies who has something to
// do at once; an agent whose work waits for another's is notified by the handler, which may make no
// queue and enable no mapping.
func (p *Provisioner) Preparing(s state.State) state.State {
	out := preparing{s, p}
	if l, is := s.(state.Looker); is { // it still is
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
	// They are put off after the commit, in memory alone. A crash before they are prepared loses
	// that, and the sweep finds those that have work.
	out, err := s.State.Commit(ctx, env, c)
	if err != nil {
		return out, err
	}
	for _, a := range c.Agents {
		if _, there := before[a.Name]; !there {
			s.p.PutOff(env, a.Name, nil)
		}
	}
	s.wake(env, c.Rows)
	return out, nil
}

// wake puts off agents that may be idle and for which something was scheduled.
func (s preparing) wake(env string, rows []state.Row) {
	for i := range rows {
		if agent := state.AgentOf(rows[i].Lane); rows[i].Ticket != 0 &&
			s.p.mayBeIdle(owner{env, agent}) {
			s.p.PutOff(env, agent, nil)
		}
	}
}
