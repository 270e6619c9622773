package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// dispatcher serves one agent in this process until a deadline. At most one run is in progress.
type dispatcher struct {
	s     *Server
	ctx   context.Context // of the invocation; notices that start a run have no context
	place place
	until time.Time
	// halting: after a fault no further run starts, because the queue requires it.
	halting bool
	// patience limits the wait for one row in progress, and waits limits all waits since the agent
	// was idle.
	patience, waits time.Duration

	mu        sync.Mutex
	working   bool
	idle      chan struct{} // closed when no run is in progress; replaced when one starts
	elsewhere bool          // another process serves the agent
	broken    bool          // by a fault, when halting
	shut      bool
	waited    time.Duration
	notices
}

// notices are the notices of an agent, and the messages that wait for their results.
type notices struct {
	inbox    inbox
	notified int // number of notices
	seen     int // number of notices that a run has taken
	waiters  []waiter
	wake     chan struct{}
}

// waiter receives the result of the run that takes its notice.
type waiter struct {
	notice int
	again  bool // its message was received before
	done   chan error
}

// busy is the result for a waiter whose agent another process serves. If that process has died, its
// lease ends at until.
type busy struct{ until time.Time }

// Error implements error.
func (b *busy) Error() string {
	return "another process serves the agent, until " + b.until.Format(time.RFC3339) +
		" if it has died"
}

// open returns a dispatcher for an agent. The notifier passes it the notices of the agent, unless
// the agent already has a dispatcher in this process.
func (s *Server) open(ctx context.Context, p place, until time.Time) *dispatcher {
	d := &dispatcher{s: s, ctx: ctx, place: p, until: until, halting: true, patience: patience,
		waits: maxWaits, notices: notices{wake: make(chan struct{}, 1)}}
	s.Notifier.mu.Lock()
	defer s.Notifier.mu.Unlock()
	if s.Notifier.dispatchers[p] == nil {
		s.Notifier.dispatchers[p] = d
	}
	return d
}

// close waits until no run is in progress. After that, notices go to the queue.
func (d *dispatcher) close() {
	for {
		d.mu.Lock()
		if !d.working {
			d.shut = true
			d.mu.Unlock()
			break
		}
		idle := d.idle
		d.mu.Unlock()
		<-idle
	}
	n := d.s.Notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.dispatchers[d.place] == d {
		delete(n.dispatchers, d.place)
	}
}

// beginsLocked reports whether a run may still start.
func (d *dispatcher) beginsLocked() bool {
	return !d.shut && !d.broken && d.ctx.Err() == nil && d.s.Clock.Now().Before(d.until)
}

// accept takes a notice from this process. If it returns false, the notice has to go to the queue.
func (d *dispatcher) accept(done []resource.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut || d.elsewhere || !d.working && !d.beginsLocked() {
		return false
	}
	d.notifyLocked(done)
	return true
}

// notifyLocked puts a notice into the inbox, and starts a run if none is in progress.
func (d *dispatcher) notifyLocked(done []resource.ID) {
	d.inbox.add(done)
	d.notified++
	if !d.working {
		d.idle = make(chan struct{})
		d.working, d.waited = true, 0
		go d.work()
	}
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// ask requests a run for a message; again is set if the message was received before. The returned
// channel receives the result of the run that takes the notice. The result is nil, a fault of
// infrastructure, or *busy if it is known until when another process may serve the agent.
func (d *dispatcher) ask(done []resource.ID, again bool) <-chan error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := waiter{again: again, done: make(chan error, 1)}
	if !d.working && !d.beginsLocked() {
		w.done <- fault.New(fault.Unavailable, "serve agent "+d.place.agent, "it was not begun")
		return w.done
	}
	d.elsewhere = false
	d.notifyLocked(done)
	w.notice = d.notified
	d.waiters = append(d.waiters, w)
	return w.done
}

