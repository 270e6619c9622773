package lane

import (
	"context"
	"time"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// A worker commits after about commitAfter of work, so that a crash repeats little, and claims as
// many rows at a time as it lately finished in that time, up to Sizes.Claim.
const (
	commitAfter = 20 * time.Millisecond
	claimFirst  = 64
	// awaitFor is how long a worker with nothing ready keeps its lane when it can wait for a ring.
	awaitFor = 250 * time.Millisecond
)

// Outcome says how a run of a lane ended.
type Outcome struct {
	Ran    int       // resources
	Fixed  int       // of these, drifted and set right without a new intent
	Busy   bool      // another holder serves the lane
	Paused bool      // the agent is paused or the environment halted
	More   bool      // the time ran out with work ready
	Waits  bool      // rows are scheduled that wait for other lanes
	Next   time.Time // when a row that is in progress wants to be asked again; zero: none
}

// Config is what workers work with.
type Config struct {
	*state.Client
	Graphs *version.Graphs
	Views  *Views // what the process knows of schedules, for all its workers
	Runs   *run.Runner
	// FollowUp does at once what follows from a commit, which has stored these entries. What it does
	// not get to, a sweep does.
	FollowUp func(ctx context.Context, env string, entries []state.Outbox) error
	Jitter   func() float64 // a number in [0,1) for backoff
	// Await, Ran and Waits may be nil; see deploy.Config.
	Await func(ctx context.Context, env, lane string, d time.Duration) ([]resource.ID, bool)
	Ran   func(n int)
	Waits func(env, agent, why string)
	Asked int // resources that are looked up by id at a time
	Claim int // rows that are claimed at a time, at most
}

// Run runs what is ready in a lane until nothing is, the time is up, or the lane is paused. Any
// number of processes may call it at any time: one of them serves the lane, the others return with
// outcome.Busy. Errors are faults of infrastructure; a failing resource is data.
func Run(ctx context.Context, c Config, env, lane string, until time.Time) (Outcome, error) {
	w := &worker{Config: c, env: env, lane: lane, until: until, claimSize: claimFirst}
	if c.Waits != nil {
		ctx = provider.OnWaits(ctx, func(why string) { c.Waits(env, state.AgentOf(lane), why) })
	}
	for {
		if err := w.serve(ctx); err != nil || !w.mayHaveMissed(ctx) {
			return w.out, err
		}
		missed, err := w.missed(ctx)
		if err != nil || len(missed) == 0 {
			return w.out, err
		}
		w.found = append(w.found, missed...)
	}
}

// serve takes the lease, runs what is ready and gives the lease back.
func (w *worker) serve(ctx context.Context) error {
	now := w.Clock.Now()
	lease, err := w.State.Acquire(ctx, w.env, w.lane, w.NewHolder(), now, now.Add(state.LeaseMargin))
	if fault.Is(err, fault.Busy) {
		w.out.Busy = true
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unknown, "take lane "+w.lane, err)
	}
	w.lease = lease
	defer w.close(ctx)
	if err = TakeOver(ctx, w.Client, w.env, lease); err == nil {
		err = w.run(ctx)
	} else if len(lease.Running) > 0 {
		w.unrecorded.begin()
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
	return o.Waits && !o.Busy && !o.More && !o.Paused && !w.fenced && !bool(w.unrecorded) &&
		ctx.Err() == nil && w.Clock.Now().Before(w.until)
}

// worker serves one lane while it holds its lease.
type worker struct {
	Config
	env       string
	lane      string
	lease     state.Lease
	until     time.Time
	claimSize int // how many rows to claim at a time, see adapt
	out       Outcome

	state    state.Env
	agent    state.Agent
	sched    state.Schedule
	view     *view
	graph    *version.Graph // the part of view.graph that this lane needs: see look
	full     []int32        // by node of graph: which one that is in view.graph
	frontier *frontier
	asked    map[int32]bool       // nodes of view.graph that were looked up since everything was read
	rows     map[int32]*state.Row // of this lane, by node
	unsure   map[int32]bool       // assumed to be scheduled, perhaps wrongly
	tickets  []int64              // by node; 0: none
	loose    []*state.Row         // scheduled rows that are not in the graph
	ready    readyHeap
	later    []int32              // ready, but with a NotBefore that has not come yet
	deps     map[int32]*state.Row // requirements in other lanes, as far as they were read
	session  run.Session
	rings    map[string][]resource.ID // to be sent: what finished here, by the lane in which something waits for it
	seen     map[resource.ID]bool     // what the wave has checked in this lane: see checked
	laneDone bool                     // the wave is marked as finished in this lane
	running  []resource.ID            // what was claimed last
	recorded []resource.ID            // for what others may wait that are not known here: see tell
	stale    staleness
	// While there are any, the lease must not be released: see close.
	unrecorded unrecorded
	fenced     bool          // another holder has the lane
	found      []resource.ID // of other lanes, that had finished when this one was given up: see missed
	foundAt    int64         // the schedule that this is about
}

// staleness says that others have written to what a worker has read, so that it reads it again
// before it goes on.
type staleness bool

// mark notes that others have written.
func (s *staleness) mark() { *s = true }

// take reports whether it was marked, and takes the mark away.
func (s *staleness) take() bool {
	was := *s
	*s = false
	return bool(was)
}

// unrecorded says that runs may have changed something without a record of it.
type unrecorded bool

// begin notes that there may be such runs from now on.
func (u *unrecorded) begin() { *u = true }

// end notes that all is recorded.
func (u *unrecorded) end() { *u = false }

func (w *worker) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.flushRings(ctx)
	w.session.Close()
	if !bool(w.unrecorded) { // else the lease expires, and whoever takes it learns what was running
		w.Release(ctx, w.env, w.lease)
	}
}

