package deploy

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A worker commits after about commitAfter of work, so that a crash repeats little, and claims as many rows at a time as it lately
// finished in that time.
const (
	commitAfter = 20 * time.Millisecond
	claimFirst  = 64
	claimMost   = 512
	// awaitFor is how long a worker with nothing ready keeps its lane when it can wait for a ring.
	awaitFor = 250 * time.Millisecond
)

// LaneRun says how a run of a lane ended.
type LaneRun struct {
	Ran    int       // resources
	Fixed  int       // of these, drifted and set right without a new intent
	Busy   bool      // another holder serves the lane
	Paused bool      // the agent is paused or the environment halted
	More   bool      // the time ran out with work ready
	Waits  bool      // rows are scheduled that wait for other lanes
	Next   time.Time // when a row that is in progress wants to be asked again; zero: none
}

// RunLane runs what is ready in a lane until nothing is, the time is up, or the lane is paused. Any number of processes may call
// it at any time: one of them serves the lane, the others return with LaneRun.Busy. Errors are faults of infrastructure; a
// failing resource is data.
func (e *Engine) RunLane(ctx context.Context, env, lane string, until time.Time) (LaneRun, error) {
	w := &worker{e: e, env: env, lane: lane, until: until, claimSize: claimFirst}
	for {
		if err := w.serve(ctx); err != nil || !w.mayHaveMissed(ctx) {
			return w.out, err
		}
		missed, err := w.missed(ctx)
		if err != nil || len(missed) == 0 {
			return w.out, err
		}
		w.told = append(w.told, missed...)
	}
}

// serve takes the lease, runs what is ready and gives the lease back.
func (w *worker) serve(ctx context.Context) error {
	now := w.e.Clock.Now()
	lease, err := w.e.State.Acquire(ctx, w.env, w.lane, w.e.holder(), now, now.Add(leaseMargin))
	if fault.Is(err, fault.Busy) {
		w.out.Busy = true
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unknown, "take lane "+w.lane, err)
	}
	w.lease = lease
	defer w.close(ctx)
	if err = w.e.takeOver(ctx, w.env, lease); err == nil {
		err = w.run(ctx)
	} else {
		w.unrecorded = len(lease.Running) > 0
	}
	if fault.Is(err, fault.Fenced) {
		w.fenced = true // another holder took over, and runs again what was not recorded
		return nil
	}
	return err
}

// mayHaveMissed reports whether the lane was given up with rows that wait for others. Whoever finished what they wait for while the lease was held
// may have rung a process that found the lane busy, and that ring is gone. So whoever gives the lane up looks once more.
func (w *worker) mayHaveMissed(ctx context.Context) bool {
	o := &w.out
	return o.Waits && !o.Busy && !o.More && !o.Paused && !w.fenced && !w.unrecorded && ctx.Err() == nil && w.e.Clock.Now().Before(w.until)
}

// missed returns what this lane waits for and was not told of, and has finished; nil: nothing.
func (w *worker) missed(ctx context.Context) ([]resource.ID, error) {
	var waiting []int32
	for n := range w.rows {
		if w.frontier.needs[n] && !w.frontier.ready(n) {
			waiting = append(waiting, n)
		}
	}
	slices.Sort(waiting)
	ask := w.unfinishedBefore(waiting, len(w.graph.IDs), false)
	ask = slices.DeleteFunc(ask, func(id resource.ID) bool { return slices.Contains(w.told, id) })
	for part := range slices.Chunk(ask, mostAsked) {
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

// worker serves one lane while it holds its lease.
type worker struct {
	e         *Engine
	env       string
	lane      string
	lease     Lease
	until     time.Time
	claimSize int // how many rows to claim at a time, see adapt
	out       LaneRun

	state    Env
	agent    Agent
	sched    Schedule
	graph    *Graph   // around the agent
	after    []string // lanes in which something may wait for this one
	frontier *frontier
	rows     map[int32]*Row // of this lane, by node
	unsure   map[int32]bool // assumed to be scheduled, perhaps wrongly
	tickets  []int64        // by node; 0: none
	loose    []*Row         // scheduled rows that are not in the graph
	ready    readyHeap
	later    []int32        // ready, but with a NotBefore that has not come yet
	deps     map[int32]*Row // requirements in other lanes, as far as they were read
	session  session
	rings    map[string][]resource.ID // to be sent: what finished here, by the lane in which something waits for it
	ringAll  bool                     // all lanes in which something may wait are to be rung
	laneDone bool                     // the wave is marked as finished in this lane
	running  []resource.ID            // what was claimed last
	// unrecorded: a run may have changed something without a record of it, so the lease must not be released: see close.
	unrecorded bool
	fenced     bool          // another holder has the lane
	told       []resource.ID // of other lanes, found to have finished when this one was given up: see missed
}

func (w *worker) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.flushRings(ctx)
	w.session.close()
	if !w.unrecorded { // else the lease expires, and whoever takes it learns what was running
		w.e.giveBack(ctx, w.env, w.lease)
	}
}

// takeOver marks the rows that the previous holder of a lane was running as unsure: those runs may have changed something without
// a record, so the receivers of their events have to be told at the next success. It comes first after a lane is taken, because
// the first commit clears Running. If it fails, the lease must not be released, since that clears Running as well.
func (e *Engine) takeOver(ctx context.Context, env string, l Lease) error {
	rows, err := e.rows(ctx, env, l.Running)
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		// No schedule has the number -1, so the store refuses Next and keeps Running until every row is marked.
		c := Commit{Guard: Guard{Key: l.Key, Fence: l.Fence}, Next: l.Running, SeenPlan: -1}
		for _, id := range l.Running {
			r := rows[id]
			if r == nil || r.Rev == 0 || r.Orphaned || r.Unsure || !sendsEvents(r) {
				continue
			}
			r.Unsure = true
			c.Rows = append(c.Rows, *r)
		}
		if len(c.Rows) == 0 {
			break
		}
		var done Committed
		if err := e.retryUnavailable(ctx, func() (err error) {
			done, err = e.State.Commit(ctx, env, c)
			return err
		}); err != nil {
			return fault.Wrap(fault.Unknown, "take lane over", err)
		}
		clear(rows)
		for i := range done.Conflicts {
			rows[done.Conflicts[i].ID] = &done.Conflicts[i]
		}
	}
	return nil
}

