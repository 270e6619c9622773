package worker

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

// A worker commits after about commitAfter of work, so that little is repeated after a crash. It
// claims as many rows at a time as it recently finished in that time, up to Config.Claim.
const (
	commitAfter = 20 * time.Millisecond
	claimFirst  = 64
	// awaitFor is how long a worker with nothing ready keeps its agent when it can wait for a
	// notice.
	awaitFor = 250 * time.Millisecond
	// lookEvery is how often an idle lane checks the schedule while other lanes run.
	lookEvery = time.Second
)

// Outcome is the result of a run of an agent.
type Outcome struct {
	Ran    int       // resources
	Fixed  int       // of these, resources corrected after drift, without a new intent
	Busy   bool      // another holder serves the agent
	Paused bool      // the agent is paused or the environment halted
	More   bool      // the time ran out while rows were ready
	Waits  bool      // rows are scheduled that wait for other agents
	Next   time.Time // when a row in progress has to be polled again; zero: none
}

// Config holds the dependencies and limits of workers.
type Config struct {
	*state.Client
	Graphs *version.Graphs
	Views  *Views // the schedules that this process has read, shared by all its workers
	Runs   *run.Runner
	// FollowUp does the follow-up of a commit, which has stored these entries, immediately, and
	// returns the number of the schedule afterwards. A sweep processes the entries that FollowUp does
	// not reach.
	FollowUp func(ctx context.Context, env string, entries []state.Outbox) (int64, error)
	Jitter   func() float64 // a number in [0,1) for backoff
	// Await, Ran and Waits may be nil; see deploy.Config.
	Await func(ctx context.Context, env, agent string, d time.Duration) ([]resource.ID, bool)
	Ran   func(n int)
	Waits func(env, agent, why string)
	// NewMonitor, when not nil, returns the monitor of a worker.
	NewMonitor func() Monitor
	Asked      int // resources that are looked up by id at a time
	Claim      int // rows that are claimed at a time, at most
}

// Run runs the ready rows of an agent until none is left, the time is up, or the agent is paused. Any
// number of processes may call it at any time: one of them serves the agent, the others return with
// outcome.Busy. Errors are faults of infrastructure; a failing resource is data.
func Run(ctx context.Context, c Config, env, agent string, until time.Time) (Outcome, error) {
	w := &worker{until: until, claimSize: min(claimFirst, c.Claim), quick: map[string]bool{}}
	w.Config, w.env, w.key, w.agentName = c, env, agent, agent
	w.isOpen = func(id resource.ID) bool { return w.open[id] != nil }
	w.open, w.Monitor = map[resource.ID]*claim{}, newMonitor()
	if c.NewMonitor != nil {
		w.Monitor = c.NewMonitor()
	}
	if c.Waits != nil {
		ctx = provider.OnWaits(ctx, func(why string) { c.Waits(env, agent, why) })
	}
	for {
		if err := w.serve(ctx); err != nil || !w.mayHaveMissed(ctx) {
			return w.outcome(), err
		}
		unheld, err := (claiming{w}).unheld(ctx)
		if err != nil {
			return w.outcome(), err
		}
		missed, err := w.missed(ctx)
		if err != nil || len(missed) == 0 && !unheld {
			return w.outcome(), err
		}
		if !w.Clock.Now().Before(until) {
			w.out.More = true
			return w.outcome(), nil
		}
		w.lookup.found = append(w.lookup.found, missed...)
	}
}

// outcome returns the outcome of the run.
func (w *worker) outcome() Outcome {
	out := w.out
	out.Paused, out.Next = w.isPaused(), w.next
	return out
}

