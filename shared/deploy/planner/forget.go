package planner

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Forget forgets a resource that left the model. It removes the state and the facts of the
// resource, and resources that wait for its removal continue. It does not touch the thing itself,
// and keeps the log of actions. It is Conflict if the resource is in the version in force, and
// NotFound if it is unknown.
func (pl *Planner) Forget(ctx context.Context, env string, id resource.ID) ([]resource.ID, error) {
	return pl.forget(ctx, env, func(p *planning) ([]resource.ID, error) {
		rows, err := p.load(ctx, []resource.ID{id})
		if err != nil {
			return nil, err
		}
		row := rows[id]
		switch {
		case row == nil:
			return nil, fault.New(fault.NotFound, "forget", "there is no resource %s", id).
				WithHint("`southbound resources` lists them")
		case !row.Orphaned && !row.Removing:
			return nil, errInForce(string(id))
		}
		p.apply(row, step.Forgotten{})
		return []resource.ID{id}, nil
	})
}

// ForgetPurged forgets the resources among ids that left the model after they were purged, and
// returns them: their things no longer exist. The others stay as they are.
func (pl *Planner) ForgetPurged(
	ctx context.Context, env string, ids []resource.ID,
) ([]resource.ID, error) {
	return pl.forgetThose(ctx, env, ids, func(row *state.Row) bool {
		return row.Orphaned && row.WasPurged()
	})
}

// ForgetLeft forgets the resources among ids that left the model, and returns them. The others stay
// as they are.
func (pl *Planner) ForgetLeft(
	ctx context.Context, env string, ids []resource.ID,
) ([]resource.ID, error) {
	return pl.forgetThose(ctx, env, ids, func(row *state.Row) bool {
		return row.Orphaned || row.Removing
	})
}

// forgetThose forgets the resources among ids whose rows may be removed, in one commit.
func (pl *Planner) forgetThose(
	ctx context.Context, env string, ids []resource.ID, may func(row *state.Row) bool,
) ([]resource.ID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return pl.forget(ctx, env, func(p *planning) ([]resource.ID, error) {
		rows, err := p.load(ctx, ids)
		if err != nil {
			return nil, err
		}
		var out []resource.ID
		for _, id := range ids {
			if row := rows[id]; row != nil && may(row) {
				p.apply(row, step.Forgotten{})
				out = append(out, id)
			}
		}
		return out, nil
	})
}

// ForgetAgent forgets an agent on which no resource in force is managed, with all resources that
// were left behind on it. It is meant for a machine that no longer exists.
func (pl *Planner) ForgetAgent(ctx context.Context, env, name string) ([]resource.ID, error) {
	paused := false
	out, err := pl.forget(ctx, env, func(p *planning) ([]resource.ID, error) {
		v, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(v.Agents, func(a resource.Agent) bool { return a.Name == name }) {
			return nil, errInForce(fmt.Sprintf("the agent %q", name))
		}
		var ids []resource.ID
		if err := p.pl.Client.EachRow(ctx, p.env.Name, func(row *state.Row) error {
			if row.ID.Agent() != name {
				return nil
			}
			if !row.Orphaned && !row.Removing {
				return errInForce(string(row.ID))
			}
			p.apply(row, step.Forgotten{})
			ids = append(ids, row.ID)
			return nil
		}); err != nil {
			return nil, err
		}
		known, err := p.pl.State.Agents(ctx, p.env.Name, name)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read agents", err)
		}
		if len(ids)+len(known) == 0 {
			return nil, noAgent(ctx, p, name)
		}
		p.store.dropAgents, paused = []string{name}, known[name].Paused
		return ids, nil
	})
	if err != nil || !paused {
		return out, err
	}
	err = pl.State.Pause(ctx, env, false, name) // pauses are kept for future agents
	return out, fault.Wrap(fault.Unknown, "resume", err)
}

// noAgent returns the error for an unknown name of an agent.
func noAgent(ctx context.Context, p *planning, name string) error {
	agents, err := p.pl.State.Agents(ctx, p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	hint := "`southbound agents` lists them"
	if near := schema.Nearest(name, slices.Sorted(maps.Keys(agents))); near != "" {
		hint = fmt.Sprintf("did you mean %q? %s", near, hint)
	}
	return fault.New(fault.NotFound, "forget", "there is no agent %q", name).WithHint("%s", hint)
}

// errInForce returns the error for an attempt to forget a resource or an agent in force.
func errInForce(what string) error {
	return fault.New(fault.Conflict, "forget", "%s is in the version in force", what).
		WithHint("leave it out of the documents and export them; `southbound pause AGENT` stops " +
			"work on an agent")
}

// forget forgets the resources that choose plans to forget, with their facts, and wakes resources
// that wait for them. If the wake-up fails, a sweep finds the outbox entries, which the same commit
// stores.
func (pl *Planner) forget(
	ctx context.Context,
	env string,
	choose func(p *planning) ([]resource.ID, error),
) ([]resource.ID, error) {
	var ids []resource.ID
	var follows []state.Outbox
	err := pl.plan(ctx, env, func(p *planning) error {
		var err error
		if ids, err = choose(p); err != nil {
			return err
		}
		gone := make(map[resource.ID]bool, len(ids))
		for _, id := range ids {
			gone[id] = true
			p.store.dropKept = append(p.store.dropKept, id)
			if row := p.rows[id]; row != nil {
				p.store.dropKept = append(p.store.dropKept, row.EarlierIDs()...)
			}
			follows = append(follows, state.Outbox{ID: pl.NewID(), Kind: state.OutboxRecovered, Of: id,
				At: pl.Clock.Now(), Priority: state.PriorityUserDeploy,
				Ticket: math.MaxInt64}) // a dependant that is running has not waited for this
		}
		facts, err := pl.State.Parameters(ctx, env, state.ParameterQuery{Facts: true})
		if err != nil {
			return fault.Wrap(fault.Unknown, "read facts", err)
		}
		for i := range facts {
			if of := facts[i].Of; gone[of] {
				p.store.unset = append(p.store.unset, state.ParameterKey{Name: facts[i].Name, Of: of})
			}
		}
		p.add = append(p.add, follows...)
		return p.commit(ctx, scheduleChanges)
	})
	if err != nil {
		return nil, err
	}
	if _, err := pl.FollowUp(ctx, env, follows); err != nil && !state.Transient(err) {
		return ids, err
	}
	return ids, nil // a sweep does the work that could not be done now
}
