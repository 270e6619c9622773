package deploy

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/worker"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keptWait is how long a change of a kept state waits for the lane of its resource.
const keptWait = 10 * time.Second

// Kept returns the kept state of a resource, sealed. It returns NotFound if there is none.
func (e *Engine) Kept(ctx context.Context, env string, id resource.ID) (state.Kept, error) {
	all, err := e.State.Kept(ctx, env, []resource.ID{id})
	switch {
	case err != nil:
		return state.Kept{}, fault.Wrap(fault.Unknown, "read kept state", err)
	case len(all) == 0:
		return state.Kept{}, fault.New(fault.NotFound, "read kept state",
			"there is no kept state of %s", id).
			WithHint("check the id with `southbound resources`; only some types keep state")
	}
	return all[0], nil
}

// ShowKept returns the contents of a kept state for people, as far as the handler of the resource shows
// them. Notes state why they cannot be shown here.
func (e *Engine) ShowKept(
	ctx context.Context, env string, k *state.Kept,
) (provider.ShownKept, error) {
	row, err := e.Row(ctx, env, k.ID)
	if fault.Is(err, fault.NotFound) {
		return provider.ShownKept{}, nil
	}
	if err != nil {
		return provider.ShownKept{}, err
	}
	return e.runner().ShowKept(ctx, env, &row, k), nil
}

// ImportKept replaces the kept state of a resource by a sealed one, which gets a new revision. It
// returns the state as it is stored, and whether it was opened first: a process without the key
// cannot do that. outputs is Kept.Outputs of the sealed state when it was exported.
//
// ImportKept returns NotFound for an unknown resource, Invalid for a state that is too large or does
// not open, and Busy if the resource may be running.
func (e *Engine) ImportKept(
	ctx context.Context, env string, id resource.ID, sealed []byte, outputs string,
) (stored state.Kept, verified bool, err error) {
	const what = "import kept state"
	if len(sealed) > state.MaxSealed {
		return state.Kept{}, false, fault.New(fault.Invalid, what,
			"the state has %d bytes, and %d is the maximum", len(sealed), state.MaxSealed).
			WithHint("use a file that `southbound state export` has written")
	}
	if _, err := e.Row(ctx, env, id); err != nil {
		return state.Kept{}, false, err
	}
	if verified, err = e.opens(ctx, env, id, sealed); err != nil {
		return state.Kept{}, false, err
	}
	k := state.Kept{ID: id, Sealed: sealed}
	err = e.inLane(ctx, env, []resource.ID{id}, func(c *state.Commit) error {
		if _, err := e.Row(ctx, env, id); err != nil {
			return err // a run that had the lane has purged it
		}
		before, err := e.State.Kept(ctx, env, []resource.ID{id})
		if err != nil {
			return fault.Wrap(fault.Unknown, what, err)
		}
		k.Revision, k.Outputs = e.NewID(), outputs
		if outputs != "" && (len(before) == 0 || before[0].Outputs != outputs) {
			k.Outputs = k.Revision
		}
		c.Keep, c.AddOutbox = []state.Kept{k}, k.FollowUp(e.Clock.Now())
		return nil
	})
	return k, verified, err
}

// opens reports whether this process has opened a sealed state of a resource. A process that may not
// read the key returns false and no error.
func (e *Engine) opens(
	ctx context.Context, env string, id resource.ID, sealed []byte,
) (bool, error) {
	if e.Sealer == nil {
		return false, nil
	}
	plain, err := e.Sealer.Open(ctx, env, id, sealed)
	if err == nil {
		_, err = state.DecodePlain(plain)
	}
	switch {
	case err == nil:
		return true, nil
	case fault.Is(err, fault.Denied):
		return false, nil
	case fault.Is(err, fault.Damaged):
		return false, fault.New(fault.Invalid, "import kept state", "the state does not open: it is "+
			"damaged, or is not of %s in the environment %q", id, env).
			WithHint("use an unchanged file that `southbound state export` has written for this " +
				"resource in this environment")
	}
	return false, err
}

// ForgetKept removes the kept state of a resource, whether or not the resource is known. It returns
// NotFound if there is none, and Busy if the resource may be running.
func (e *Engine) ForgetKept(ctx context.Context, env string, id resource.ID) error {
	if _, err := e.Kept(ctx, env, id); err != nil {
		return err
	}
	return e.inLane(ctx, env, []resource.ID{id}, func(c *state.Commit) error {
		c.DropKept = []resource.ID{id}
		return nil
	})
}

