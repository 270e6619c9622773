package worker

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// reload reads the schedule, the environment and the rows of the agent again, until all of them
// belong to one schedule.
func (w *worker) reload(ctx context.Context) error {
	for {
		if same, err := w.readAll(ctx); same || err != nil {
			return err
		}
	}
}

// readAll reads them once. It returns false if the schedule has changed during the read.
func (w *worker) readAll(ctx context.Context) (bool, error) {
	w.settle(w.begun)
	w.seen, w.waveEnded, w.begun, w.noticeTaken = nil, false, nil, false
	now, err := w.look(ctx)
	if err != nil {
		return false, err
	}
	w.sched, w.stored, w.agent = now.Schedule, now.Env, now.Agent
	g, err := w.Graphs.Get(ctx, w.sched.Graph)
	if err != nil {
		return false, err
	}
	rows := now.Rows
	_, waving := w.sched.Unfinished[w.agentName]
	w.view = w.Views.of(w.env, w.sched.PlanSeq, g)
	if w.agent.Name == "" && len(rows) > 0 {
		return false, lostAgent(ctx, w.State, w.env, w.sched.PlanSeq, w.agentName)
	}
	if !w.session.Fits(w.agent.Agent) {
		if w.drains = len(w.open) > 0; !w.drains {
			w.session.Close()
		}
	}
	w.view.learn(w.sched, []string{w.agentName})
	same, err := w.index(ctx, rows, waving)
	if w.most = len(rows); same && err == nil && waving {
		_, same, err = w.skipInWave(ctx)
	}
	return same, err
}

// lostAgent returns an error if the description of an agent is lost. Every release stores all
// agents of its version, and an agent stays as long as it has resources. Without the description,
// the worker could take another machine for this one. The error is nil if a release after the
// schedule seq added the agent with its resources.
func lostAgent(ctx context.Context, from state.State, env string, seq int64, name string) error {
	now, err := from.Schedule(ctx, env, name)
	if err != nil || now.PlanSeq != seq {
		return fault.Wrap(fault.Unknown, "read schedule", err)
	}
	return fault.New(fault.Damaged, "read agents", "the description of agent %q is lost", name).
		WithHint("restore the state from a copy, or move it away and apply again")
}

// look reads the schedule, the environment and the rows of the agent.
func (w *worker) look(ctx context.Context) (state.AgentWork, error) {
	all := func(s state.Schedule, _ state.Env) bool {
		_, waving := s.Unfinished[w.agentName]
		return waving
	}
	if l, is := w.State.(state.Looker); is {
		out, err := l.AgentWork(ctx, w.env, w.agentName, all)
		return out, fault.Wrap(fault.Unknown, "read agent "+w.agentName, err)
	}
	var out state.AgentWork
	var err error
	if out.Schedule, err = w.State.Schedule(ctx, w.env, w.agentName); err != nil {
		return out, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	if out.Env, err = w.State.Env(ctx, w.env); err != nil {
		return out, fault.Wrap(fault.Unknown, "read environment", err)
	}
	agents, err := w.State.Agents(ctx, w.env, w.agentName)
	if err != nil {
		return out, fault.Wrap(fault.Unknown, "read agents", err)
	}
	out.Agent = agents[w.agentName]
	out.Rows, err = w.State.AgentRows(ctx, w.env, w.agentName, all(out.Schedule, out.Env))
	return out, fault.Wrap(fault.Unknown, "read agent "+w.agentName, err)
}

// index builds the frontier and the heap of ready rows of this agent. It returns false if the
// schedule has changed since it was read.
func (w *worker) index(ctx context.Context, rows []state.Row, waving bool) (bool, error) {
	g := w.view.graph
	own := map[int32]bool{}
	here := make(map[int32]*state.Row, len(rows))
	var starts, ends []int32
	n := int32(-1)
	for i := range rows {
		r := &rows[i]
		if n++; int(n) >= len(g.IDs) || g.IDs[n] != r.ID { // rows mostly come in the order of nodes
			n = g.Node(r.ID)
		}
		if n < 0 {
			continue // a release that is under way will write the row
		}
		here[n] = r
		needs := r.Ticket() != 0 || waving && (w.inWave(r) || w.skips(r) && !r.Removing)
		if needs {
			own[n] = true
			starts = append(starts, n)
		} else if waving && w.skips(r) {
			ends = append(ends, n)
		}
	}
	ends = append(ends, g.Nodes(w.recorded)...)
	ends = append(ends, g.Nodes(slices.Sorted(maps.Keys(w.open)))...)
	if same, err := w.findPart(ctx, own, starts, ends); !same || err != nil {
		return same, err
	}
	w.rows, w.deps = make(rowsOf, len(w.full)), map[int32]*state.Row{}
	w.ready, w.later = readyHeap{}, nil
	for i, n := range w.full {
		if r := here[n]; r != nil {
			w.rows[i] = r
		}
	}
	w.session.Lists().Learn(w.newestTicket(), w.sched.Wave.Epoch)
	w.findOpen(w.graph)
	for n := range w.rows.all {
		if w.frontier.ready(n) {
			w.push(n)
		}
	}
	return true, nil
}
