package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// heard looks up whether the resources of other lanes that a ring names have finished. If the schedule has changed, the next claim
// is refused, and everything is read again.
func (w *worker) heard(ctx context.Context, ids []resource.ID) (bool, error) {
	if len(ids) == 0 {
		return true, w.reload(ctx)
	}
	ask := w.withUnfinished(ids)
	if len(ask) > w.e.Sizes.Asked {
		return true, w.reload(ctx)
	}
	done, err := w.e.State.Finished(ctx, w.env, ask, w.epoch())
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	for _, n := range w.graph.nodes(done) {
		if w.rows[n] == nil {
			w.clear(n)
		}
	}
	return true, nil
}

// missed returns what this lane waits for and was not told of, and has finished; nil: nothing.
func (w *worker) missed(ctx context.Context) ([]resource.ID, error) {
	if w.sched.PlanSeq != w.foundAt { // what was found may have been scheduled and have finished once more
		w.found, w.foundAt = nil, w.sched.PlanSeq
	}
	var waiting []int32
	for n := range w.rows {
		if w.frontier.needs[n] && !w.frontier.ready(n) {
			waiting = append(waiting, n)
		}
	}
	slices.Sort(waiting)
	ask := w.unfinishedBefore(waiting, len(w.graph.IDs), false)
	ask = slices.DeleteFunc(ask, func(id resource.ID) bool { return slices.Contains(w.found, id) })
	for part := range slices.Chunk(ask, w.e.Sizes.Asked) {
		done, err := w.e.State.Finished(ctx, w.env, part, w.epoch())
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read schedule", err)
		}
		if len(done) > 0 {
			return done, nil
		}
	}
	return nil, nil
}

// finished reports whether a resource is known to have nothing left to do.
func (w *worker) finished(id resource.ID) bool {
	n := w.graph.Node(id)
	return n < 0 || !w.frontier.needs[n]
}

// epoch returns the wave to ask State.Finished about; 0: there is none.
func (w *worker) epoch() int64 {
	if len(w.sched.Unfinished) == 0 {
		return 0
	}
	return w.sched.Wave.Epoch
}

// withUnfinished returns ids and whatever they, and what is behind them, require in other lanes, directly or not, that is not known to have
// finished. That has usually finished when they have, and nobody rings this lane for it.
func (w *worker) withUnfinished(ids []resource.ID) []resource.ID {
	behind := w.behind(w.graph.nodes(ids))
	if len(behind) > w.e.Sizes.Asked {
		return w.graph.IDs // too many to look at
	}
	return append(slices.Clone(ids), w.unfinishedBefore(behind, w.e.Sizes.Asked, true)...)
}

// unfinishedBefore returns what nodes require in other lanes, directly or not, that is not known to have finished; what these themselves wait for
// only if it is to go deep. It stops when it has more than most.
func (w *worker) unfinishedBefore(nodes []int32, most int, deep bool) []resource.ID {
	var out []resource.ID
	seen := map[int32]bool{}
	for len(nodes) > 0 && len(out) <= most {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		for _, q := range w.graph.Requires(n) {
			if w.frontier.clear[q] || seen[q] || w.rows[q] != nil && w.frontier.needs[q] {
				continue // what waits in this lane itself is not for others to tell
			}
			seen[q] = true
			if w.frontier.needs[q] {
				out = append(out, w.graph.IDs[q])
			}
			if deep || !w.frontier.needs[q] {
				nodes = append(nodes, q)
			}
		}
	}
	return out
}

// behind returns nodes and what is not scheduled behind them, as far as it is not clear. Whoever finished one of several things that this
// requires has rung nobody for it, unless it was the last.
func (w *worker) behind(nodes []int32) []int32 {
	seen := map[int32]bool{}
	for i := 0; i < len(nodes) && len(nodes) <= w.e.Sizes.Asked; i++ {
		for _, d := range w.graph.Dependants(nodes[i]) {
			if !seen[d] && !w.frontier.needs[d] && !w.frontier.clear[d] {
				seen[d] = true
				nodes = append(nodes, d)
			}
		}
	}
	return nodes
}

// clear notes that a node is finished and pushes what became ready in this lane. Other lanes in which something waited for it get a
// ring, unless it ran in another lane itself: then whoever ran it rings.
func (w *worker) clear(n int32) {
	here := w.rows[n] != nil
	w.frontier.done(n, func(d int32, ready bool) {
		switch lane := w.graph.Lane(d); {
		case lane != w.lane && here:
			w.ringDone(lane, w.graph.IDs[n])
		case lane == w.lane && ready:
			w.push(d)
		}
	})
}

func (w *worker) ringDone(lane string, id resource.ID) {
	if w.rings == nil {
		w.rings = map[string][]resource.ID{}
	}
	if ids := w.rings[lane]; len(ids) == 0 || ids[len(ids)-1] != id {
		w.rings[lane] = append(ids, id)
	}
}

func (w *worker) flushRings(ctx context.Context) {
	var rings []Ring
	if w.ringAll {
		rings = RingsOf(slices.DeleteFunc(slices.Clone(w.near.after), func(lane string) bool { return lane == w.lane }))
	} else {
		for _, lane := range slices.Sorted(maps.Keys(w.rings)) {
			rings = append(rings, Ring{Lane: lane, Done: w.rings[lane]})
		}
	}
	w.rings, w.ringAll = nil, false
	w.e.ring(ctx, w.env, rings)
}
