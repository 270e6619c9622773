package deploy

import (
	"context"

	"southbound/shared/fault"
)

// reload reads the schedule, the environment and the rows of the lane again.
func (w *worker) reload(ctx context.Context) error {
	w.session.checked, w.laneDone = nil, false
	err := w.readSchedule(ctx)
	if err != nil {
		return err
	}
	// The environment is read after the schedule: if it is newer, the next claim is refused.
	if w.state, err = w.e.State.Env(ctx, w.env); err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	agents, err := w.e.State.Agents(ctx, w.env, AgentOf(w.lane))
	if err != nil {
		return fault.Wrap(fault.Unknown, "read agents", err)
	}
	_, waving := w.sched.Unfinished[w.lane]
	moving := w.state.Releasing != 0 && len(w.sched.Unfinished) > 0 // then all rows are needed to know which are here
	rows, err := w.e.State.LaneRows(ctx, w.env, w.lane, waving || moving)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read lane "+w.lane, err)
	}
	w.agent = agents[AgentOf(w.lane)]
	w.index(rows, waving)
	if waving {
		return w.skipInWave(ctx)
	}
	return nil
}

// readSchedule reads the graph, as far as it concerns this lane, and the schedule of the agents in it. Which these are, only the graph says, and which
// graph it is, only the schedule. So it begins with the one that this process used last.
func (w *worker) readSchedule(ctx context.Context) error {
	hash, g := w.e.lastGraph(w.env)
	for {
		near := w.near
		if near.graph == nil || near.of != hash {
			near = g.around(AgentOf(w.lane))
			near.of = hash
		}
		s, err := w.e.State.Schedule(ctx, w.env, near.agents...)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		if s.Graph == hash {
			w.sched, w.near, w.graph = s, near, near.graph
			return nil
		}
		if g, err = w.e.graph(ctx, s.Graph); err != nil {
			return err // the previous graph stays, as close rings by it
		}
		hash = s.Graph
		w.e.useGraph(w.env, hash)
	}
}

// index builds the frontier and the heap of what is ready in this lane.
func (w *worker) index(rows []Row, waving bool) {
	g := w.graph
	w.rows, w.deps = make(map[int32]*Row, len(rows)), map[int32]*Row{}
	w.ready, w.later, w.loose = readyHeap{}, nil, nil
	scheduled := make([]bool, len(g.IDs))
	w.tickets = make([]int64, len(g.IDs))
	for _, t := range w.sched.Tickets {
		if n := g.Node(t.ID); n >= 0 && t.Lane != w.lane {
			scheduled[n], w.tickets[n] = true, t.N
		}
	}
	w.markWave(scheduled)
	for i := range rows {
		r := &rows[i]
		n := g.Node(r.ID)
		if n < 0 {
			if r.Ticket != 0 && !r.NotBefore.After(w.e.Clock.Now()) {
				w.loose = append(w.loose, r)
			}
			continue
		}
		w.rows[n] = r
		delete(w.unsure, n)
		scheduled[n] = r.Ticket != 0 || (waving && w.inWave(r))
	}
	w.frontier = newFrontier(g, scheduled)
	for n := range w.rows {
		if w.frontier.ready(n) {
			w.push(n)
		}
	}
}
