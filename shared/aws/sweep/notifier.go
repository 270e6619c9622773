package sweep

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Notifier drops notices of paused agents and of halted environments, whose work may not begin.
// Resuming an agent or an environment sends the notices again. Without this filter the work of an
// agent that is paused for days would cost an invocation each minute.
type Notifier struct {
	Out   state.Notifier
	State interface {
		Env(ctx context.Context, env string) (state.Env, error)
		Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	}
}

var _ state.Notifier = (*Notifier)(nil)

// Notify implements state.Notifier.
func (n *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	e, err := n.State.Env(ctx, env)
	if err != nil || e.Halted {
		return fault.Wrap(fault.Unknown, "notify", err)
	}
	agents, err := n.State.Agents(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "notify", err)
	}
	var may []state.Notice
	for _, r := range notices {
		if !agents[r.Agent].Paused {
			may = append(may, r)
		}
	}
	if len(may) == 0 {
		return nil
	}
	return n.Out.Notify(ctx, env, may)
}
