package planner

import (
	"context"
	"fmt"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// checkPurges refuses a release that changes the transport of an agent if a resource that has left
// could no longer be purged over it. The resource may be purged now or in a later wave of the
// apply. An interrupted release was checked when it began.
func (r *releaser) checkPurges(ctx context.Context) error {
	moved, err := r.agentChanged(ctx)
	if err != nil || len(moved) == 0 {
		return err
	}
	var problems diag.Problems
	err = r.p.pl.Client.EachRow(ctx, r.p.env.Name, func(row *state.Row) error {
		transport, moves := moved[row.ID.Agent()]
		now := row
		if planned := r.p.rows[row.ID]; planned != nil {
			now = planned
		}
		t, known := r.p.pl.Types.Type(row.ID.Type())
		if !moves || now.Orphaned || !known || t.Reached(transport) ||
			run.Coded(now) && model.RunsCode(transport) {
			return nil
		}
		what := "left the model and is to be purged, but "
		hint := "apply once with the agent as it was, so that it is purged, or without " +
			"purge_on_delete, so that it stays"
		switch {
		case row.Removing:
			hint = fmt.Sprintf(
				"`southbound forget '%s'` lets go of it; or apply once with the agent as it was",
				row.ID,
			)
		case !now.Removing: // by a wave of an apply
			what = "is left to a later wave, as something still requires it, but "
			hint = "apply once with the agent as it was, or not in waves"
		}
		problems.Add(diag.Problem{Resource: string(row.ID), Hint: hint,
			Message: what + model.UnreachedText(t, row.ID.Agent(), transport)})
		return nil
	})
	if err != nil {
		return err
	}
	return problems.Err()
}

// agentChanged returns the new transports of agents whose transport differs from that in the version
// in force, or from that when the agent left.
func (r *releaser) agentChanged(ctx context.Context) (map[string]string, error) {
	env := &r.p.env
	if env.Released == 0 || env.Releasing != 0 || state.SameAgents(r.agents, r.v.Agents) {
		return nil, nil
	}
	was, err := r.p.pl.State.Agents(ctx, env.Name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	out := map[string]string{}
	for i := range r.v.Agents {
		a := &r.v.Agents[i]
		if before, had := was[a.Name]; had && before.Transport != a.Transport {
			out[a.Name] = a.Transport
		}
	}
	return out, nil
}
