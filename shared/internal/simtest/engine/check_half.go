package engine

import (
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// note records the rows that a planner has written for a release in progress.
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
		// an earlier request may still start, as before the release
		was := b.rows[row.ID]
		h.scheduled[row.ID] = row.Ticket() != 0 && row.Ticket() != was.Ticket()
	})
	for i := range out.Conflicts {
		h.left[out.Conflicts[i].ID] = true
	}
}

// checkHalf checks that a resource scheduled by a release does not start while a row that must be
// finished first is still to be written. Until that row is written, no worker can see that it is
// scheduled as well.
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