// serve takes the lease, runs the ready rows and releases the lease.
func (w *worker) serve(ctx context.Context) error {
	err := w.take(ctx)
	if fault.Is(err, fault.Busy) {
		w.out.Busy = true
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unknown, "take agent "+w.agentName, err)
	}
	defer w.close(ctx)
	if err = MarkInterrupted(ctx, w.Client, w.env, w.lease); err == nil {
		err = w.run(ctx)
	} else if len(w.lease.Running) > 0 {
		w.unrecorded++
	}
	if fault.Is(err, fault.Fenced) {
		w.fenced = true // another holder took over, and repeats unrecorded runs
		return nil
	}
	return err
}

// mayHaveMissed reports whether the worker gave up the agent while rows waited for other agents.
// Another worker may have finished their requirements while the lease was held. It then notified a
// process that found the agent busy, and that notice is lost. So a worker that gives up an agent
// checks again.
func (w *worker) mayHaveMissed(ctx context.Context) bool {
	o := &w.out
	return o.Waits && !o.Busy && !o.More && !w.isPaused() && !w.fenced && w.unrecorded == 0 &&
		ctx.Err() == nil
}

// worker serves one agent while it holds the agent's lease. Its state is split into embedded values.
type worker struct {
	holding // the lease, and the state for writes under it
	queue   // the rows of the agent that are to run, in order
	lanes   // the goroutines that run them
	session run.Session
	notices notices   // for other agents, not sent yet
	until   time.Time // when it ends even if rows are ready
	out     Outcome
	// claimSize is how many rows to claim at a time; see adapt.
	claimSize int
	stale     staleness
	recorded  []resource.ID // finished resources for which unknown rows may wait: see followUp
	lookup    lookup
	begun     []*claim        // claims that the commit of the last batch made; nil: none
	quick     map[string]bool // types of which a run recently took less than commitAfter
	// noticeTaken means that a notice was taken since the schedule was last known to be current.
	noticeTaken bool
}

// lookup is the result of the last lookup at other agents after this one was given up: see missed.
type lookup struct {
	found []resource.ID // resources that had finished
	plan  int64         // PlanSeq of the schedule that found is about
}

// staleness records that another writer has changed data that the worker has read. The worker reads
// it again before it goes on.
type staleness bool

// mark records that another writer has changed data.
func (s *staleness) mark() { *s = true }

// take reports whether the mark was set, and clears it.
func (s *staleness) take() bool {
	was := *s
	*s = false
	return bool(was)
}

// close ends the run of the agent. It releases the lease last, so that the connection is closed
// while no other process can be connected for the agent. After a crash in between, the lease
// expires, and a sweep sends the notices that were not sent.
func (w *worker) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.notices.send(ctx, w.Client, w.env)
	w.session.Close()
	w.giveUp(ctx)
}

// run reads the schedule and serves the lanes.
func (w *worker) run(ctx context.Context) error {
	w.Lock()
	defer w.Unlock()
	if err := w.reload(ctx); err != nil {
		return err
	}
	return crew{w}.serveLanes(ctx)
}

// idle decides how to proceed if nothing is ready: finish the wave, wait for a notice, or end.
func (w *worker) idle(ctx context.Context) (bool, error) {
	if w.active > 1 {
		return crew{w}.waitBeside(ctx)
	}
	if _, waving := w.sched.Unfinished[w.agentName]; waving && !w.waveEnded {
		if again, err := w.endWave(ctx); again || err != nil {
			return true, err
		}
	}
	w.notices.send(ctx, w.Client, w.env)
	if again, err := w.askAhead(ctx); again || err != nil {
		return true, err
	}
	if again, err := w.replanned(ctx); again || err != nil {
		return true, err
	}
	if unheld, err := (claiming{w}).unheld(ctx); err != nil {
		return false, err
	} else if unheld {
		return true, w.reload(ctx)
	}
	w.out.Waits = w.waits()
	if !w.out.Waits || w.Await == nil || !w.Clock.Now().Before(w.until) {
		return false, nil
	}
	w.Unlock()
	ids, notified := w.Await(ctx, w.env, w.agentName, awaitFor)
	w.Lock()
	if !notified {
		return false, nil
	}
	w.noticeTaken = true
	return w.notified(ctx, ids)
}
