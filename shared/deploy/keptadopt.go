package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// AdoptedState is the state of a thing that exists, in the form in which the handler of its future
// resource keeps it.
type AdoptedState struct {
	ID      resource.ID
	State   []byte
	Outputs map[string]any // secret outputs; nil: none
}

// adoptedAtOnce is how many adopted states are stored by one commit.
const adoptedAtOnce = 200

// AdoptKept stores the kept states of resources that the environment does not know yet, so that their
// first runs get them. A state that such a resource has already, of an earlier adoption, is replaced.
//
// AdoptKept returns Conflict if the environment knows one of the resources, Invalid for a state that
// is too large, Unsupported if this process has no key, and Busy if a lane is at work. With an error, it
// removes the states that it has stored.
func (e *Engine) AdoptKept(ctx context.Context, env string, all []AdoptedState) error {
	const what = "adopt"
	if e.Sealer == nil {
		return fault.New(fault.Unsupported, what, "this process has no key for kept states").
			WithHint("adopt on the machine that has the key")
	}
	ids := make([]resource.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	if err := e.unknown(ctx, env, ids); err != nil {
		return err
	}
	lanes := map[string][]state.Kept{}
	for i := range all {
		k, err := e.sealAdopted(ctx, env, &all[i])
		if err != nil {
			return err
		}
		key := k.ID.Agent()
		lanes[key] = append(lanes[key], k)
	}
	var stored []state.Kept
	for _, key := range slices.Sorted(maps.Keys(lanes)) {
		for part := range slices.Chunk(lanes[key], adoptedAtOnce) {
			if err := e.storeAdopted(ctx, env, part); err != nil {
				e.discardAdopted(context.WithoutCancel(ctx), env, stored)
				return err
			}
			stored = append(stored, part...)
		}
	}
	return nil
}

// unknown returns Conflict if the environment knows one of the resources.
func (e *Engine) unknown(ctx context.Context, env string, ids []resource.ID) error {
	rows, err := e.client().Rows(ctx, env, ids)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if rows[id] != nil {
			return fault.New(fault.Conflict, "adopt", "the environment has the resource %s already", id).
				WithHint("forget it with `southbound forget` if another thing shall be adopted under this id")
		}
	}
	return nil
}

// sealAdopted returns a state in the form that is stored.
func (e *Engine) sealAdopted(ctx context.Context, env string, a *AdoptedState) (state.Kept, error) {
	none := state.Kept{}
	plain := state.Plain{State: a.State}
	if len(a.Outputs) > 0 {
		v, err := resource.FromGo(a.Outputs)
		if err == nil {
			plain.Outputs, err = resource.CanonicalValue(v)
		}
		if err != nil { // the error may name values
			return none, fault.New(fault.Invalid, "adopt", "the outputs of %s are not JSON", a.ID)
		}
	}
	if n := len(plain.State) + len(plain.Outputs); n > state.MaxKept {
		return none, fault.New(fault.Invalid, "adopt", "the state of %s has %d bytes, and %d is the maximum",
			a.ID, n, state.MaxKept)
	}
	k := state.Kept{ID: a.ID, Revision: e.NewID()}
	if len(plain.Outputs) > 0 {
		k.Outputs = k.Revision
	}
	var err error
	k.Sealed, err = e.Sealer.Seal(ctx, env, a.ID, plain.Encode())
	return k, fault.Wrap(fault.Unknown, "adopt", err)
}

// storeAdopted stores states of one lane.
func (e *Engine) storeAdopted(ctx context.Context, env string, all []state.Kept) error {
	ids := make([]resource.ID, len(all))
	for i := range all {
		ids[i] = all[i].ID
	}
	return e.inLane(ctx, env, ids, func(c *state.Commit) error {
		c.Keep = all
		for i := range all {
			c.AddOutbox = append(c.AddOutbox, all[i].FollowUp(e.Clock.Now())...)
		}
		return e.unknown(ctx, env, ids)
	})
}

// discardAdopted removes states that were stored. An error is ignored: the states belong to no resource,
// and the next adoption replaces them.
func (e *Engine) discardAdopted(ctx context.Context, env string, stored []state.Kept) {
	for i := range stored {
		id := stored[i].ID
		_ = e.inLane(ctx, env, []resource.ID{id}, func(c *state.Commit) error {
			c.DropKept = []resource.ID{id}
			return e.unknown(ctx, env, c.DropKept)
		})
	}
}
