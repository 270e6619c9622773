package sim

import (
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// note takes over what a planner has written of a release that is under way.
func (h *halfReleased) note(underWay bool, c *state.Commit, out *state.Committed, b before) {
	if !underWay {
		*h = halfReleased{}
		return
	}
	if h.scheduled == nil {
		h.scheduled, h.left = map[resource.ID]bool{}, map[resource.ID]bool{}
	}
	written(c, out, func(row *state.Row) {
		delete(h.left, row.ID)
		// what was asked for before may start, as it might have then
		h.scheduled[row.ID] = row.Ticket != 0 && row.Ticket != b.rows[row.ID].Ticket
	})
	for i := range out.Conflicts {
		h.left[out.Conflicts[i].ID] = true
	}
}

// checkHalf checks that what a release has scheduled does not start while something that has to be
// finished before it is still to be written: nobody can tell yet that it is scheduled as well.
func checkHalf(r *run, t *task, next []resource.ID) {
	h, eff := &r.books.half, r.books.effect
	if len(h.left) == 0 {
		return
	}
	for _, id := range next {
		i, ok := eff.index[id]
		if !ok || !h.scheduled[id] {
			continue
		}
		for j, q := range eff.ids {
			if eff.all[i]&(1<<j) != 0 && h.left[q] {
				r.violate("D1", "%s starts %s, and the release that asks for it has still to write "+
					"what it wants of %s, which has to be finished before", t.name, id, q)
			}
		}
	}
}