func sendsEvents(r *Row) bool {
	res, err := resource.Decode(r.Body)
	return err == nil && res.Tells()
}

// run loops: claim, run, commit.
func (w *worker) run(ctx context.Context) error {
	if err := w.reload(ctx); err != nil {
		return err
	}
	if open := slices.DeleteFunc(slices.Clone(w.told), w.finished); len(open) > 0 {
		if _, err := w.heard(ctx, open); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil //nolint:nilerr // stopping is no failure: what is left stays scheduled
		}
		batch := w.pick()
		if len(batch) == 0 {
			again, err := w.idle(ctx)
			if err != nil || !again {
				return err
			}
			continue
		}
		batch, err := w.withoutMoved(ctx, batch)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			continue
		}
		if !w.e.Clock.Now().Before(w.until) {
			w.out.More = true
			return nil
		}
		if w.sched.Halted || w.agent.Paused {
			w.out.Paused = true
			return nil
		}
		started, err := w.begin(ctx, batch)
		if err != nil {
			return err
		}
		if !started {
			if w.out.Paused {
				return nil
			}
			if err := w.reload(ctx); err != nil {
				return err
			}
			continue
		}
		if err := w.work(ctx, batch); err != nil {
			return err
		}
	}
}

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
		near := g.around(AgentOf(w.lane))
		s, err := w.e.State.Schedule(ctx, w.env, near.agents...)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read schedule", err)
		}
		if s.Graph == hash {
			w.sched, w.graph, w.after = s, near.graph, near.after
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

// idle decides what to do when nothing is ready: finish the wave, wait for a ring, or end.
func (w *worker) idle(ctx context.Context) (bool, error) {
	if _, waving := w.sched.Unfinished[w.lane]; waving && !w.laneDone && !w.waveLeft() {
		w.laneDone = true
		done, err := w.commit(ctx, Commit{WaveDone: w.sched.Wave.Epoch})
		if err != nil {
			return false, err
		}
		w.ringAll = true
		if done.PlanSeq != w.sched.PlanSeq {
			w.laneDone = false
			return true, w.reload(ctx)
		}
	}
	w.flushRings(ctx)
	w.out.Waits = w.waits()
	if !w.out.Waits || w.e.Await == nil || !w.e.Clock.Now().Before(w.until) {
		return false, nil
	}
	ids, rung := w.e.Await(ctx, w.env, w.lane, awaitFor)
	if !rung {
		return false, nil
	}
	return w.heard(ctx, ids)
}

// waits reports whether rows of this lane are scheduled.
func (w *worker) waits() bool {
	for n := range w.rows {
		if w.frontier.needs[n] {
			return true
		}
	}
	return false
}

// heard looks up whether the resources of other lanes that a ring names have finished. If the schedule has changed, the next claim
// is refused, and everything is read again.
func (w *worker) heard(ctx context.Context, ids []resource.ID) (bool, error) {
	if len(ids) == 0 {
		return true, w.reload(ctx)
	}
	ask := w.withUnfinished(ids)
	if len(ask) > mostAsked {
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

// mostAsked bounds how many resources are looked up by id; for more, the whole schedule is read again.
const mostAsked = 1000

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
	if len(behind) > mostAsked {
		return w.graph.IDs // too many to look at
	}
	return append(slices.Clone(ids), w.unfinishedBefore(behind, mostAsked, true)...)
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
	for i := 0; i < len(nodes) && len(nodes) <= mostAsked; i++ {
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
		rings = RingsOf(slices.DeleteFunc(slices.Clone(w.after), func(lane string) bool { return lane == w.lane }))
	} else {
		for _, lane := range slices.Sorted(maps.Keys(w.rings)) {
			rings = append(rings, Ring{Lane: lane, Done: w.rings[lane]})
		}
	}
	w.rings, w.ringAll = nil, false
	w.e.ring(ctx, w.env, rings)
}