// takeLocked empties the inbox.
func (n *notices) takeLocked() ([]resource.ID, bool) {
	n.seen = n.notified
	select {
	case <-n.wake:
	default:
	}
	return n.inbox.take()
}

// work runs the agent while it has notices.
func (d *dispatcher) work() {
	for {
		d.mu.Lock()
		_, _ = d.takeLocked() // hints are not used: a run reads everything
		asked := len(d.waiters) > 0
		again := slices.ContainsFunc(d.waiters, func(w waiter) bool { return w.again })
		d.mu.Unlock()
		out, held, err := d.s.run(d.ctx, d.place, d.until, asked, again)
		// Unfinished work continues in another invocation. If another process serves the agent, its
		// run may end without having taken this notice, so the notice is sent again.
		if err == nil && (out.More && out.Ran > 0 || out.Busy && !asked) {
			err = d.send(nil)
		}
		if !d.goesOn(out, held, err) {
			return
		}
	}
}

// send sends a notice of the agent to the queue.
func (d *dispatcher) send(done []resource.ID) error {
	return d.s.Notifier.out.Notify(context.WithoutCancel(d.ctx), d.place.env,
		[]state.Notice{{Agent: d.place.agent, Done: done}})
}

// goesOn sends the result of a run to its waiters, and reports whether the agent runs again. If held
// is not zero, another process may serve the agent until that time.
func (d *dispatcher) goesOn(out deploy.AgentRun, held time.Time, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.elsewhere = out.Busy
	d.broken = d.broken || (err != nil && d.halting)
	if err == nil && !held.IsZero() {
		d.answerLocked(&busy{held})
	} else {
		d.answerLocked(err)
	}
	again := err == nil && !out.Busy && !out.More
	if wait := d.waitOf(out); again && wait > 0 && !d.inbox.notified && d.beginsLocked() {
		d.mu.Unlock()
		began := d.s.Clock.Now()
		sleep(d.ctx, d.wake, wait)
		d.mu.Lock()
		d.waited += d.s.Clock.Now().Sub(began)
		if d.beginsLocked() {
			return true
		}
	}
	for d.inbox.notified {
		if again && d.beginsLocked() {
			return true
		}
		done, _ := d.takeLocked()
		if err := d.ctx.Err(); err != nil && len(d.waiters) > 0 { // their messages are redelivered
			d.answerLocked(fault.Wrap(fault.Canceled, "serve agent "+d.place.agent, err))
			continue
		}
		// There is no time for notices that arrived during the run: they go to the queue.
		d.mu.Unlock()
		err = d.send(done)
		d.mu.Lock()
		d.answerLocked(err)
	}
	d.working = false
	close(d.idle)
	return false
}

// waitOf returns how long to wait for the rows in progress; 0: they are left to the sweep.
func (d *dispatcher) waitOf(out deploy.AgentRun) time.Duration {
	if out.Next.IsZero() || out.Paused {
		return 0
	}
	now := d.s.Clock.Now()
	wait := max(out.Next.Sub(now), shortestWait)
	if wait > d.patience || d.waited+wait > d.waits || !now.Add(wait).Before(d.until) {
		return 0
	}
	return wait
}

// answerLocked sends err to the waiters whose notices a run has taken.
func (n *notices) answerLocked(err error) {
	kept := n.waiters[:0]
	for _, w := range n.waiters {
		if w.notice <= n.seen {
			w.done <- err
		} else {
			kept = append(kept, w)
		}
	}
	n.waiters = kept
}

// notice takes the notices that arrived during a run, and reports whether there were any. It returns
// no hints: hints name direct dependencies only, and indirect dependencies of other agents may have
// finished without a notice to this agent. Without hints the worker reads everything again.
func (d *dispatcher) notice() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.working {
		return false
	}
	_, notified := d.takeLocked()
	return notified
}

// sleep waits for a signal, for d, or until ctx is done.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-ctx.Done():
	}
}
