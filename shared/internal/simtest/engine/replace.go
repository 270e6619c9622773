package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// replaces reports whether an object is replaced when its fixed part differs.
func replaces(id resource.ID) bool { return id.Type() == typeRigid || id.Type() == typeSwap }

// replacements crashes processes during replacements, in plans with such types.
func (d *drawer) replacements(rng *rand.Rand) {
	p := d.p
	if !slices.ContainsFunc(d.pool, func(s spec) bool { return replaces(s.id) }) {
		return
	}
	for _, o := range p.Ops {
		if o.kind == opExport && o.At > 0 && rng.IntN(2) == 0 {
			p.Ops = append(p.Ops,
				op{At: o.At + time.Duration(2+rng.IntN(2000))*time.Millisecond, kind: opCrash})
		}
	}
	slices.SortStableFunc(p.Ops, func(a, b op) int { return int(a.At - b.At) })
}

// rigidHandler has objects whose fixed part changes only by deletion.
type rigidHandler struct{ handler }

// Create implements provider.Handler.
func (h rigidHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.act(c, "create", req.Resource, func(t *thing) error {
		kept, there := t.fixed, t.exists
		t.parts, t.exists = partsOf(req.Resource.Attributes), true
		if there {
			t.fixed = kept
		}
		h.r.books.changed(h.r, req.Resource.ID, "create")
		return nil
	})
}

// swapHandler has objects that coexist during a replacement, each with a serial number.
type swapHandler struct{ assignedHandler }

// Create implements provider.Handler.
func (h swapHandler) Create(
	c *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	var made *copyOf
	err := h.act(c, "create", req.Resource, func(t *thing) error {
		checkCreate(h.r, t, req.Resource.ID, req.Token)
		h.r.serial++
		made = &copyOf{parts: partsOf(req.Resource.Attributes), token: req.Token, at: h.r.sched.now,
			late: !h.r.books.live(h.r, h.r.sched.cur)}
		made.serial = h.r.serial
		t.made = append(t.made, made)
		h.r.books.changed(h.r, req.Resource.ID, "create")
		return nil
	})
	if err == nil && !h.r.sched.cur.books.orphaned && !made.late {
		made.seen = true
	}
	return provider.Result{}, err
}

// Update implements provider.Handler.
func (h swapHandler) Update(
	c *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.act(c, "update", req.Resource, func(t *thing) error {
		for _, m := range t.made {
			if m.serial == req.Observed.Attributes["serial"] {
				kept := m.parts
				m.parts = partsOf(req.Resource.Attributes)
				m.fixed, m.serial = kept.fixed, kept.serial
			}
		}
		h.r.books.changed(h.r, req.Resource.ID, "update")
		return nil
	})
}

// Delete implements provider.Handler. It removes only the observed object.
func (h swapHandler) Delete(
	c *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{}, h.act(c, "delete", req.Resource, func(t *thing) error {
		if have := h.r.sched.cur.books.runs[req.Resource.ID]; have != nil {
			have.remains = remains(req)
		}
		checkPreserved(h.r, h.r.sched.cur, req.Resource.ID, req.Resource, req.Observed)
		serial, known := req.Observed.Attributes["serial"].(int64)
		if !known {
			h.r.violate("D8", "%s is to be deleted, and nothing says which one", req.Resource.ID)
		}
		if !remains(req) && !req.Resource.Purged && createsFirst(req.Resource) {
			h.r.violate("order", "%s is deleted before another one is created", req.Resource.ID)
		}
		h.r.happenedIf(!remains(req) && !req.Resource.Purged, "swapped: deleted first")
		h.r.happenedIf(remains(req), "swapped: created first")
		t.made = slices.DeleteFunc(t.made, func(m *copyOf) bool { return m.serial == serial })
		h.r.books.changed(h.r, req.Resource.ID, "delete")
		return nil
	})
}

// remains reports whether a deletion is of an object that was replaced: then only its identity is
// observed.
func remains(req provider.DeleteRequest) bool { return len(req.Observed.Attributes) == 1 }

// createsFirst reports whether a replacement creates first.
func createsFirst(r provider.Resource) bool {
	first, _ := r.Attributes[schema.CreateBeforeDestroy].(bool)
	return first
}

// FindCreated implements provider.Finder.
func (h swapHandler) FindCreated(
	c *provider.Context, req provider.CreateRequest,
) (found bool, err error) {
	err = h.act(c, "find", req.Resource, func(t *thing) error {
		for _, m := range t.made {
			if m.token == req.Token && !m.late {
				m.seen = m.seen || !h.r.sched.cur.books.orphaned
				found = true
			}
		}
		return nil
	})
	return found && err == nil, err
}

// didReplacing returns the effect of a run of a replaced type after another successful call.
func (b *runBook) didReplacing(what string) diff.Change {
	switch {
	case b.purged:
		return diff.Purged
	case what == "update", what == "delete" && b.remains, b.did == diff.Purged:
		return diff.Updated
	case what == "delete":
		return diff.Purged
	default:
		return diff.Created
	}
}