// TakeOver marks the rows that the previous holder of a lane was running as unsure: those runs may have changed something without
// a record, so the receivers of their events have to be told at the next success. It comes first after a lane is taken, because
// the first commit clears Running. If it fails, the lease must not be released, since that clears Running as well.
func TakeOver(ctx context.Context, from *state.Client, env string, l state.Lease) error {
	rows, err := from.Rows(ctx, env, l.Running)
	if err != nil {
		return err
	}
	for len(rows) > 0 {
		// No schedule has the number -1, so the store refuses Next and keeps Running until every row is marked.
		c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence}, Next: l.Running, SeenPlan: -1}
		for _, id := range l.Running {
			r := rows[id]
			if r == nil || r.Rev == 0 || r.Orphaned || r.Unsure || !r.SendsEvents() {
				continue
			}
			r.Unsure = true
			c.Rows = append(c.Rows, *r)
		}
		if len(c.Rows) == 0 {
			break
		}
		var done state.Committed
		if err := from.Retry(ctx, func() (err error) {
			done, err = from.State.Commit(ctx, env, c)
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

// run loops: claim, run, commit.
func (w *worker) run(ctx context.Context) error {
	if err := w.reload(ctx); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil //nolint:nilerr // stopping is not a failure: what is left stays scheduled
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
		if !w.Clock.Now().Before(w.until) {
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

// idle decides what to do when nothing is ready: finish the wave, wait for a ring, or end.
func (w *worker) idle(ctx context.Context) (bool, error) {
	if _, waving := w.sched.Unfinished[w.lane]; waving && !w.laneDone {
		if again, err := w.endWave(ctx); again || err != nil {
			return true, err
		}
	}
	w.flushRings(ctx)
	if again, err := w.askAhead(ctx); again || err != nil {
		return true, err
	}
	w.out.Waits = w.waits()
	if !w.out.Waits || w.Await == nil || !w.Clock.Now().Before(w.until) {
		return false, nil
	}
	ids, rung := w.Await(ctx, w.env, w.lane, awaitFor)
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
