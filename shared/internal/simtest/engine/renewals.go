package engine

import (
	"context"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// renewingPort is state.RenewingCaller: leases are renewed during calls, sometimes too late.
type renewingPort struct{ callerPort }

// CallRenewing implements state.RenewingCaller.
func (c *renewingPort) CallRenewing(ctx context.Context, limit, every time.Duration,
	renew func(ctx context.Context) error, f func(ctx context.Context)) error {
	r, t := c.p.world, c.p.world.sched.cur
	if t.books.gaveUp {
		r.violate("renewal", "%s makes a call after it has lost its lane", t.name)
	}
	if err := c.begin(t, min(limit, state.HeldAtOnce)); err != nil {
		return err
	}
	var err error
	left := r.sched.spawn(c.p, t.name+", a call",
		func(left *task) { err = guarded(func() { f(taskContext{left}) }) })
	left.books, t.call, t.gaveUp = t.books, left, false
	over := func() bool { return left.done || c.p.dead }
	for ends := r.sched.now + limit; !over() && r.sched.now < ends; {
		wait := every
		if r.faulty && r.sched.rng.IntN(4) == 0 {
			wait += time.Duration(r.sched.rng.Int64N(int64(8 * time.Minute)))
		}
		r.sched.await(min(wait, ends-r.sched.now), over)
		if !over() && r.sched.now < ends && !t.gaveUp {
			renewed(r, t, left, every, func() error { return renew(ctx) })
		}
	}
	t.call = nil
	if t.gaveUp { // the engine does not use the answer
		t.books.unanswered()
	}
	return c.answer(t, left, limit, &err)
}

// renewed renews the lease of a task during its call left, and checks the answer: a lease that was
// taken over or has ended is lost, and any other lease lasts until the next renewal.
func renewed(r *run, t, left *task, every time.Duration, renew func() error) {
	ends, met := leaseEnd(r, t), *t.met
	lost := lostLane(r, t) || !r.time().Before(ends)
	err := renew()
	faultless := *t.met == met && r.jumped <= t.began
	switch now := r.time(); {
	case t.proc.dead:
	case err == nil && lost:
		r.violate("renewal", "%s goes on with a call, and its lease has ended", t.name)
	case err == nil && faultless && leaseEnd(r, t).Sub(now) <= every:
		r.violate("renewal", "%s renews its lease for %s only", t.name, leaseEnd(r, t).Sub(now))
	case err != nil && t.faults == 0 && !lost && !lostLane(r, t) && now.Before(ends):
		r.violate("renewal", "%s gives up a call, and holds its lane: %v", t.name, err)
	}
	if err != nil {
		r.happened("lane lost in a call")
		r.tracef("%s has lost its lane in a call: %v", t.name, err)
		t.books.gaveUp, t.gaveUp, left.canceled = true, true, true
		t.faults++
		t.lost++ // the result of the call is not recorded
	}
}

// leaseEnd returns the end of the lease of the lane that a task serves.
func leaseEnd(r *run, t *task) time.Time {
	if l := r.state.read(env).leases[t.books.lane]; l != nil {
		return l.Until
	}
	return time.Time{}
}

// begin begins a handler call of a task, for which its lane must be held.
func (c *callerPort) begin(t *task, held time.Duration) error {
	r := c.p.world
	if c.p.dead {
		return c.p.noMore(t, "Call")
	}
	checkCovered(r, t, held)
	r.sched.pause(0)
	if c.p.dead {
		return c.p.noMore(t, "Call")
	}
	t.books.call++
	return nil
}

// answer returns the answer of a call that is a task of its own. A call without an answer is left
// behind.
func (c *callerPort) answer(t, left *task, limit time.Duration, err *error) error {
	switch {
	case c.p.dead:
		return c.p.noMore(t, "Call")
	case left.done:
		if *err != nil {
			t.books.unanswered()
		}
		return *err
	}
	t.books.unanswered()
	left.canceled = true
	left.books = left.books.orphan(c.p.world.books.claims)
	t.faults++
	return fault.New(fault.Timeout, "call handler", "it took more than %s", limit)
}
