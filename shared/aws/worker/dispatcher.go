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

// maxLanes limits the lanes that run concurrently; notices of further lanes go to the queue.
const maxLanes = 16

// dispatcher serves the lanes of one agent in this process until a deadline.
type dispatcher struct {
	s     *Server
	ctx   context.Context // of the invocation; notices that start lanes have no context
	place place
	until time.Time
	// halting: after a fault no further lane starts, because the queue requires it.
	halting bool
	// patience limits the wait for one row in progress, and waits limits a lane's waits in total.
	patience, waits time.Duration

	mu      sync.Mutex
	lanes   map[string]*lane
	working int  // lanes
	broken  bool // by a fault, when halting
	shut    bool
	idle    chan struct{} // closed when no lane runs; replaced when one starts
}

// lane is the dispatcher's record of a lane.
type lane struct {
	name      string
	inbox     inbox
	working   bool
	awaiting  bool // runs, but waits for other lanes
	elsewhere bool // another process serves it
	notified  int  // number of notices
	seen      int  // number of notices that a run has taken
	waiters   []waiter
	waited    time.Duration
	wake      chan struct{}
}

// waiter receives the result of the run that takes its notice.
type waiter struct {
	notice int
	again  bool // its message was received before
	done   chan error
}

// busy is the result for a waiter whose lane another process serves. If that process has died, its
// lease ends at until.
type busy struct{ until time.Time }

// Error implements error.
func (b *busy) Error() string {
	return "another serves the lane, until " + b.until.Format(time.RFC3339) + " if it has died"
}

// open returns a dispatcher for an agent. The notifier passes it the notices of the agent, unless
// the agent already has a dispatcher in this process.
func (s *Server) open(ctx context.Context, p place, until time.Time) *dispatcher {
	d := &dispatcher{s: s, ctx: ctx, place: p, until: until, halting: true, patience: patience,
		waits: maxWaits, lanes: map[string]*lane{}}
	s.Notifier.mu.Lock()
	defer s.Notifier.mu.Unlock()
	if s.Notifier.dispatchers[p] == nil {
		s.Notifier.dispatchers[p] = d
	}
	return d
}

