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
// many rows at a time as it lately finished in that time, up to Config.Claim.
const (
	commitAfter = 20 * time.Millisecond
	claimFirst  = 64
	// awaitFor is how long a worker with nothing ready keeps its lane when it can wait for a
	// notice.
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
	// FollowUp does at once what follows from a commit, which has stored these entries. What it
	// does not get to, a sweep does.
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
	w := &worker{until: until, claimSize: min(claimFirst, c.Claim), quick: map[string]bool{}}
	w.Config, w.env, w.key, w.lane = c, env, lane, lane
	if c.Waits != nil {
		ctx = provider.OnWaits(ctx, func(why string) { c.Waits(env, state.AgentOf(lane), why) })
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
		w.lookup.found = append(w.lookup.found, missed...)
	}
}

// outcome says how the run went.
func (w *worker) outcome() Outcome {
	out := w.out
	out.Paused, out.Next = w.paused, w.next
	return out
}

// serve takes the lease, runs what is ready and gives the lease back.
func (w *worker) serve(ctx context.Context) error {
	err := w.take(ctx)
	if fault.Is(err, fault.Busy) {
		w.out.Busy = true
		return nil
	}
	if err != nil {
		return fault.Wrap(fault.Unknown, "take lane "+w.lane, err)
	}
	defer w.close(ctx)
	if err = TakeOver(ctx, w.Client, w.env, w.lease); err == nil {
		err = w.run(ctx)
	} else if len(w.lease.Running) > 0 {
		w.unrecorded = true
	}
	if fault.Is(err, fault.Fenced) {
		w.fenced = true // another holder took over, and runs again what was not recorded
		return nil
	}
	return err
}

// mayHaveMissed reports whether the lane was given up with rows that wait for others. Whoever
// finished what they wait for while the lease was held may have notified a process that found the
// lane busy, and that notice is gone. So whoever gives the lane up checks once more.
func (w *worker) mayHaveMissed(ctx context.Context) bool {
	o := &w.out
	return o.Waits && !o.Busy && !o.More && !w.paused && !w.fenced && !w.unrecorded &&
		ctx.Err() == nil && w.Clock.Now().Before(w.until)
}

// worker serves one lane while it holds its lease. What it knows stands in values of their own.
type worker struct {
	holding // the lease, and what is written under it
	queue   // what of the lane is to run, and in which order
	session run.Session
	notices notices   // for other lanes, not sent yet
	until   time.Time // when it ends although work is ready
	out     Outcome
	// claimSize is how many rows to claim at a time; see adapt.
	claimSize int
	stale     staleness
	recorded  []resource.ID // for what others may wait that are not known here: see tell
	lookup    lookup
	begun     []*claim        // what the commit of the last batch has claimed; none: nothing
	quick     map[string]bool // types of which one lately took less than commitAfter
	// heard says that a notice was taken since it was last known that the schedule stands.
	heard bool
}

// lookup is what was found out about other lanes when this one was given up: see missed.
type lookup struct {
	found []resource.ID // had finished
	plan  int64         // the schedule that this is about
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

// close ends the run of the lane. The lease goes last: the connection is closed while nobody else
// can be connected for the lane. A crash in between leaves the lease to expire, and notices that
// were not sent to a sweep.
func (w *worker) close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	w.notices.send(ctx, w.Client, w.env)
	w.session.Close()
	w.giveUp(ctx)
}

// run loops: claim, run, commit.
func (w *worker) run(ctx context.Context) error {
	if err := w.reload(ctx); err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil // stopping is not a failure: the rest stays scheduled
		}
		claims := w.begun
		if w.begun = nil; len(claims) == 0 {
			var ends bool
			var err error
			if claims, ends, err = (claiming{w}).next(ctx); ends || err != nil {
				return err
			}
		}
		if len(claims) == 0 {
			continue
		}
		w.heard = false // or the claim would have been refused
		if err := (&batch{worker: w, claims: claims}).work(ctx); err != nil {
			return err
		}
	}
}

// idle decides what to do when nothing is ready: finish the wave, wait for a notice, or end.
func (w *worker) idle(ctx context.Context) (bool, error) {
	if _, waving := w.sched.Unfinished[w.lane]; waving && !w.laneDone {
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
	ids, notified := w.Await(ctx, w.env, w.lane, awaitFor)
	if !notified {
		return false, nil
	}
	w.heard = true
	return w.notified(ctx, ids)
}
