package lane

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// heard takes note of a ring that names resources of other lanes. Those that are known to be clear
// are settled in the frontier. Of others it is not known what stands behind them, or the schedule
// has changed: then everything is read again.
func (w *worker) heard(ctx context.Context, ids []resource.ID) (bool, error) {
	nodes := w.graph.Nodes(ids)
	if len(ids) == 0 || len(nodes) < len(ids) {
		return true, w.reload(ctx)
	}
	var done []int32
	for _, n := range nodes {
		switch {
		case w.rows[n] != nil || w.frontier.clear[n]:
		case w.view.isClear(w.full[n]):
			done = append(done, n)
		default:
			return true, w.reload(ctx)
		}
	}
	for _, n := range done {
		w.clear(n)
	}
	return true, nil
}

// askAhead looks up what this lane came to wait for since it read everything. It returns true if
// something of that has finished. A lane that can wait for rings asks only what its process knows:
// others ring it, or it asks when it is given up.
func (w *worker) askAhead(ctx context.Context) (bool, error) {
	var known, ask []resource.ID
	for _, id := range w.waitsFor() {
		switch n := w.full[w.graph.Node(id)]; {
		case w.view.isClear(n):
			known = append(known, id)
		case !w.asked[n] && w.Await == nil:
			w.asked[n], ask = true, append(ask, id)
		}
	}
	if len(known) > 0 {
		return w.heard(ctx, known)
	}
	done, err := w.finishedOf(ctx, ask)
	if err != nil || len(done) == 0 {
		return false, err
	}
	return w.heard(ctx, done)
}

// missed returns what this lane waits for and was not told of, and has finished; nil: nothing.
func (w *worker) missed(ctx context.Context) ([]resource.ID, error) {
	if w.sched.PlanSeq != w.foundAt { // what was found may have been scheduled and have finished once more
		w.found, w.foundAt = nil, w.sched.PlanSeq
	}
	found := func(id resource.ID) bool { return slices.Contains(w.found, id) }
	return w.finishedOf(ctx, slices.DeleteFunc(w.waitsFor(), found))
}

// finishedOf returns some of ids that have finished; nil: none has.
func (w *worker) finishedOf(ctx context.Context, ids []resource.ID) ([]resource.ID, error) {
	for part := range slices.Chunk(ids, w.Asked) {
		done, err := w.State.Finished(ctx, w.env, part, w.sched.Wave.Epoch)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read schedule", err)
		}
		if len(done) > 0 {
			w.view.finished(w.view.graph.Nodes(done))
			return done, nil
		}
	}
	return nil, nil
}

// waitsFor returns what the rows of this lane wait for in other lanes, as far as they do not wait
// for others of this lane as well.
func (w *worker) waitsFor() []resource.ID {
	var waiting []int32
	here := func(q int32) bool { return w.rows[q] != nil && w.frontier.needs[q] }
	for n := range w.rows {
		waits := w.frontier.needs[n] && !w.frontier.ready(n)
		if waits && !slices.ContainsFunc(w.graph.Requires(n), here) {
			waiting = append(waiting, n)
		}
	}
	slices.Sort(waiting)
	return w.unfinishedBefore(waiting)
}

// unfinishedBefore returns what nodes wait for in other lanes.
func (w *worker) unfinishedBefore(nodes []int32) []resource.ID {
	var out []resource.ID
	seen := map[int32]bool{}
	for len(nodes) > 0 {
		n := nodes[len(nodes)-1]
		nodes = nodes[:len(nodes)-1]
		for _, q := range w.graph.Requires(n) {
			if w.frontier.clear[q] || seen[q] || w.rows[q] != nil && w.frontier.needs[q] {
				continue // what waits in this lane itself is not for others to tell
			}
			if seen[q] = true; w.frontier.needs[q] {
				out = append(out, w.graph.IDs[q])
			} else {
				nodes = append(nodes, q)
			}
		}
	}
	return out
}

// ringBehind rings the lanes in which something waits for a node that was not waited for in this
// lane.
func (w *worker) ringBehind(n int32) {
	seen := map[int32]bool{n: true}
	for stack := []int32{n}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		for _, d := range w.graph.Dependants(at) {
			switch {
			case seen[d]:
			case !w.frontier.needs[d]:
				stack = append(stack, d)
			case w.graph.Lane(d) != w.lane:
				w.ringDone(w.graph.Lane(d), w.graph.IDs[n])
			}
			seen[d] = true
		}
	}
}

// clear notes that a node is finished and pushes what became ready in this lane. Other lanes in which something waited for it get a
// ring, unless it ran in another lane itself: then whoever ran it rings.
func (w *worker) clear(n int32) {
	here := w.rows[n] != nil
	finish := w.frontier.done
	if !here {
		finish = w.frontier.settle
	}
	finish(n, func(d int32, ready bool) {
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
	var rings []state.Ring
	for _, lane := range slices.Sorted(maps.Keys(w.rings)) {
		rings = append(rings, state.Ring{Lane: lane, Done: w.rings[lane]})
	}
	w.rings = nil
	w.Ring(ctx, w.env, rings)
}