// close waits until no lane runs. After that, notices go to the queue.
func (d *dispatcher) close() {
	for {
		d.mu.Lock()
		if d.working == 0 {
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

func (d *dispatcher) laneLocked(name string) *lane {
	l := d.lanes[name]
	if l == nil {
		l = &lane{name: name, wake: make(chan struct{}, 1)}
		d.lanes[name] = l
	}
	return l
}

// beginsLocked reports whether a lane may still start.
func (d *dispatcher) beginsLocked() bool {
	return !d.shut && !d.broken && d.ctx.Err() == nil && d.s.Clock.Now().Before(d.until)
}

// accept takes a notice from this process. If it returns false, the notice has to go to the queue.
func (d *dispatcher) accept(name string, done []resource.ID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.laneLocked(name)
	switch {
	case d.shut || l.elsewhere:
		return false
	case l.working:
	case !d.beginsLocked() || d.working >= maxLanes:
		return false
	}
	d.notifyLocked(l, done)
	return true
}

// notifyLocked puts a notice into a lane's inbox, and starts the lane if it is not running.
func (d *dispatcher) notifyLocked(l *lane, done []resource.ID) {
	l.inbox.add(done)
	l.notified++
	if !l.working {
		if d.working == 0 {
			d.idle = make(chan struct{})
		}
		d.working++
		l.working, l.waited = true, 0
		go d.work(l)
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// ask requests a run of a lane that a message names; again is set if the message was received
// before. The returned channel receives the result of the run that takes the notice. The result is
// nil, a fault of infrastructure, or *busy if it is known until when another process may serve the
// lane.
func (d *dispatcher) ask(name string, done []resource.ID, again bool) <-chan error {
	d.mu.Lock()
	defer d.mu.Unlock()
	w := waiter{again: again, done: make(chan error, 1)}
	l := d.laneLocked(name)
	if !l.working && !d.beginsLocked() {
		w.done <- fault.New(fault.Unavailable, "serve lane "+name, "it was not begun")
		return w.done
	}
	l.elsewhere = false
	d.notifyLocked(l, done)
	w.notice = l.notified
	l.waiters = append(l.waiters, w)
	return w.done
}

// takeLocked empties the inbox of the lane.
func (l *lane) takeLocked() ([]resource.ID, bool) {
	l.seen = l.notified
	select {
	case <-l.wake:
	default:
	}
	return l.inbox.take()
}

// work runs a lane while it has notices.
func (d *dispatcher) work(l *lane) {
	for {
		d.mu.Lock()
		_, _ = l.takeLocked() // hints are not used: a run reads everything
		asked := len(l.waiters) > 0
		again := slices.ContainsFunc(l.waiters, func(w waiter) bool { return w.again })
		d.mu.Unlock()
		out, held, err := d.s.run(d.ctx, d.place.env, l.name, d.until, asked, again)
		// Unfinished work continues in another invocation. If another process serves the lane, its
		// run may end without having taken this notice, so the notice is sent again.
		if err == nil && (out.More && out.Ran > 0 || out.Busy && !asked) {
			err = d.send(state.Notice{Lane: l.name})
		}
		if !d.goesOn(l, out, held, err) {
			return
		}
	}
}

// send sends a notice to the queue.
func (d *dispatcher) send(r state.Notice) error {
	return d.s.Notifier.out.Notify(context.WithoutCancel(d.ctx), d.place.env, []state.Notice{r})
}

// goesOn sends the result of a run to its waiters, and reports whether the lane runs again. If held
// is not zero, another process may serve the lane until that time.
func (d *dispatcher) goesOn(l *lane, out deploy.LaneRun, held time.Time, err error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	l.elsewhere = out.Busy
	d.broken = d.broken || (err != nil && d.halting)
	if err == nil && !held.IsZero() {
		l.answer(&busy{held})
	} else {
		l.answer(err)
	}
	again := err == nil && !out.Busy && !out.More
	if wait := d.waitOf(l, out); again && wait > 0 && !l.inbox.notified && d.beginsLocked() {
		l.awaiting = true
		d.mu.Unlock()
		began := d.s.Clock.Now()
		sleep(d.ctx, l.wake, wait)
		d.mu.Lock()
		l.awaiting = false
		l.waited += d.s.Clock.Now().Sub(began)
		if d.beginsLocked() {
			return true
		}
	}
	for l.inbox.notified {
		if again && d.beginsLocked() {
			return true
		}
		done, _ := l.takeLocked()
		if err := d.ctx.Err(); err != nil && len(l.waiters) > 0 { // their messages are redelivered
			l.answer(fault.Wrap(fault.Canceled, "serve lane "+l.name, err))
			continue
		}
		// There is no time for notices that arrived during the run: they go to the queue.
		d.mu.Unlock()
		err = d.send(state.Notice{Lane: l.name, Done: done})
		d.mu.Lock()
		l.answer(err)
	}
	l.working = false
	d.working--
	if d.working == 0 {
		close(d.idle)
	}
	return false
}

// waitOf returns how long to wait for the rows in progress in a lane; 0: they are left to the
// sweep.
func (d *dispatcher) waitOf(l *lane, out deploy.LaneRun) time.Duration {
	if out.Next.IsZero() || out.Paused {
		return 0
	}
	now := d.s.Clock.Now()
	wait := max(out.Next.Sub(now), shortestWait)
	if wait > d.patience || l.waited+wait > d.waits || !now.Add(wait).Before(d.until) {
		return 0
	}
	return wait
}

// answer sends err to the waiters whose notices a run has taken.
func (l *lane) answer(err error) {
	kept := l.waiters[:0]
	for _, w := range l.waiters {
		if w.notice <= l.seen {
			w.done <- err
		} else {
			kept = append(kept, w)
		}
	}
	l.waiters = kept
}

// await implements Notifier.Await for a lane that has no ready resources. It passes on no hints.
// Hints name direct dependencies only, and indirect dependencies in other lanes may have finished
// without a notice to this lane. Without hints the worker reads everything again.
func (d *dispatcher) await(ctx context.Context, name string, dur time.Duration) bool {
	d.mu.Lock()
	l := d.lanes[name]
	if l == nil || !l.working {
		d.mu.Unlock()
		return false
	}
	if !l.inbox.notified && d.othersWorkLocked(l) {
		l.awaiting = true
		d.mu.Unlock()
		for notified, end := false, time.Now().Add(dur); !notified && time.Now().Before(end) &&
			ctx.Err() == nil; {
			sleep(ctx, l.wake, time.Until(end))
			d.mu.Lock()
			notified = l.inbox.notified
			d.mu.Unlock()
		}
		d.mu.Lock()
		l.awaiting = false
	}
	defer d.mu.Unlock()
	_, notified := l.takeLocked()
	return notified
}

// othersWorkLocked reports whether another lane of this dispatcher may still notify this one.
func (d *dispatcher) othersWorkLocked(than *lane) bool {
	for _, l := range d.lanes {
		if l != than && l.working && !l.awaiting {
			return true
		}
	}
	return false
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
