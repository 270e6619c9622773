package engine

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// keepingHandler keeps state of each object: the number of its last change.
type keepingHandler struct{ handler }

// Keeps implements provider.Keeper.
func (keepingHandler) Keeps(provider.Resource) bool { return true }

// Read implements provider.Handler. The run of a purged resource whose object does not exist ends
// with a commit that removes the state, as after Delete.
func (h keepingHandler) Read(
	c *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	checkState(h.r, h.r.sched.cur, req.Resource.ID, string(c.Kept()))
	out, err := h.handler.Read(c, req)
	if err == nil && !out.Exists && req.Resource.Purged && !c.DryRun() {
		h.r.books.mayKeep(req.Resource.ID, "")
	}
	return out, err
}

// Create implements provider.Handler.
func (h keepingHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	out, err := h.handler.Create(c, req)
	if err == nil {
		err = h.keep(c, req.Resource.ID, nil)
	}
	return out, err
}

// Update implements provider.Handler.
func (h keepingHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	out, err := h.handler.Update(c, req)
	if err == nil {
		err = h.keep(c, req.Resource.ID, nil)
	}
	return out, err
}

// Delete implements provider.Handler. The commit that records the purge removes the state; it may
// have done so without an answer.
func (h keepingHandler) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	out, err := h.handler.Delete(c, req)
	h.r.books.mayKeep(req.Resource.ID, "")
	return out, err
}

// keep keeps a new number, and secret outputs.
func (h keepingHandler) keep(
	c *provider.Context, id resource.ID, outputs map[string]any,
) error {
	r, who := h.r, h.r.sched.cur
	r.numbers++
	text := strconv.Itoa(r.numbers)
	lost := lostLane(r, who)
	r.books.mayKeep(id, text) // until there is an answer, it may be stored
	err := c.KeepWithOutputs([]byte(text), outputs)
	switch {
	case err == nil && lost && !who.books.orphaned:
		r.violate("kept", "%s has lost its lane and keeps %s of %s", who.name, text, id)
	case err == nil && !who.books.orphaned:
		r.books.kept[thingOf(id)] = []string{text}
		r.happened("state kept")
	default:
		r.happened("state not kept")
	}
	return err
}

// lostLane reports whether another holder has taken the lane of a task since. A lease that has only
// expired still permits writes.
func lostLane(r *run, t *task) bool {
	l := r.state.read(env).leases[t.books.lane]
	return l == nil || l.Holder == "" || l.Fence != t.books.leases[t.books.lane]
}

// mayKeep notes that a state of an object may be the stored one; "": there may be none.
func (b *books) mayKeep(id resource.ID, text string) {
	of := thingOf(id)
	if b.kept[of] == nil {
		b.kept[of] = []string{""}
	}
	b.kept[of] = append(b.kept[of], text)
}

// checkState checks that a run of a live holder gets a state that may be stored: the one that was kept
// last, or one whose Keep had no answer.
func checkState(r *run, t *task, id resource.ID, got string) {
	if other := r.state.read(env).rows[otherOf(id)]; other != nil && other.Orphaned {
		// It left before, and its state stays with it. The object has two states from now on.
		r.books.split[thingOf(id)] = true
	}
	if r.books.split[thingOf(id)] {
		return
	}
	may := r.books.kept[thingOf(id)]
	if may == nil {
		may = []string{""}
	}
	if !t.books.dry && r.books.live(r, t) && !slices.Contains(may, got) {
		r.violate("kept", "%s reads %s and gets the state %q, not one of %q", t.name, id, got, may)
	}
}

// checkKeptAtRest checks that the states of purged and of removed resources are gone. The state of a
// forgotten resource stays if it was kept after that.
func checkKeptAtRest(r *run) {
	e := r.state.read(env)
	for id := range e.kept {
		row := e.rows[id]
		switch {
		case r.books.forgotten[id]:
		case row == nil && !isMoved(r, id):
			r.violate("kept", "%s is gone, and its state is still stored", id)
		case row != nil && row.WasPurged():
			r.violate("kept", "%s is purged, and its state is still stored", id)
		}
	}
}

// sealer is state.Sealer: it seals nothing, and opens only what it has sealed for the same resource.
type sealer struct{}

// Seal implements state.Sealer.
func (sealer) Seal(_ context.Context, env string, id resource.ID, plain []byte) ([]byte, error) {
	return fmt.Appendf(nil, "%s %s\n%s", env, id, plain), nil
}

// Open implements state.Sealer.
func (sealer) Open(_ context.Context, env string, id resource.ID, sealed []byte) ([]byte, error) {
	plain, own := bytes.CutPrefix(sealed, fmt.Appendf(nil, "%s %s\n", env, id))
	if !own {
		return nil, fault.New(fault.Damaged, "open", "it is not the state of %s", id)
	}
	return plain, nil
}

var _ state.Sealer = sealer{}
