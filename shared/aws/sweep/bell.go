package sweep

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Bell is a doorbell that does not ring what nobody may begin: agents that are paused, and
// environments that are halted. Who lets them go on rings. Without it the work of an agent that is
// paused for days would cost an invocation each minute.
type Bell struct {
	Out   state.Doorbell
	State interface {
		Env(ctx context.Context, env string) (state.Env, error)
		Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	}
}

var _ state.Doorbell = (*Bell)(nil)

// Ring implements deploy.Doorbell.
func (b *Bell) Ring(ctx context.Context, env string, rings []state.Ring) error {
	e, err := b.State.Env(ctx, env)
	if err != nil || e.Halted {
		return fault.Wrap(fault.Unknown, "ring", err)
	}
	agents, err := b.State.Agents(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "ring", err)
	}
	var may []state.Ring
	for _, r := range rings {
		if !agents[state.AgentOf(r.Lane)].Paused {
			may = append(may, r)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return b.Out.Ring(ctx, env, may)
}
