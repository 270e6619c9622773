package planner

import (
	"context"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// planLease is how long the lease of a planner outlasts its last write; see state.LeaseMargin.
const planLease = 60 * time.Second

// plan runs f as the only planner of env. It first finishes a release that a crash interrupted.
func (pl *Planner) plan(ctx context.Context, env string, f func(p *planning) error) error {
	return pl.planUnderLease(ctx, env, false, f)
}

// planUnderLease is plan for an f that may restore lost data. If repair is set, a release that cannot
// be finished because of lost data is not an error.
func (pl *Planner) planUnderLease(
	ctx context.Context,
	env string,
	repair bool,
	f func(p *planning) error,
) error {
	pl = pl.in(ctx)
	lease, err := pl.Client.Acquire(ctx, env, state.PlanKey, planLease)
	if err != nil {
		return err
	}
	defer pl.Client.Release(ctx, env, lease)
	stored, err := pl.envOf(ctx, env, lease)
	if err != nil {
		return err
	}
	p := newPlanning(pl, stored, commits{Client: pl.Client, lease: lease})
	if stored.Releasing != 0 {
		if err := resumeRelease(ctx, p); err != nil &&
			!(repair && state.Unreadable(err)) {
			return fault.Wrap(fault.Unknown, "finish interrupted release", err)
		}
	}
	p.repair = repair
	return f(p)
}

// envOf returns the environment as it is after a lease was taken.
func (pl *Planner) envOf(ctx context.Context, env string, l state.Lease) (state.Env, error) {
	if l.Env.Name != "" {
		return l.Env, nil
	}
	out, err := pl.State.Env(ctx, env)
	return out, fault.Wrap(fault.Unknown, "read environment", err)
}

// schedule runs f as the only planner of env, and commits the rows that f plans.
func (pl *Planner) schedule(ctx context.Context, env string, f func(p *planning) error) error {
	return pl.plan(ctx, env, func(p *planning) error {
		graph, err := pl.Graphs.Get(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		if err := f(p); err != nil {
			return err
		}
		p.orderBy(graph)
		return p.commit(ctx, scheduleChanges)
	})
}
