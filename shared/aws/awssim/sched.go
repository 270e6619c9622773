package awssim

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

// maxSteps is how much a run may do before it counts as not coming to an end.
const maxSteps = 30000

const forever = 1000 * time.Hour

// start is when runs begin.
var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// run is one run of a plan.
type run struct {
	plan   *Plan
	mutant *Mutant
	chance *rand.Rand // of the scheduler and the services
	names  *rand.Rand // of the port
	now    time.Time
	calm   bool // nothing fails any more

	services
	tasks
	record
	trace func(format string, args ...any)
}

// services are those of AWS that processes share.
type services struct {
	table   *Table
	objects *Objects
	logged  *logModel
	still   bool // a check reads: services answer whole and at once
}

// tasks are what the scheduler chooses from.
type tasks struct {
	procs []*process
	open  []*task
	cur   *task
	late  []lateEffect
	steps int
}

// record is what a run leaves for the witness, and for whoever asked for the run.
type record struct {
	log     []event
	ops     []*op
	made    int // ids of actions, entries and bodies so far
	crashes int
	failed  *Violation
	kinds   map[string]int // see happened
}

// process is one program with its own memory. When it crashes another takes its place.
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
	life  int // of the process when it began
	wake  time.Time
	rng   *rand.Rand
	op    *op
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// lateEffect is a request that is still under way although its sender gave up waiting.
type lateEffect struct {
	at time.Time
	do func()
}

// crashed ends a task whose process has crashed.
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

// pause lets others go on, for at least d.
func (r *run) pause(d time.Duration) {
	t := r.cur
	if t == nil {
		return // somebody looks from outside
	}
	t.wake = r.now.Add(d)
	if !t.yield(struct{}{}) || t.life != t.proc.life {
		panic(crashed{})
	}
}

// play runs tasks until none is left.
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

// pick chooses who goes on, and moves the clock when nobody can yet.
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

// land lets requests take effect that are late.
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

// crash ends a process with all its tasks, of which the current one may be one, and begins it anew.
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

// stopAll ends what is left.
func (r *run) stopAll() {
	for _, t := range r.open {
		r.cur = t
		t.stop()
	}
	r.cur, r.open = nil, nil
}

// open gives a process a state that knows nothing.
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

// each does things in any order.
func (r *run) each(n, _ int, f func(i int)) {
	for _, i := range r.chance.Perm(n) {
		f(i)
	}
}

// lock is a lock that lets others go on while it is held by another.
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

// Violation is what a check found.
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

// actionLogOf returns the log, or nil when there is none.
func actionLogOf(r *run) dynamo.Log {
	if !r.plan.logs {
		return nil
	}
	return r.logged
}
