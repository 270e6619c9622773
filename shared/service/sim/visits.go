package sim

import (
	"context"
	"slices"
	"time"
)

// How the home with functions notifies whoever works on orders, in a simulation.
const (
	// againEvery is how often instances that wait for nothing are looked at, in case that a notice
	// of them was lost. It is half an hour there.
	againEvery = time.Minute
	// redelivered is when a notice comes again that a process had which has crashed or failed.
	redelivered = 30 * time.Second
	// visitFor is how long a visit may go on to begin something.
	visitFor = 20 * time.Second
	// maxSent is how many times a notice comes until it is dropped.
	maxSent = 5
)

// notice says that instances may have something to do.
type notice struct {
	ids  []string
	all  bool
	sent int
}

func (n *notice) empty() bool { return len(n.ids) == 0 && !n.all }

// notify sends a notice to one of those who work. It may be lost, late or doubled.
func (r *run) notify(n notice) {
	if n.empty() {
		return
	}
	for _, late := range r.bench.Lost() {
		r.bench.At(r.bench.Now()+late, func() { r.deliver(n) })
	}
}

// deliver hands a notice to one of those who work.
func (r *run) deliver(n notice) {
	x := r.alive()
	if x == nil {
		r.redeliver(n)
		return
	}
	x.inbox.ids = append(x.inbox.ids, n.ids...)
	x.inbox.all = x.inbox.all || n.all
	x.inbox.sent = max(x.inbox.sent, n.sent)
}

// redeliver has a notice come again.
func (r *run) redeliver(n notice) {
	if n.sent++; n.sent <= maxSent && !n.empty() {
		r.bench.At(r.bench.Now()+redelivered, func() { r.deliver(n) })
	}
}

// visits works on what notices name until the process ends.
func (x *runner) visits(ctx context.Context) {
	for !x.Dead() {
		n := x.inbox
		x.inbox = notice{}
		if n.empty() {
			pause := 50*time.Millisecond +
				time.Duration(x.r.bench.Rand().Int64N(int64(time.Second)))
			_ = x.Clock().Sleep(ctx, pause)
			continue
		}
		slices.Sort(n.ids)
		n.ids = slices.Compact(n.ids)
		x.r.happened("visit")
		clear(x.seen)
		left, err := x.worker.Visit(ctx, n.ids, n.all, x.r.bench.Time().Add(visitFor))
		switch {
		case x.Dead() || err != nil:
			x.r.bench.Tracef("a visit ends: %v", err)
			x.r.redeliver(n)
		default:
			x.r.notify(notice{ids: left})
		}
	}
	x.r.redeliver(x.inbox)
}

// sweepOrders sends a notice when something is due, or was not looked at for a while.
func (x *runner) sweepOrders(ctx context.Context) error {
	due, err := (&instancesPort{p: x.Process, r: x.r, by: x}).Due(ctx, env, x.r.bench.Time(), 1)
	now := x.r.bench.Now()
	if again := now >= x.r.looked+againEvery; err != nil || len(due) == 0 && !again {
		return err
	}
	x.r.looked = now
	x.r.notify(notice{all: true})
	return nil
}
