package deploy

import (
	"context"
	"slices"

	"southbound/shared/resource"
)

// markWave marks as scheduled what the wave has still to check in other lanes. While a release is under way, a row may be in another
// lane of its agent than the graph says. Then one unfinished lane of an agent counts for all its lanes, and all that is marked for it
// is unsure.
func (w *worker) markWave(scheduled []bool) {
	w.unsure = map[int32]bool{}
	if len(w.sched.Unfinished) == 0 {
		return
	}
	agents := map[string]bool{}
	for lane := range w.sched.Unfinished {
		agents[AgentOf(lane)] = w.state.Releasing != 0
	}
	sure, perhaps := make([]bool, len(w.graph.Lanes)), make([]bool, len(w.graph.Lanes))
	for i, lane := range w.graph.Lanes {
		_, ok := w.sched.Unfinished[lane]
		sure[i], perhaps[i] = ok && lane != w.lane, agents[AgentOf(lane)]
	}
	checked := w.checked()
	for n, id := range w.graph.IDs {
		if lane := w.graph.LaneOf[n]; (sure[lane] || perhaps[lane]) && !scheduled[n] && !w.graph.Removing[n] && !checked[id] {
			scheduled[n] = true
			if perhaps[lane] {
				w.unsure[int32(n)] = true //nolint:gosec // nodes are int32
			}
		}
	}
}

// inWave reports whether the wave has still to check a row of this lane.
func (w *worker) inWave(r *Row) bool {
	return r.Checked < w.sched.Wave.Epoch && !w.leftOut(r) && !w.checked()[r.ID]
}

// leftOut reports whether the wave is not to check a row.
func (w *worker) leftOut(r *Row) bool {
	if !runnable(r) || r.Removing && r.Ticket == 0 {
		return true
	}
	return r.Ticket == 0 && w.sched.Wave.KeepTerminal && !passes(r.Class)
}

// checked returns the rows that the wave has checked, in whatever lane they were then: all lanes have to see the same.
func (w *worker) checked() map[resource.ID]bool {
	if w.session.checked == nil {
		w.session.checked = map[resource.ID]bool{}
		for _, ids := range w.sched.Unfinished {
			for _, id := range ids {
				w.session.checked[id] = true
			}
		}
	}
	return w.session.checked
}

// skipInWave records as checked the rows that the wave leaves out and those that only their own row says were checked, so that no other
// lane waits for them.
func (w *worker) skipInWave(ctx context.Context) error {
	var skip []resource.ID
	for _, r := range w.rows {
		if r.Ticket == 0 && (r.Checked >= w.sched.Wave.Epoch || w.leftOut(r)) && !w.checked()[r.ID] {
			skip = append(skip, r.ID)
		}
	}
	if len(skip) == 0 {
		return nil
	}
	slices.Sort(skip)
	for _, id := range skip {
		w.checked()[id] = true
	}
	_, err := w.commit(ctx, Commit{Checked: skip, Epoch: w.sched.Wave.Epoch})
	w.ringBehind(skip)
	return err
}

// ringBehind notes rings for the other lanes in which something may wait for ids, directly or through what is not
// scheduled. No run of these ends here, so nothing else tells them.
func (w *worker) ringBehind(ids []resource.ID) {
	seen := map[int32]bool{}
	for _, id := range ids {
		for nodes := w.graph.nodes([]resource.ID{id}); len(nodes) > 0; nodes = nodes[1:] {
			for _, d := range w.graph.Dependants(nodes[0]) {
				if lane := w.graph.Lane(d); lane != w.lane {
					w.ringDone(lane, id)
				}
				if !seen[d] && !w.frontier.needs[d] {
					seen[d] = true
					nodes = append(nodes, d)
				}
			}
		}
	}
}

// waveLeft reports whether the wave has rows of this lane left.
func (w *worker) waveLeft() bool {
	for n, r := range w.rows {
		if w.frontier.needs[n] && r.Checked < w.sched.Wave.Epoch && !w.checked()[r.ID] {
			return true
		}
	}
	return false
}
