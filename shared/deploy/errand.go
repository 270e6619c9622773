package deploy

import (
	"context"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Errand is what is to be read on one agent, for a comparison that another process makes.
type Errand struct {
	Agent resource.Agent
	// Record keeps each comparison as an action.
	Record bool
	// Whole keeps values as long as they are.
	Whole bool
	// Wanted is what is to be read, in the order in which it would run in each lane.
	Wanted []Wanted
}

// Wanted is the intent of one resource that is to be compared with reality.
type Wanted struct {
	ID      resource.ID
	Lane    string
	Version int
	Hash    string
	Body    []byte // as resource.Encode makes it
}

// Elsewhere is how an errand goes.
type Elsewhere struct {
	// Taken says that somebody else reads it. Whole says that this is over: Found has all of it.
	Taken, Whole bool
	Found        []planner.PlannedChange
}

// others has the errands of agents read by others. It returns the agents that this call leaves
// alone.
func (d *dryRunner) others(ctx context.Context, lanes []string,
	byLane map[string][]*state.Row) (map[string]bool, error) {
	if d.from.Others == nil || len(lanes) == 0 {
		return nil, nil
	}
	var errands []Errand
	at := map[string]int{} // by agent
	for _, lane := range lanes {
		i, known := at[state.AgentOf(lane)]
		if !known {
			i = len(errands)
			at[state.AgentOf(lane)] = i
			errands = append(
				errands,
				Errand{Agent: d.agent(lane), Record: d.record, Whole: d.whole},
			)
		}
		for _, r := range byLane[lane] {
			errands[i].Wanted = append(errands[i].Wanted, Wanted{ID: r.ID, Lane: r.Lane,
				Version: r.Version, Hash: r.Hash, Body: r.Body})
		}
	}
	answers, err := d.from.Others(ctx, errands)
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for i, a := range answers {
		if !a.Taken {
			continue
		}
		out[errands[i].Agent.Name] = true
		if a.Whole {
			d.take(errands[i], a.Found)
		}
	}
	return out, nil
}

// take takes what was found elsewhere, and of that only what was asked for.
func (d *dryRunner) take(e Errand, found []planner.PlannedChange) {
	asked := make(map[resource.ID]bool, len(e.Wanted))
	for i := range e.Wanted {
		asked[e.Wanted[i].ID] = true
	}
	for _, w := range found {
		if asked[w.ID] {
			d.results[w.ID] = w
			delete(asked, w.ID)
		}
	}
	for id := range asked {
		d.results[id] = planner.PlannedChange{ID: id, Action: actionWord(""), Failed: true,
			Reason: "who read agent " + e.Agent.Name + " does not say what it found"}
	}
}

// ReadErrand reads what another process was asked to compare, as far as there is time. Of from it
// uses Until, Known and Told.
func (e *Engine) ReadErrand(ctx context.Context, env string, of Errand,
	from Reading) (DryRun, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return DryRun{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	d := &dryRunner{e: e, runs: e.runner(), env: env, agents: []resource.Agent{of.Agent}, record: of.Record,
		whole: of.Whole, strict: stored.Settings.Strict,
		from: Reading{Until: from.Until, Progress: from.Progress}}
	d.results = make(map[resource.ID]planner.PlannedChange, len(of.Wanted))
	for _, w := range from.Known {
		d.results[w.ID] = w
	}
	byLane := map[string][]*state.Row{}
	for _, w := range of.Wanted {
		if state.AgentOf(w.Lane) != of.Agent.Name {
			return DryRun{}, fault.New(fault.Damaged, "read errand", "%s is not of agent %s",
				w.ID, of.Agent.Name)
		}
		if _, known := d.results[w.ID]; !known {
			byLane[w.Lane] = append(byLane[w.Lane], &state.Row{ID: w.ID, Lane: w.Lane,
				Version: w.Version, Hash: w.Hash, Body: w.Body})
		}
	}
	err = d.lanes(ctx, byLane)
	return d.out, err
}