// inLane makes a commit under the lease of the lane of resources, so that no run of these resources
// has read a state that the commit replaces. All ids belong to one lane. fill fills the commit in.
func (e *Engine) inLane(
	ctx context.Context, env string, ids []resource.ID, fill func(c *state.Commit) error,
) error {
	id := ids[0]
	key, err := e.laneOf(ctx, env, id)
	if err != nil {
		return err
	}
	client, start := e.client(), e.Clock.Now()
	lease, free, err := client.AcquireUnless(ctx, env, key, state.LeaseMargin, func() bool {
		return e.Clock.Now().Sub(start) > keptWait
	})
	if err != nil {
		return err
	}
	if !free {
		return errKeptBusy(id)
	}
	if err := worker.MarkInterrupted(ctx, client, env, lease); err != nil {
		if len(lease.Running) == 0 {
			client.Release(ctx, env, lease)
		}
		return err
	}
	// Workers that found the lane taken have given up: they are notified again.
	defer func() { _ = e.notifyReady(context.WithoutCancel(ctx), env) }()
	defer client.Release(ctx, env, lease)
	if err := e.ends(ctx, env, ids, lease.Key); err != nil {
		return err
	}
	added, err := e.commitUnmoved(ctx, env, id, lease, fill)
	if err != nil {
		return err
	}
	if _, err := e.planner().FollowUp(ctx, env, added); err != nil && !state.Transient(err) {
		return err
	}
	return nil // a sweep does what is left
}

// laneOf returns the lane whose worker may run a resource: that of its row, since a resource that
// leaves the model stays in its lane if the number of lanes changes. A resource without a row will
// be in a lane of its agent.
func (e *Engine) laneOf(ctx context.Context, env string, id resource.ID) (string, error) {
	rows, err := e.client().Rows(ctx, env, []resource.ID{id})
	if err != nil {
		return "", err
	}
	if row := rows[id]; row != nil {
		return row.Agent, nil
	}
	return id.Agent(), nil
}

// commitUnmoved makes the commit of inLane, and returns the outbox entries that it has added. It holds
// the lease of planners until then, so that no export moves the resource to another lane, whose worker
// would start a run. It returns Busy if an export has done that before.
func (e *Engine) commitUnmoved(ctx context.Context, env string, id resource.ID, lease state.Lease,
	fill func(c *state.Commit) error) ([]state.Outbox, error) {
	client := e.client()
	plan, err := client.Acquire(ctx, env, state.PlanKey, 2*state.LeaseMargin)
	if err != nil {
		return nil, err
	}
	defer client.Release(ctx, env, plan)
	c := state.Commit{Guard: state.Guard{Key: lease.Key, Fence: lease.Fence},
		Until: e.Clock.Now().Add(state.LeaseMargin)}
	key, err := e.laneOf(ctx, env, id)
	if err != nil {
		return nil, err
	}
	if key != lease.Key {
		return nil, errKeptBusy(id)
	}
	if err := fill(&c); err != nil {
		return nil, err
	}
	err = client.Retry(ctx, func() error {
		_, err := e.State.Commit(ctx, env, c)
		return err
	})
	return c.AddOutbox, fault.Wrap(fault.Unknown, "change kept state", err)
}

// ends returns Busy if one of the resources is running in a lane that it was moved from. A holder of
// such a lane that has ended is fenced: otherwise it may keep a state later.
func (e *Engine) ends(ctx context.Context, env string, ids []resource.ID, own string) error {
	client := e.client()
	rows, err := client.Rows(ctx, env, ids)
	if err != nil {
		return err
	}
	leases, err := e.State.Leases(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read leases", err)
	}
	for i := range leases {
		l := &leases[i]
		if l.Key == own || l.Holder == "" {
			continue
		}
		at := slices.IndexFunc(ids, func(id resource.ID) bool {
			return slices.ContainsFunc(l.Running, func(q resource.ID) bool {
				return q == id || rows[id] != nil && rows[id].ManagesThingOf(q)
			})
		})
		if at < 0 {
			continue
		}
		if client.AtWork(l) {
			return errKeptBusy(ids[at])
		}
		fenced, err := client.Fence(ctx, env, l)
		if err != nil {
			return err
		}
		if !fenced {
			return errKeptBusy(ids[at])
		}
	}
	return nil
}

func errKeptBusy(id resource.ID) error {
	return fault.New(fault.Busy, "change kept state", "the agent of %s is at work", id).
		WithHint("pause it with `southbound pause %s`, wait until its work has ended, and try again",
			id.Agent())
}
