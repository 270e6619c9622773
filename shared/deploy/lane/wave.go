package lane

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// schedule is what is asked for in a lane, as it was read last.
type schedule struct {
	lane     string
	stored   state.Env
	agent    state.Agent
	sched    state.Schedule
	seen     map[resource.ID]bool // what the wave has checked in this lane: see checkedHere
	most     int                  // how many it may come to be
	laneDone bool                 // the wave is marked as finished in this lane
}

// waves says what a wave has still to check. While a release is under way, a row may be in another
// lane of its agent than the graph says. Then one unfinished lane of an agent counts for all its
// lanes, and all that is asked for there is assumed.
type waves struct {
	lanes   map[string][]resource.ID
	agents  map[string]bool // only while a release is under way
	checked map[inLane]bool
}

// inLane is a resource where it was when a wave checked it. Only there does that count: it may have
// been moved, and the record goes when the wave is done in the lane that it left.
type inLane struct {
	lane string
	id   resource.ID
}

func wavesOf(s state.Schedule, releasing bool) waves {
	out := waves{lanes: s.Unfinished}
	if len(s.Unfinished) == 0 {
		return out
	}
	out.agents, out.checked = map[string]bool{}, map[inLane]bool{}
	for lane, ids := range s.Unfinished {
		out.agents[state.AgentOf(lane)] = releasing
		for _, id := range ids {
			out.checked[inLane{lane, id}] = true
		}
	}
	return out
}

// ask reports whether the wave asks for a node, and whether it may do so wrongly.
func (w waves) ask(g *version.Graph, n int32) (asks, assumed bool) {
	lane := g.Lane(n)
	if len(w.lanes) == 0 || g.Removing[n] || w.checked[inLane{lane, g.IDs[n]}] {
		return false, false
	}
	_, sure := w.lanes[lane]
	assumed = w.agents[state.AgentOf(lane)]
	return sure || assumed, assumed
}

// inWave reports whether the wave has still to check a row of this lane.
func (s *schedule) inWave(r *state.Row) bool {
	asks := s.sched.Wave.Asks(r)
	if r.Ticket != 0 {
		asks = r.Checked < s.sched.Wave.Epoch && r.Runnable()
	}
	return asks && !s.checkedHere()[r.ID]
}

// checkedHere returns the rows that the wave has checked in this lane. What another lane has
// checked that moved here meanwhile does not count: its record goes when the wave is done there.
func (s *schedule) checkedHere() map[resource.ID]bool {
	if s.seen == nil {
		checked := s.sched.Unfinished[s.lane]
		s.seen = make(map[resource.ID]bool, max(len(checked), s.most))
		for _, id := range checked {
			s.seen[id] = true
		}
	}
	return s.seen
}

// skips reports whether the wave leaves a row out, or only its own row says that it was checked.
func (s *schedule) skips(r *state.Row) bool {
	return r.Ticket == 0 && !s.sched.Wave.Asks(r) && !s.checkedHere()[r.ID]
}

// skipInWave records as checked what the wave leaves out, as soon as nothing is scheduled that it
// requires, and notifies those who wait for it. If it were recorded before, whoever finishes what
// it requires could still know it as scheduled and notify this lane alone, which has nothing more
// to tell. For what is being removed nobody waits, and nobody notifies its lane: that does not wait
// either. It returns whether there was any, and false if the schedule has changed meanwhile.
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
	done, err := w.commit(ctx, state.Commit{Checked: skip, Epoch: w.sched.Wave.Epoch})
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

// endWave marks the wave as finished in this lane, if it has nothing left here. It returns true if
// there may be something to do now. The mark is written after all that was checked, since the store
// then forgets what that was. Without it, whoever takes the lane over finds nothing left to check
// and writes it.
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
	w.laneDone = true
	done, err := w.commit(ctx, state.Commit{WaveDone: w.sched.Wave.Epoch})
	if err != nil {
		return false, err
	}
	if done.PlanSeq != w.sched.PlanSeq {
		w.laneDone = false
		return true, w.reload(ctx)
	}
	return false, nil
}
