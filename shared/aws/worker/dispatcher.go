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

// maxLanes are served side by side; notices of others go to the queue.
const maxLanes = 16

// dispatcher serves the lanes of one agent in this process until a time.
type dispatcher struct {
	s     *Server
	ctx   context.Context // of the invocation: lanes are begun by notices, which carry none of it
	place place
	until time.Time
	// halting: after a fault no lane is begun, as the queue demands.
	halting bool
	// patience is how long it waits for one row that is in progress, and in all.
	patience, waits time.Duration

	mu      sync.Mutex
	lanes   map[string]*lane
	working int  // lanes
	broken  bool // by a fault, when halting
	shut    bool
	idle    chan struct{} // closed when nothing works; made anew when something does
}

// lane is a lane as its dispatcher knows it.
type lane struct {
	name      string
	inbox     inbox
	working   bool
	awaiting  bool // works, and waits for others
	elsewhere bool // another process serves it
	notified  int  // times
	seen      int  // of these, those that a run has seen
	waiters   []waiter
	waited    time.Duration
	wake      chan struct{}
}

// waiter wants to know how the run ends that has seen a notice.
type waiter struct {
	notice int
	again  bool // its message was received before
	done   chan error
}

// busy is the answer to a waiter whose lane is served by another, who may have died: its lease ends
// then at the latest.
type busy struct{ until time.Time }

// Error implements error.
func (b *busy) Error() string {
	return "another serves the lane, until " + b.until.Format(time.RFC3339) + " if it has died"
}

// open returns a dispatcher for an agent. The notifier passes it the notices of the agent, unless
// another dispatcher of this process gets them.
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

// close waits until nothing works any more. From then on notices go to the queue.
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

// beginsLocked reports whether a lane may still be begun.
func (d *dispatcher) beginsLocked() bool {
	return !d.shut && !d.broken && d.ctx.Err() == nil && d.s.Clock.Now().Before(d.until)
}

// accept takes a notice of this process; false when it has to go to the queue.
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

// notifyLocked puts a notice into the box of a lane, and begins the lane when it does not work.
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

// ask has a lane served that a message names, again or for the first time. What is returned
// tells when a run has ended that has seen it: a fault of infrastructure, *busy when it is known
// until when another may serve the lane, or nil.
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

// takeLocked takes what the lane was notified of.
func (l *lane) takeLocked() ([]resource.ID, bool) {
	l.seen = l.notified
	select {
	case <-l.wake:
	default:
	}
	return l.inbox.take()
}

// work runs a lane as long as there is something to do for it.
func (d *dispatcher) work(l *lane) {
	for {
		d.mu.Lock()
		_, _ = l.takeLocked() // a run reads everything
		asked := len(l.waiters) > 0
		again := slices.ContainsFunc(l.waiters, func(w waiter) bool { return w.again })
		d.mu.Unlock()
		out, held, err := d.s.run(d.ctx, d.place.env, l.name, d.until, asked, again)
		// What is left goes on in another invocation; and whoever serves a lane that is busy may be
		// about to end without having seen this.
		if err == nil && (out.More && out.Ran > 0 || out.Busy && !asked) {
			err = d.send(state.Notice{Lane: l.name})
		}
		if !d.goesOn(l, out, held, err) {
			return
		}
	}
}

// send sends a notice through the queue.
func (d *dispatcher) send(r state.Notice) error {
	return d.s.Notifier.out.Notify(context.WithoutCancel(d.ctx), d.place.env, []state.Notice{r})
}

// goesOn tells those who wait for a run that it is over, and reports whether there is to be
// another. held is until when another may serve the lane.
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
		if err := d.ctx.Err(); err != nil && len(l.waiters) > 0 { // messages that come again say it
			l.answer(fault.Wrap(fault.Canceled, "serve lane "+l.name, err))
			continue
		}
		// There is no time for what came meanwhile: it goes to the queue.
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

// waitOf returns how long to wait for what is in progress in a lane; 0: that is left to the sweep.
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

// answer answers those who wait for notices that were seen.
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

// await implements Notifier.Await for a lane that has nothing ready. It hands no hints on: they
// name what the lane waits for directly, and what is behind that, in other lanes, may have finished
// without a word to this one. Without a hint everything is read anew.
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

// othersWorkLocked reports whether another lane may still notify this one.
func (d *dispatcher) othersWorkLocked(than *lane) bool {
	for _, l := range d.lanes {
		if l != than && l.working && !l.awaiting {
			return true
		}
	}
	return false
}

// sleep waits for a signal, a time or the end of ctx.
func sleep(ctx context.Context, wake <-chan struct{}, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-wake:
	case <-t.C:
	case <-ctx.Done():
	}
}
