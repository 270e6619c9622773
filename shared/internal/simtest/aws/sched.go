package aws

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"southbound/shared/aws/dynamo"
)

// maxSteps is the number of steps after which a run counts as endless.
const maxSteps = 30000

const forever = 1000 * time.Hour

// start is the time at which runs begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run is one run of a plan.
type run struct {
	plan   *Plan
	mutant *Mutant
	chance *rand.Rand // randomness of the scheduler and the services
	names  *rand.Rand // randomness of the port
	now    time.Time
	calm   bool // no faults are injected

	services
	tasks
	record
	trace func(format string, args ...any)
}

// services are the AWS services that processes share.
type services struct {
	table   *Table
	objects *Objects
	logged  *logModel
	still   bool // a check is reading: services respond completely and without delay
}

// tasks holds the tasks from which the scheduler chooses.
type tasks struct {
	procs []*process
	open  []*task
	cur   *task
	late  []lateEffect
	steps int
}

// record is the output of a run, for the witness and for the caller.
type record struct {
	log     []event
	ops     []*op
	made    int // number of ids of actions, entries and bodies so far
	crashes int
	failed  *Violation
	kinds   map[string]int // see happened
}

// process is a program with its own memory. After a crash a new life of the process begins.
type process struct {
	r     *run
	index int
	life  int
	state *dynamo.State
}

// task is one actor, as a coroutine.
type task struct {
	name  string
	proc  *process
	life  int // life of the process when the task began
	wake  time.Time
	rng   *rand.Rand
	op    *op
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// lateEffect is a request that is still in transit although its sender has given up.
type lateEffect struct {
	at time.Time
	do func()
}

// crashed is the panic value that ends a task whose process has crashed.
type crashed struct{}

func (r *run) spawn(name string, p *process, chance *rand.Rand, f func(t *task)) {
	t := &task{name: name, proc: p, life: p.life, wake: r.now, rng: chance}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			switch e := recover().(type) {
			case nil, crashed:
			default:
				r.violate("panic", "%s: %v\n%s", t.name, e, debug.Stack())
			}
		}()
		f(t)
	})
	r.open = append(r.open, t)
}

// pause yields to other tasks, for at least d.
func (r *run) pause(d time.Duration) {
	t := r.cur
	if t == nil {
		return // called outside of a task
	}
	t.wake = r.now.Add(d)
	if !t.yield(struct{}{}) || t.life != t.proc.life {
		panic(crashed{})
	}
}

// play runs tasks until all have ended.
func (r *run) play() {
	var last *task
	for len(r.open) > 0 && r.failed == nil {
		if r.steps++; r.steps > maxSteps {
			r.violate("end", "no end after %d steps", maxSteps)
			return
		}
		r.now = r.now.Add(time.Duration(r.chance.Int64N(int64(r.plan.pace))))
		r.land(r.now)
		t := r.pick(last)
		last = t
		r.resume(t)
	}
}

// pick chooses the next task. If no task is ready, it advances the clock.
func (r *run) pick(last *task) *task {
	ready := 0
	first := r.open[0]
	for _, t := range r.open {
		if !t.wake.After(r.now) {
			if t == last && r.chance.IntN(100) < r.plan.sticky {
				return t
			}
			ready++
		}
		if t.wake.Before(first.wake) {
			first = t
		}
	}
	if ready == 0 {
		r.now = first.wake
		r.land(r.now)
		return first
	}
	n := r.chance.IntN(ready)
	for _, t := range r.open {
		if !t.wake.After(r.now) {
			if n == 0 {
				return t
			}
			n--
		}
	}
	return first
}

// land executes the late requests that are due.
func (r *run) land(until time.Time) {
	kept := r.late[:0]
	var due []lateEffect
	for _, l := range r.late {
		if l.at.After(until) {
			kept = append(kept, l)
		} else {
			due = append(due, l)
		}
	}
	r.late = kept
	for _, l := range due {
		l.do()
	}
}

func (r *run) resume(t *task) {
	r.cur = t
	_, more := t.next()
	r.cur = nil
	if !more {
		r.remove(t)
	}
}

func (r *run) remove(t *task) {
	for i, o := range r.open {
		if o == t {
			r.open = append(r.open[:i], r.open[i+1:]...)
			return
		}
	}
}

// crash ends a process with all its tasks, possibly including the current one, and starts the
// process again.
func (r *run) crash(p *process) {
	r.crashes++
	r.say("process %d crashes", p.index)
	p.life++
	p.open()
	cur := r.cur
	var dead []*task
	for _, t := range r.open {
		if t.proc == p && t != cur {
			dead = append(dead, t)
		}
	}
	for _, t := range dead {
		t.op.cut(len(r.log))
		r.cur = t
		t.stop()
		r.remove(t)
	}
	r.cur = cur
	if cur != nil && cur.proc == p {
		cur.op.cut(len(r.log))
		panic(crashed{})
	}
}

// stopAll ends all remaining tasks.
func (r *run) stopAll() {
	for _, t := range r.open {
		r.cur = t
		t.stop()
	}
	r.cur, r.open = nil, nil
}

// open gives a process a state with an empty cache.
func (p *process) open() {
	limits := p.r.plan.limits
	s, err := dynamo.New(dynamo.Config{API: mutate(p.r, &client{p.r}), Table: p.r.table.Name,
		Log: actionLogOf(p.r), Objects: mutateObjects(p.r,
			&bucketClient{p.r}), CacheBytes: p.r.plan.cache,
		Host: dynamo.Host{
			Sleep:  func(_ context.Context, d time.Duration) error { p.r.pause(d); return nil },
			Now:    func() time.Time { return p.r.now },
			Random: p.r.names.Uint64, Each: p.r.each,
			Lock: func() sync.Locker { return &lock{r: p.r} }, Plain: true, Limits: &limits,
		}})
	if err != nil {
		p.r.violate("open", "%v", err)
	}
	p.state = s
}

// each calls f in random order.
func (r *run) each(n, _ int, f func(i int)) {
	for _, i := range r.chance.Perm(n) {
		f(i)
	}
}

// lock is a lock that yields to other tasks while it waits.
type lock struct {
	r       *run
	held    bool
	waiting []*task
}

func (l *lock) Lock() {
	for l.held {
		l.waiting = append(l.waiting, l.r.cur)
		l.r.pause(forever)
	}
	l.held = true
}

func (l *lock) Unlock() {
	l.held = false
	for _, t := range l.waiting {
		t.wake = l.r.now
	}
	l.waiting = nil
}

// Violation is a failed check.
type Violation struct {
	Check   string
	Message string
}

func (v *Violation) String() string { return v.Check + ": " + v.Message }

func (r *run) violate(check, format string, args ...any) {
	if r.failed == nil {
		r.failed = &Violation{check, fmt.Sprintf(format, args...)}
		r.say("VIOLATION %s", r.failed)
	}
}

func (r *run) say(format string, args ...any) {
	if r.trace != nil {
		who := "-"
		if r.cur != nil {
			who = r.cur.name
		}
		r.trace("%5d %9s %-14s %s", len(r.log), r.now.Sub(start).Round(time.Millisecond), who,
			fmt.Sprintf(format, args...))
	}
}

// actionLogOf returns the log, or nil if the plan has none.
func actionLogOf(r *run) dynamo.Log {
	if !r.plan.logs {
		return nil
	}
	return r.logged
}
