package worker

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// schedule is the state of an agent's schedule as it was last read.
type schedule struct {
	agentName string
	stored    state.Env
	agent     state.Agent
	sched     state.Schedule
	seen      map[resource.ID]bool // resources that the wave has checked here: see checkedHere
	most      int                  // the expected maximum size of seen
	waveEnded bool                 // the wave is marked as finished at this agent
}

// waves describes the checks that a wave still has to make.
type waves struct {
	agents  map[string][]resource.ID
	checked map[resource.ID]bool
}

func wavesOf(s state.Schedule) waves {
	out := waves{agents: s.Unfinished}
	if len(s.Unfinished) == 0 {
		return out
	}
	out.checked = map[resource.ID]bool{}
	for _, ids := range s.Unfinished {
		for _, id := range ids {
			out.checked[id] = true
		}
	}
	return out
}

// ask reports whether the wave asks for a node.
func (w waves) ask(g *version.Graph, n int32) bool {
	if len(w.agents) == 0 || g.Removing[n] || w.checked[g.IDs[n]] {
		return false
	}
	_, asks := w.agents[g.Agent(n)]
	return asks
}

// inWave reports whether the wave has still to check a row of this agent.
func (s *schedule) inWave(r *state.Row) bool {
	asks := s.sched.Wave.Asks(r)
	if r.Ticket() != 0 {
		asks = r.Checked < s.sched.Wave.Epoch && r.Runnable()
	}
	return asks && !s.checkedHere()[r.ID]
}

// checkedHere returns the resources that the wave has checked at this agent.
func (s *schedule) checkedHere() map[resource.ID]bool {
	if s.seen == nil {
		checked := s.sched.Unfinished[s.agentName]
		s.seen = make(map[resource.ID]bool, max(len(checked), s.most))
		for _, id := range checked {
			s.seen[id] = true
		}
	}
	return s.seen
}

// skips reports whether the wave leaves out a row, or only the row itself records that it was
// checked.
func (s *schedule) skips(r *state.Row) bool {
	return r.Ticket() == 0 && !s.sched.Wave.Asks(r) && !s.checkedHere()[r.ID]
}

// skipInWave records rows that the wave leaves out as checked, and notifies the agents that wait for
// them. It waits until no requirement of such a row is scheduled. If the row were recorded earlier,
// the worker that finishes a requirement could still see the row as scheduled. It would notify this
// agent only, and this agent would have no notice left to send. A row that is being removed does not
// wait: no agent waits for it, and no worker notifies its agent.
//
// skipInWave returns whether there were such rows, and false for same if the schedule has changed.
func (w *worker) skipInWave(ctx context.Context) (some, same bool, err error) {
	var skip []resource.ID
	for n, r := range w.rows.all {
		if w.skips(r) && (r.Removing || w.frontier.ready(n) || w.frontier.clear[n]) {
			skip = append(skip, r.ID)
		}
	}
	if len(skip) == 0 {
		return false, true, nil
	}
	slices.Sort(skip)
	done, err := w.commit(ctx, state.Commit{Checked: skip, Epoch: w.sched.Wave.Epoch,
		Beside: w.openIDs()})
	if err != nil {
		return true, false, err
	}
	for _, n := range w.graph.Nodes(skip) {
		w.checkedHere()[w.graph.IDs[n]] = true
		w.notifyBehind(n)
		w.clear(n)
	}
	w.notices.send(ctx, w.Client, w.env)
	return true, done.PlanSeq == w.sched.PlanSeq, nil
}

// endWave marks the wave as finished at this agent, if no check is left here. It returns true if
// rows may be ready now. The mark is written after all checks, since the store then drops the list
// of checked resources. If a crash prevents the mark, the next worker of the agent finds no check
// left and writes it.
func (w *worker) endWave(ctx context.Context) (bool, error) {
	some, same, err := w.skipInWave(ctx)
	if err != nil {
		return false, err
	}
	if !same {
		return true, w.reload(ctx)
	}
	if some || w.waveLeft() {
		return some, nil
	}
	w.waveEnded = true
	done, err := w.commit(ctx, state.Commit{WaveDone: w.sched.Wave.Epoch})
	if err != nil {
		return false, err
	}
	if done.PlanSeq != w.sched.PlanSeq {
		w.waveEnded = false
		return true, w.reload(ctx)
	}
	return false, nil
}
