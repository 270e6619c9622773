package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// filesPort is state.Files as a process accesses it, with the faults of a run.
type filesPort struct {
	p  *process
	to state.Files
}

func (f *filesPort) call(ctx context.Context, op string, effect func() error) error {
	return f.p.call(ctx, op, &f.p.world.plan.faults.files, effect)
}

// Missing implements state.Files.
func (f *filesPort) Missing(ctx context.Context, hashes []string) (out []string, err error) {
	err = f.call(ctx, "Missing", func() (err error) {
		out, err = f.to.Missing(ctx, hashes)
		return err
	})
	return out, err
}

// Put implements state.Files.
func (f *filesPort) Put(ctx context.Context, blobs []state.Blob) error {
	return f.call(ctx, "Put", func() error { return f.to.Put(ctx, blobs) })
}

// Get implements state.Files.
func (f *filesPort) Get(ctx context.Context, hashes []string) (out [][]byte, err error) {
	err = f.call(ctx, "Get", func() (err error) {
		out, err = f.to.Get(ctx, hashes)
		return err
	})
	return out, err
}

// Open implements state.Files.
func (f *filesPort) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	blobs, err := f.Get(ctx, []string{hash})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(blobs[0])), nil
}

// List implements state.Files.
func (f *filesPort) List(
	ctx context.Context, each func(hash string, stored time.Time) error,
) error {
	return f.call(ctx, "List", func() error { return f.to.List(ctx, each) })
}

// Delete implements state.Files.
func (f *filesPort) Delete(ctx context.Context, hashes []string) error {
	return f.call(ctx, "Delete", func() error {
		r, books := f.p.world, f.p.world.sched.cur.books
		if !books.removes.IsZero() && !r.time().Before(books.removes) {
			// A removal that outlasts its lease fails, since it could not be undone.
			return unavailable("Delete")
		}
		return f.to.Delete(ctx, hashes)
	})
}

// notifierPort is state.Notifier as a process accesses it, with the faults of a run.
type notifierPort struct{ p *process }

// Notify implements state.Notifier.
func (n *notifierPort) Notify(ctx context.Context, _ string, notices []state.Notice) error {
	return n.p.call(ctx, "Notify", &n.p.world.plan.faults.notifier, func() error {
		for _, r := range notices {
			n.p.world.send(r)
		}
		return nil
	})
}

// send sends a message.
func (r *run) send(notice state.Notice) {
	r.books.notified(r, notice)
	copies := 1
	f := &r.plan.faults
	if r.faulty {
		switch x := r.sched.rng.Float64(); {
		case x < f.lost:
			r.tracef("the notice of %s is lost", notice.Agent)
			r.happened("notice lost")
			copies = 0
		case x < f.lost+f.doubled:
			copies = 2
		}
	}
	r.sent++
	id := r.sent // a unique number
	for range copies {
		late := time.Duration(r.sched.rng.Int64N(int64(5 * time.Millisecond)))
		if r.plan.instant {
			late = 0
		}
		if r.faulty && r.sched.rng.Float64() < f.late {
			late = time.Duration(r.sched.rng.Int64N(int64(30 * time.Second)))
		}
		r.sched.at(r.sched.now+late, func() { r.arrive(notice, id) })
	}
}

// arrive puts a message into a queue or delivers it. A repeated send has the id of the first one.
func (r *run) arrive(notice state.Notice, id int) {
	if r.plan.Functions != nil {
		queueOf(r, notice.Agent).put(notice, id)
		return
	}
	r.deliver(notice)
}

// deliver passes a message to a task of a process that waits for the lane, or starts such a task.
func (r *run) deliver(notice state.Notice) {
	if r.ended {
		return
	}
	p := r.procs[r.sched.rng.IntN(len(r.procs))]
	if p == nil {
		return // there is no process: the message is lost
	}
	have := p.notices[notice.Agent]
	if have == nil {
		have = &unanswered{}
		p.notices[notice.Agent] = have
	}
	if have.all = have.all || len(notice.Done) == 0; !have.all {
		have.ids = append(have.ids, notice.Done...)
	}
	for _, t := range r.sched.tasks {
		if t.proc == p && t.books.lane == notice.Agent && r.plan.Await {
			return // the lane is served here: its worker reads the notices when it waits or ends
		}
	}
	r.serve(p, notice.Agent)
}

// serve starts a run of a lane.
func (r *run) serve(p *process, lane string) {
	delete(p.notices, lane)
	r.task(p, "RunAgent "+lane, func(t *task) error {
		t.books.lane = lane
		t.books.until = r.time().Add(r.plan.laneFor)
		out, err := p.engine.RunAgent(taskContext{t}, env, lane, t.books.until)
		if p.dead {
			return err
		}
		checkEnded(r, t, lane, err)
		if out.Busy {
			r.busy(lane)
		}
		if t.books.lane = ""; p.notices[lane] != nil || out.More {
			r.serve(p, lane)
		}
		return err
	})
}

