package provision

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Preparing returns a state that puts off, with each commit, the agents that the environment did
// not have before. A planner notifies who has something to do at once; an agent whose work waits
// for another's is notified by the handler, which may make no queue.
func (p *Provisioner) Preparing(s state.State) state.State { return preparing{s, p} }

type preparing struct {
	state.State
	p *Provisioner
}

// Commit implements state.State.
func (s preparing) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	if len(c.Agents) == 0 {
		return s.State.Commit(ctx, env, c)
	}
	before, err := s.Agents(ctx, env)
	if err != nil {
		return state.Committed{}, fault.Wrap(fault.Unknown, "read agents", err)
	}
	out, err := s.State.Commit(ctx, env, c)
	if err != nil {
		return out, err
	}
	for _, a := range c.Agents {
		if _, there := before[a.Name]; !there {
			s.p.PutOff(env, a.Name, nil)
		}
	}
	return out, nil
}
