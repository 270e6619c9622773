package engine

import (
	"context"
	"strconv"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// process is one process that runs the engine. It is never used again after it has crashed.
type process struct {
	world   *run
	number  int
	holder  string
	engine  *deploy.Engine
	dead    bool
	notices map[string]*unanswered // for which tasks of this process may wait
	batch   *batch                 // current batch, in the home with functions
	lent    *Process               // its form outside the package; see Bench
}

// unanswered holds the notices of a lane that were delivered and not answered.
type unanswered struct {
	all bool
	ids []resource.ID
}

// newProcess starts a process.
func (r *run) newProcess() *process {
	r.started++
	p := &process{world: r, number: r.started, holder: "p" + strconv.Itoa(r.started),
		notices: map[string]*unanswered{}}
	c := deploy.Config{
		State: &statePort{p: p, to: r.recorder}, Files: &filesPort{p: p,
			to: r.recorder}, Notifier: &notifierPort{p}, Clock: clockPort{p},
		Caller:  &callerPort{p},
		Secrets: secretsPort{p}, Sealer: sealer{}, Connector: connectorPort{p}, Types: r.types, Handlers: r.handlers,
		Pack: "sim", Holder: p.holder, NewMonitor: p.newMonitor,
		NewID: r.newID, Jitter: r.sched.rng.Float64, Sizes: r.plan.sizes,
	}
	if r.plan.renews {
		c.Caller = &renewingPort{callerPort{p}}
	}
	if r.plan.Await {
		c.Await = (&notifierPort{p}).await
	}
	if r.mutant.Config != nil {
		r.mutant.Config(&c, r.state)
	}
	p.engine = deploy.New(c)
	return p
}

// newID returns increasing ids.
func (r *run) newID() string {
	r.ids++
	return "i" + strconv.Itoa(100000000+r.ids)
}

// fate is the outcome of a call.
type fate int

const (
	fine fate = iota
	failedBefore
	failedAfter
	crashBefore
	crashAfter
)

// call performs a port call: it takes virtual time, in which other tasks run, and it may fail. The
// function effect does the work.
func (p *process) call(ctx context.Context, op string, f *faultRates, effect func() error) error {
	r := p.world
	t := r.sched.cur
	if p.dead {
		return p.noMore(t, op)
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.Canceled, op, ctx.Err())
	}
	how, slow := r.fate(f)
	if r.plan.hasty && !r.plan.instant && r.faulty && op == "Commit" && t.books.lane != "" {
		// leaves time for other tasks
		slow += time.Duration(r.sched.rng.Int64N(int64(60 * time.Millisecond)))
	}
	if slow > time.Second {
		r.happened("slow call")
		t.slows++
	}
	r.sched.pause(slow)
	switch {
	case p.dead:
		return p.noMore(t, op)
	case how == failedBefore:
		t.fault(op)
		r.happened("failed before")
		r.tracef("%s %s: failed before", t.name, op)
		return unavailable(op)
	case how == crashBefore:
		r.crash(p, op+", before it took effect")
		return p.noMore(t, op)
	}
	err := effect()
	if r.sched.trace != nil && err != nil {
		r.tracef("%s %s: %v", t.name, op, err)
	}
	switch {
	case how == failedAfter && err == nil:
		t.fault(op)
		r.happened("failed after")
		r.tracef("%s %s: failed after it took effect", t.name, op)
		return unavailable(op)
	case how == crashAfter:
		r.crash(p, op+", after it took effect")
		return p.noMore(t, op)
	}
	return err
}

// fault records that a call fails.
func (t *task) fault(op string) {
	if t.faults++; op == "Commit" {
		t.lost++
	}
}

// noMore returns the error of a call by a crashed process.
func (p *process) noMore(t *task, op string) error {
	if t.after++; t.after > maxCanceled {
		panic(runaway{})
	}
	return canceled(op)
}

// fate draws the outcome and the duration of a call.
func (r *run) fate(f *faultRates) (fate, time.Duration) {
	slow := time.Duration(0)
	x := r.sched.rng.Uint64()
	if x&3 == 0 && !r.plan.instant { // only a quarter of the calls takes time
		slow = time.Duration(x>>2&4095) * time.Microsecond
	}
	if !r.faulty {
		return fine, slow
	}
	x = r.sched.rng.Uint64N(1 << 20)
	switch {
	case x < f.stall:
		return fine, time.Duration(r.sched.rng.Int64N(int64(150 * time.Second)))
	case x < f.slow:
		return fine, time.Duration(r.sched.rng.Int64N(int64(3 * time.Second)))
	case x < f.before:
		return failedBefore, slow
	case x < f.after:
		return failedAfter, slow
	case x < f.crash:
		if r.sched.rng.Uint64()&1 == 0 {
			return crashBefore, slow
		}
		return crashAfter, slow
	}
	return fine, slow
}

// crash ends a process and loses its uncommitted state.
func (r *run) crash(p *process, where string) {
	if p.dead {
		return
	}
	p.dead, r.dead[p.holder] = true, true
	r.tracef("%s crashes in %s", p.holder, where)
	r.happened("crash")
	for i, o := range r.procs {
		if o == p {
			r.procs[i] = nil
			back := time.Duration(r.sched.rng.Int64N(int64(5 * time.Second)))
			if !r.faulty {
				back = 0
			}
			r.sched.at(r.sched.now+back, func() {
				if r.procs[i] != nil {
					return // it was replaced when the faults ended
				}
				r.procs[i] = r.newProcess()
				r.tracef("%s starts", r.procs[i].holder)
				pollAll(r)
			})
		}
	}
	// The other tasks of the process end now. The running task ends when its call returns.
	r.sched.drain(p)
}

// taskContext is the context of a task: it ends when its process crashes or its caller cancels.
type taskContext struct{ t *task }

// Deadline implements context.Context.
func (taskContext) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements context.Context. It returns nil, since no simulated code waits for it.
func (taskContext) Done() <-chan struct{} { return nil }

// Value implements context.Context.
func (taskContext) Value(any) any { return nil }

// Err implements context.Context.
func (c taskContext) Err() error {
	if c.t.canceled || c.t.proc.dead {
		return context.Canceled
	}
	return nil
}