// busy schedules another notice for a lane that was busy, as each home does. Its worker may be
// about to end without having read its notice.
func (r *run) busy(lane string) {
	if r.busyLanes[lane] {
		return
	}
	r.sent++
	id := r.sent
	r.busyLanes[lane] = true
	r.sched.at(r.sched.now+200*time.Millisecond, func() {
		r.busyLanes[lane] = false
		r.arrive(state.Notice{Agent: lane}, id)
	})
}

// await is deploy.Config.Await.
func (n *notifierPort) await(
	ctx context.Context, _, lane string, d time.Duration,
) ([]resource.ID, bool) {
	p := n.p
	if p.dead {
		_ = p.noMore(p.world.sched.cur, "Await")
		return nil, false
	}
	p.world.sched.await(d, func() bool { return p.dead || p.notices[lane] != nil || ctx.Err() != nil })
	have := p.notices[lane]
	if p.dead || have == nil {
		return nil, false
	}
	delete(p.notices, lane)
	if have.all {
		return nil, true
	}
	return have.ids, true
}

// clockPort is state.Clock, with the same virtual clock for all processes.
type clockPort struct{ p *process }

// Now implements state.Clock. Usually, no two readings are equal, so that their order is known, as
// with a clock of nanoseconds. In some seeds, the clock stands still until a port call takes time.
func (c clockPort) Now() time.Time {
	if !c.p.world.plan.still {
		c.p.world.sched.now++
	}
	return c.p.world.time()
}

// Sleep implements state.Clock.
func (c clockPort) Sleep(ctx context.Context, d time.Duration) error {
	if !c.p.dead {
		c.p.world.sched.pause(d)
	}
	if c.p.dead {
		return c.p.noMore(c.p.world.sched.cur, "Sleep")
	}
	return fault.Wrap(fault.Canceled, "wait", ctx.Err())
}

// secretsPort is state.Secrets.
type secretsPort struct{ p *process }

// Resolve implements state.Secrets.
func (s secretsPort) Resolve(
	ctx context.Context, ref resource.Secret,
) (value, version string, err error) {
	err = s.p.call(ctx, "Resolve", &s.p.world.plan.faults.secrets, func() error {
		value, version = secretOf(s.p.world, ref)
		return nil
	})
	if err != nil {
		return "", "", err
	}
	return value, version, nil
}

// betweenTries is how long the engine may report a failed connection attempt without another
// attempt, if the attempt took at most half of that time. An unreachable agent should cost only one
// wait.
const betweenTries = 15 * time.Second

// connectorPort is state.Connector.
type connectorPort struct{ p *process }

// Connect implements state.Connector.
func (c connectorPort) Connect(ctx context.Context, a resource.Agent) (transport any, err error) {
	tried := c.p.world.sched.cur.books
	began := c.p.world.time()
	tried.connects++
	err = c.p.call(ctx, "Connect", &c.p.world.plan.faults.connect, func() error {
		books := c.p.world.sched.cur.books
		if books.open++; books.open > 1 {
			c.p.world.violate("transport", "%s connects with %s and is connected",
				c.p.world.sched.cur.name, a.Name)
		}
		books.way = wayTo(a)
		delete(books.shelves, a.Name)
		transport = &connection{books: books}
		return nil
	})
	if err != nil {
		now := c.p.world.time()
		tried.spared = now.Add(max(betweenTries, 2*now.Sub(began)))
		return nil, err
	}
	return transport, nil
}

// connection is a connection to an agent.
type connection struct{ books *taskBooks }

// Close implements io.Closer.
func (c *connection) Close() error {
	c.books.open--
	return nil
}

// callerPort is state.Caller.
type callerPort struct{ p *process }

// Call implements state.Caller. Most calls run directly. The seed lets some hang: they become tasks
// of their own, are abandoned at the time limit, and may act later.
func (c *callerPort) Call(
	ctx context.Context, limit time.Duration, f func(ctx context.Context),
) error {
	r := c.p.world
	t := r.sched.cur
	if err := c.begin(t, limit); err != nil {
		return err
	}
	if !r.faulty || r.sched.rng.Float64() >= r.plan.faults.hang {
		err := guarded(func() { f(ctx) })
		if err != nil {
			t.books.unanswered()
		}
		return err
	}
	r.tracef("%s: a handler call hangs", t.name)
	r.happened("call hangs")
	var err error
	left := r.sched.spawn(c.p, t.name+", left behind",
		func(left *task) { err = guarded(func() { f(taskContext{left}) }) })
	left.books, left.hangs = t.books, true
	left.wake = r.sched.now + time.Duration(r.sched.rng.Int64N(int64(2*limit)))
	r.sched.await(limit, func() bool { return left.done || c.p.dead })
	return c.answer(t, left, limit, &err)
}

// guarded runs f and returns a panic as an error.
func guarded(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(runaway); ok {
				panic(p)
			}
			err = fault.New(fault.Internal, "call handler", "panic: %v\nstack of %v", p, p)
		}
	}()
	f()
	return nil
}

// time returns the virtual time.
func (r *run) time() time.Time { return r.epoch.Add(r.sched.now) }

func (r *run) tracef(format string, args ...any) {
	if r.sched.trace != nil {
		r.sched.trace("%s  %s", r.sched.stamp(), fmt.Sprintf(format, args...))
	}
}
