package run

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keeping is the kept state of the resource of one run.
type keeping struct {
	clock   state.Clock
	store   func(ctx context.Context, k state.Kept) error // nil: a run that must not keep state
	refused string                                        // the reason, if store is nil

	mu    sync.Mutex // never held while a state is stored
	plain state.Plain
	// outputs is the revision of the stored outputs, see state.Kept.
	outputs string
	own     bool // plain is stored under the id of the run
	busy    bool // a state is being stored
	ended   bool // the calls that have this value were left behind, or the run has ended
}

// storing is how often the end of a run looks whether a state was stored.
const storing = 5 * time.Millisecond

// end refuses further states, and waits for a state that is being stored: otherwise it could replace
// a state of a later call.
func (k *keeping) end() {
	if k == nil {
		return
	}
	for {
		k.mu.Lock()
		k.ended = true
		busy := k.busy
		k.mu.Unlock()
		if !busy {
			return
		}
		if k.clock.Sleep(context.Background(), storing) != nil {
			return // the process ends
		}
	}
}

// follow ends the value and returns one for the calls that follow a call that was left behind.
func (k *keeping) follow() *keeping {
	if k == nil {
		return nil
	}
	k.end()
	return &keeping{clock: k.clock, store: k.store, refused: k.refused, plain: k.plain,
		outputs: k.outputs, own: k.own}
}

// keeps reports whether the handler of a run keeps state of its resource.
func keeps(r *Run) bool {
	k, ok := provider.As[provider.Keeper](r.handler)
	return ok && k.Keeps(r.want)
}

// recallKept passes to runs the states that their handlers keep. A run whose state cannot be read
// ends: its handler would take the thing for missing.
func (x reader) recallKept(ctx context.Context, runs []*Run) error {
	var ids []resource.ID
	var asked []*Run
	for _, r := range runs {
		if keeps(r) {
			asked = append(asked, r)
			ids = append(append(ids, r.res.ID), r.host.earlier...)
		}
	}
	if len(asked) == 0 {
		return nil
	}
	all, err := x.Runner.Keeps.Kept(ctx, asked[0].host.env, ids)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read kept states", err)
	}
	for _, r := range asked {
		x.give(ctx, r, latest(all, append([]resource.ID{r.res.ID}, r.host.earlier...)))
	}
	return nil
}

// latest returns the state of a thing among the states under its ids: the one that was kept last. It
// may still be under an earlier id. If a run was cut off after it had kept one, there are several.
func latest(states []state.Kept, ids []resource.ID) *state.Kept {
	var out *state.Kept
	for i := range states {
		k := &states[i]
		if slices.Contains(ids, k.ID) && (out == nil || k.Revision > out.Revision) {
			out = k
		}
	}
	return out
}

// give passes a kept state to a run; nil: there is none.
func (x reader) give(ctx context.Context, r *Run, k *state.Kept) {
	r.host.keeping = &keeping{clock: x.Runner.Clock, store: x.store(r)}
	switch {
	case x.Dry:
		r.host.keeping.refused = "a dry run keeps no state"
	case r.host.keeping.store == nil:
		r.host.keeping.refused = "this program cannot keep state here"
	}
	if k == nil {
		return
	}
	n := x.Runner
	if n.Sealer == nil {
		r.End(state.StatusFailed, provider.Terminal, "its state is sealed, and this program has no key")
		return
	}
	plain, err := openKept(ctx, n.Sealer, r.host.env, k)
	if err != nil {
		r.End(state.StatusFailed, classOfKey(err), hinted(err))
		return
	}
	r.host.hideOutputs(plain.Outputs)
	r.host.keeping.plain, r.host.keeping.own = plain, k.ID == r.res.ID
	r.host.keeping.outputs = k.Outputs
	r.Bind(ctx)
}

// classOfKey returns the class of a failure to use a key or a sealed state.
func classOfKey(err error) provider.Class {
	if state.Transient(err) {
		return provider.Retryable
	}
	return provider.Terminal
}

// store returns the function that stores states of a run; nil: it must not keep state.
func (x reader) store(r *Run) func(ctx context.Context, k state.Kept) error {
	if x.Dry || x.Keep == nil || x.Runner.Sealer == nil {
		return nil
	}
	return x.Keep
}

