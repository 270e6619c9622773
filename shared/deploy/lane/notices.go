package lane

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// notices are what is to be told to other lanes: what has finished here, by the lane in which
// something waits for it.
type notices map[string][]resource.ID

// add notes that a lane has to be told that a resource has finished.
func (n *notices) add(lane string, id resource.ID) {
	if *n == nil {
		*n = notices{}
	}
	if ids := (*n)[lane]; len(ids) == 0 || ids[len(ids)-1] != id {
		(*n)[lane] = append(ids, id)
	}
}

// send tells other lanes, also when this process is being stopped: what was finished is recorded,
// and nobody else would tell of it before the next sweep.
func (n *notices) send(ctx context.Context, c *state.Client, env string) {
	var out []state.Notice
	for _, lane := range slices.Sorted(maps.Keys(*n)) {
		out = append(out, state.Notice{Lane: lane, Done: (*n)[lane]})
	}
	*n = nil
	c.Notify(context.WithoutCancel(ctx), env, out)
}

// notified takes note of a notice that names resources of other lanes. Those that are known to be
// clear are finished in the frontier. Of others it is not known what stands behind them, or the
// schedule has changed: then everything is read again.
func (w *worker) notified(ctx context.Context, ids []resource.ID) (bool, error) {
	nodes := w.graph.Nodes(ids)
	if len(ids) == 0 || len(nodes) < len(ids) {
		return true, w.reload(ctx)
	}
	var done []int32
	for _, n := range nodes {
		switch {
		case w.rows.of(n) != nil || w.frontier.clear[n]:
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

// replanned reads everything again if the schedule has changed since, and reports whether it has. A
// notice may be of a schedule that is newer than the one that was read, and name what had finished
// in that one already. Nobody repeats it. So whoever has taken a notice, and has neither read the
// schedule nor claimed anything since, makes sure of the schedule before it waits or gives the lane
// up (seed 850235178 of the simulator).
func (w *worker) replanned(ctx context.Context) (bool, error) {
	if !w.heard {
		return false, nil
	}
	w.heard = false
	stored, err := w.State.Env(ctx, w.env)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if stored.PlanSeq == w.sched.PlanSeq {
		return false, nil
	}
	return true, w.reload(ctx)
}

// unheld reports whether rows of this lane were held back for a release that is complete by now.
// Its planner notifies their lanes then, and the notice may have met this worker.
func (w claiming) unheld(ctx context.Context) (bool, error) {
	if !w.holds() {
		return false, nil
	}
	stored, err := w.State.Env(ctx, w.env)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read environment", err)
	}
	return stored.Releasing == 0 || stored.PlanSeq != w.sched.PlanSeq, nil
}

// askAhead looks up what this lane came to wait for since it read everything. It returns true if
// something of that has finished. A lane that can wait for notices asks only what its process
// knows: others notify it, or it asks when it is given up.
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
		return w.notified(ctx, known)
	}
	done, err := w.finishedOf(ctx, ask)
	if err != nil || len(done) == 0 {
		return false, err
	}
	return w.notified(ctx, done)
}

// missed returns what this lane waits for and was not told of, and has finished; nil: nothing.
func (w *worker) missed(ctx context.Context) ([]resource.ID, error) {
	// what was found may have been scheduled and have finished once more
	if w.sched.PlanSeq != w.lookup.plan {
		w.lookup.found, w.lookup.plan = nil, w.sched.PlanSeq
	}
	found := func(id resource.ID) bool { return slices.Contains(w.lookup.found, id) }
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

// notifyBehind notifies the lanes in which something waits for a node that was not waited for in
// this lane.
func (w *worker) notifyBehind(n int32) {
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
				w.notices.add(w.graph.Lane(d), w.graph.IDs[n])
			}
			seen[d] = true
		}
	}
}

// clear notes that a node is finished and pushes what became ready in this lane. Other lanes in
// which something waited for it are notified, unless it ran in another lane itself: then whoever
// ran it does that.
func (w *worker) clear(n int32) {
	here := w.rows.of(n) != nil
	finish := w.frontier.finish
	if !here {
		finish = w.frontier.finishAll
	}
	finish(n, func(d int32, ready bool) {
		switch lane := w.graph.Lane(d); {
		case lane != w.lane && here:
			w.notices.add(lane, w.graph.IDs[n])
		case lane == w.lane && ready:
			w.push(d)
		}
	})
}
