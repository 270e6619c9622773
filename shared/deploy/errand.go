package deploy

import (
	"context"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// ReadRemote reads the resources of an errand from another process, within the time limit. It uses
// the fields Until, Known and Progress of from.
func (e *Engine) ReadRemote(ctx context.Context, env string, of Errand,
	from Reading) (DryRun, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return DryRun{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	d := &dryRunner{e: e, runs: e.runner(), env: env, agents: []resource.Agent{of.Agent},
		record: of.Record, whole: of.Whole, strict: stored.Settings.Strict,
		from: Reading{Until: from.Until, Progress: from.Progress}}
	d.results = make(map[resource.ID]planner.PlannedChange, len(of.Wanted))
	for _, w := range from.Known {
		d.results[w.ID] = w
	}
	byLane := map[string][]*state.Row{}
	for _, w := range of.Wanted {
		if w.Agent != of.Agent.Name {
			return DryRun{}, fault.New(fault.Damaged, "read errand", "%s is not of agent %s",
				w.ID, of.Agent.Name)
		}
		if _, known := d.results[w.ID]; !known {
			byLane[w.Agent] = append(byLane[w.Agent], &state.Row{
				ID:     w.ID,
				Intent: state.Intent{Agent: w.Agent, Version: w.Version, Hash: w.Hash, Body: w.Body},
			})
		}
	}
	err = d.lanes(ctx, byLane)
	return d.out, err
}