// openKept opens a kept state.
func openKept(
	ctx context.Context, sealer state.Sealer, env string, k *state.Kept,
) (state.Plain, error) {
	b, err := sealer.Open(ctx, env, k.ID, k.Sealed)
	if err != nil {
		return state.Plain{}, err
	}
	return state.DecodePlain(b)
}

// Keep implements provider.Host.
func (h *host) Keep(ctx context.Context, kept []byte, outputs map[string]any) error {
	k := h.keeping
	plain, err := plainOf(kept, outputs)
	h.hideOutputs(plain.Outputs)
	switch {
	case k == nil:
		return provider.Errorf(provider.Terminal, "the handler keeps state, and does not implement "+
			"provider.Keeper, or its Keeps returns false for this resource; that is a fault in it")
	case k.store == nil:
		return provider.Errorf(provider.Terminal, "%s", k.refused)
	case err != nil:
		return err
	}
	k.mu.Lock()
	ended, busy := k.ended, k.busy
	sameOutputs := k.own && bytes.Equal(plain.Outputs, k.plain.Outputs)
	same := bytes.Equal(plain.State, k.plain.State) && (sameOutputs || len(plain.State) == 0)
	next := state.Kept{ID: h.id, Revision: h.runner.NewID()}
	switch {
	case sameOutputs:
		next.Outputs = k.outputs
	case len(plain.Outputs) > 0:
		next.Outputs = next.Revision
	}
	k.busy = busy || !ended && !same
	k.mu.Unlock()
	switch {
	case ended:
		return provider.Errorf(provider.Retryable, "the run of this call has ended")
	case busy:
		return provider.Errorf(provider.Terminal,
			"the handler keeps two states at a time; that is a fault in it")
	case same:
		return nil
	}
	err = h.storeKept(ctx, next, plain)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.busy = false; err == nil {
		k.plain, k.outputs, k.own = plain, next.Outputs, true
	}
	return err
}

// storeKept seals and stores a state.
func (h *host) storeKept(ctx context.Context, next state.Kept, plain state.Plain) error {
	if len(plain.State) > 0 {
		var err error
		if next.Sealed, err = h.runner.Sealer.Seal(ctx, h.env, h.id, plain.Encode()); err != nil {
			return provider.Errorf(classOfKey(err), "seal the state: %w", err)
		}
	}
	if err := h.keeping.store(ctx, next); err != nil {
		return provider.Errorf(provider.Retryable, "store the state: %w", err)
	}
	return nil
}

// KeepsState reports whether the handler of a row may keep states. A handler that is not known here
// may.
func KeepsState(n *Runner, row *state.Row) bool {
	h := n.ownHandler(row, nil)
	_, ok := provider.As[provider.Keeper](h)
	return ok || h == nil && Declared(n, row)
}

// Follow returns the commit's part for a row whose thing had earlier ids: the state to write under
// the id of the row, and the ids whose states are removed.
func (n *Runner) Follow(
	ctx context.Context, env string, id resource.ID, earlier []resource.ID,
) (keep []state.Kept, drop []resource.ID, err error) {
	ids := append([]resource.ID{id}, earlier...)
	all, err := n.Keeps.Kept(ctx, env, ids)
	if err != nil {
		return nil, nil, fault.Wrap(fault.Unknown, "read kept states", err)
	}
	for i := range all {
		if all[i].ID != id {
			drop = append(drop, all[i].ID)
		}
	}
	k := latest(all, ids)
	if k == nil || k.ID == id {
		return nil, drop, nil
	}
	plain, err := n.Sealer.Open(ctx, env, k.ID, k.Sealed)
	if err != nil { // a person may restore the key; the state keeps its id until then
		return nil, nil, err
	}
	next := state.Kept{ID: id, Revision: n.NewID()}
	if k.Outputs != "" {
		next.Outputs = next.Revision
	}
	if next.Sealed, err = n.Sealer.Seal(ctx, env, id, plain); err != nil {
		return nil, nil, err
	}
	return []state.Kept{next}, drop, nil
}
