package worker

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// notices are the pending notices to other agents: the resources that finished here, by the agent in
// which a row waits for them.
type notices map[string][]resource.ID

// add records that an agent has to be notified that a resource has finished.
func (n *notices) add(agent string, id resource.ID) {
	if *n == nil {
		*n = notices{}
	}
	if ids := (*n)[agent]; len(ids) == 0 || ids[len(ids)-1] != id {
		(*n)[agent] = append(ids, id)
	}
}

// send notifies other agents, even if this process is being stopped. The results are recorded, and
// no other process would send these notices before the next sweep.
func (n *notices) send(ctx context.Context, c *state.Client, env string) {
	var out []state.Notice
	for _, agent := range slices.Sorted(maps.Keys(*n)) {
		out = append(out, state.Notice{Agent: agent, Done: (*n)[agent]})
	}
	*n = nil
	c.Notify(context.WithoutCancel(ctx), env, out)
}

// notified handles a notice that names resources of other agents. Resources that the view reports as
// clear are finished in the frontier. If another resource is named, its dependants are unknown or
// the schedule has changed, so the worker reads everything again.
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

// replanned reads everything again if the schedule has changed since it was read, and reports
// whether it has. A notice may belong to a newer schedule than the one that was read, and may name
// resources that had finished in the older one. Such a notice is not repeated. So a worker that
// took a notice checks the schedule before it waits or gives up the agent. If it has read the
// schedule or claimed rows since, it need not check.
func (w *worker) replanned(ctx context.Context) (bool, error) {
	if !w.noticeTaken {
		return false, nil
	}
	w.noticeTaken = false
	stored, err := w.State.Env(ctx, w.env)
	if err != nil {
		return false, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if stored.PlanSeq == w.sched.PlanSeq {
		return false, nil
	}
	return true, w.reload(ctx)
}

// unheld reports whether rows of this agent were held back for a release that is complete by now.
// The planner notifies their agents when it completes the release, and this worker may have consumed
// that notice.
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

// askAhead looks up the resources that this agent began to wait for since it read everything. It
// returns true if one of them has finished. If the agent can wait for notices, askAhead only
// consults the view of its process: other workers notify the agent, or the agent looks them up when
// it is given up.
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

// missed returns finished resources that this agent waits for without having been notified; nil:
// none.
func (w *worker) missed(ctx context.Context) ([]resource.ID, error) {
	// a found resource may have been scheduled and have finished again
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

// notifyBehind notifies other agents in which a row waits for a node, if no row of this agent waited
// for that node.
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
			case w.graph.Agent(d) != w.agentName:
				w.notices.add(w.graph.Agent(d), w.graph.IDs[n])
			}
			seen[d] = true
		}
	}
}

// clear marks a node as finished and pushes rows of this agent that became ready. It notifies other
// agents in which rows waited for the node. If the node ran at another agent, the worker of that agent
// notifies them instead.
func (w *worker) clear(n int32) {
	here := w.rows.of(n) != nil
	finish := w.frontier.finish
	if !here {
		finish = w.frontier.finishAll
	}
	finish(n, func(d int32, ready bool) {
		switch agent := w.graph.Agent(d); {
		case agent != w.agentName && here:
			w.notices.add(agent, w.graph.IDs[n])
		case agent == w.agentName && ready:
			w.push(d)
		}
	})
}
