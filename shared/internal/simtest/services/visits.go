package services

import (
	"context"
	"slices"
	"time"
)

// The notices of the home with functions, in a simulation.
const (
	// againEvery is the interval between visits of all instances, which recover from lost notices.
	// The home uses half an hour.
	againEvery = time.Minute
	// redelivered is the delay until the notice of a crashed or failed process comes again.
	redelivered = 30 * time.Second
	// visitFor is the time within which a visit may start rounds.
	visitFor = 20 * time.Second
	// maxSent is the number of deliveries until a notice is dropped.
	maxSent = 5
)

// notice reports that instances may have tasks.
type notice struct {
	ids  []string
	all  bool
	sent int
}

func (n *notice) empty() bool { return len(n.ids) == 0 && !n.all }

// notify sends a notice to a running process. The notice may be lost, late or doubled.
func (r *run) notify(n notice) {
	if n.empty() {
		return
	}
	for _, late := range r.bench.Lost() {
		r.bench.At(r.bench.Now()+late, func() { r.deliver(n) })
	}
}

// deliver delivers a notice to a running process.
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

// redeliver schedules another delivery of a notice.
func (r *run) redeliver(n notice) {
	if n.sent++; n.sent <= maxSent && !n.empty() {
		r.bench.At(r.bench.Now()+redelivered, func() { r.deliver(n) })
	}
}

// visits visits the instances that notices name until the process ends.
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

// sweepOrders sends a notice if an instance is due, or if againEvery has passed.
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
