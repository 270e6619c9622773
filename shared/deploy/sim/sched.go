package sim

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"southbound/shared/fault"
)

// How much one seed may do before it counts as not coming to an end.
const (
	maxSteps    = 200_000
	maxCalls    = 400000
	maxCanceled = 20000 // calls of a task after its process has crashed
	forever     = time.Duration(1<<62 - 1)
)

// scheduler runs tasks one at a time in virtual time. Times are durations since the start of the
// run.
type scheduler struct {
	coroutines *coroutines
	rng        *rand.Rand
	now        time.Duration
	tasks      []*task
	events     []event // what is to happen outside tasks: operations, deliveries, restarts
	seq        int
	cur        *task
	steps      int
	calls      int
	over       func() bool // true: a violation was found, stop
	trace      func(format string, args ...any)
}

// event is something that happens at a time.
type event struct {
	at   time.Duration
	seq  int
	what func()
}

// task is one call of an entry point of the engine, as a coroutine.
type task struct {
	name     string
	proc     *process
	wake     time.Duration
	awaiting func() bool // when not nil: goes on before wake, too, as soon as this is true
	began    time.Duration
	hangs    bool // it is a handler call that has hung since it began
	in       *coroutine
	over     bool // the run is over: it goes on to its end
	started  bool // it has run
	canceled bool // its caller gave up (a person pressed Ctrl-C)
	done     bool
	met
	books *taskBooks
}

// met counts what a task has met.
type met struct {
	after  int // calls since its process has crashed
	faults int
	slows  int // calls that took long
	lost   int // commits that failed
}

// at plans an event.
func (s *scheduler) at(at time.Duration, what func()) {
	s.seq++
	s.events = append(s.events, event{at: max(at, s.now), seq: s.seq, what: what})
}

// spawn starts a task; it first runs when the scheduler picks it.
func (s *scheduler) spawn(p *process, name string, f func(t *task)) *task {
	t := &task{name: name, proc: p, wake: s.now, began: s.now, books: newTaskBooks()}
	t.in = s.coroutines.start(func() {
		f(t)
		t.done = true
	})
	s.tasks = append(s.tasks, t)
	return t
}

// pause hands control back for at least d; it is called by the task that runs.
func (s *scheduler) pause(d time.Duration) {
	t := s.cur
	t.wake = s.now + d
	if s.calls++; s.calls <= maxCalls && s.alone(t) {
		s.now = max(s.now, t.wake)
		return
	}
	t.yield()
}

// yield lets others go on.
func (t *task) yield() {
	if !t.over {
		t.in.yield(struct{}{})
	}
}

// await hands control back until ready returns true, at most d.
func (s *scheduler) await(d time.Duration, ready func() bool) {
	t := s.cur
	t.wake, t.awaiting = s.now+d, ready
	t.yield()
	t.awaiting = nil
}

// alone reports whether nothing else can happen before t wakes.
func (s *scheduler) alone(t *task) bool {
	for _, o := range s.tasks {
		if o != t && (o.wake <= t.wake || o.awaiting != nil && o.awaiting()) {
			return false
		}
	}
	for i := range s.events {
		if s.events[i].at <= t.wake {
			return false
		}
	}
	return true
}

// run goes on until nothing is left to do before a time, or a violation was found. It returns false
// when the run does not come to an end.
func (s *scheduler) run(until time.Duration) bool {
	for !s.over() {
		if s.steps++; s.steps > maxSteps || s.calls > maxCalls {
			return false
		}
		if !s.step(until) {
			break
		}
	}
	return true
}

// step does one thing that is possible now, or moves the clock to when one is. It returns false
// when there is none before until.
func (s *scheduler) step(until time.Duration) bool {
	ready, first := 0, forever
	for _, t := range s.tasks {
		if t.wake <= s.now || t.awaiting != nil && t.awaiting() {
			ready++
		}
		first = min(first, t.wake)
	}
	for i := range s.events {
		if s.events[i].at <= s.now {
			ready++
		}
		first = min(first, s.events[i].at)
	}
	if ready == 0 {
		if first > until || first == forever {
			return false
		}
		s.now = max(s.now, first)
		return true
	}
	pick := 0
	if ready > 1 {
		pick = s.rng.IntN(ready)
	}
	for _, t := range s.tasks {
		if t.wake <= s.now || t.awaiting != nil && t.awaiting() {
			if pick == 0 {
				s.resume(t)
				return true
			}
			pick--
		}
	}
	for i := range s.events {
		if s.events[i].at <= s.now {
			if pick == 0 {
				what := s.events[i].what
				s.events = append(s.events[:i], s.events[i+1:]...)
				what()
				return true
			}
			pick--
		}
	}
	return true
}

// runaway is the panic that ends a task which does not notice that its process has crashed.
type runaway struct{}

// resume runs a task until its next port call. What it panics with becomes a violation.
func (s *scheduler) resume(t *task) {
	before := s.cur
	s.cur = t
	defer func() {
		s.cur = before
		if r := recover(); r != nil {
			t.done = true
			s.remove(t)
			if _, ok := r.(runaway); ok {
				t.proc.world.violate("D4",
					"%s goes on after its process has crashed: %d calls and no end", t.name,
					maxCanceled)
				return
			}
			t.proc.world.violate("panic", "%s panicked: %v\n%s", t.name, r, debug.Stack())
		}
	}()
	t.started = true
	if t.in.next(); t.done {
		s.remove(t)
		s.coroutines.ended(t.in)
	}
}

func (s *scheduler) remove(t *task) {
	for i, o := range s.tasks {
		if o == t {
			s.tasks = append(s.tasks[:i], s.tasks[i+1:]...)
			return
		}
	}
}

// close ends the tasks that are left; their processes are dead, so each runs out.
func (s *scheduler) close() {
	s.events = nil
	for _, t := range s.tasks {
		s.end(t)
	}
	s.tasks = nil
}

func (s *scheduler) end(t *task) {
	s.cur = t
	defer func() { _ = recover() }() // the run is over: what its rests do is of no interest
	if t.started {
		t.over = true
		t.in.next()
	}
	if t.done || !t.started {
		s.coroutines.ended(t.in)
	}
}

// drain lets the tasks of a crashed process run out: every call of theirs fails at once, so each
// ends the next time it runs.
func (s *scheduler) drain(p *process) {
	for again := true; again; {
		again = false
		for _, t := range s.tasks {
			if t.proc == p && t != s.cur {
				s.resume(t)
				again = true
				break
			}
		}
	}
}

// stamp returns the virtual time for traces.
func (s *scheduler) stamp() string { return fmt.Sprintf("%12s", s.now.Round(time.Microsecond)) }

func canceled(op string) error {
	return fault.New(fault.Canceled, op, "the process has crashed")
}

func unavailable(op string) error {
	return fault.New(fault.Unavailable, op, "a fault of the simulation")
}
