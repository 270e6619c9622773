package engine

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"southbound/shared/fault"
)

// The limits of one seed, beyond which it counts as not terminating.
const (
	maxSteps    = 200_000
	maxCalls    = 400000
	maxCanceled = 20000 // calls of a task after its process has crashed
	forever     = time.Duration(1<<62 - 1)
)

// scheduler runs one task at a time in virtual time. Times are durations since the start of the
// run.
type scheduler struct {
	coroutines *coroutines
	rng        *rand.Rand
	now        time.Duration
	tasks      []*task
	events     []event // pending events outside tasks: operations, deliveries, restarts
	seq        int
	cur        *task
	steps      int
	calls      int
	over       func() bool // returns true after a violation, which ends the run
	trace      func(format string, args ...any)
}

// event is a function scheduled for a time.
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
	awaiting func() bool // when not nil: the task also resumes once this returns true
	began    time.Duration
	hangs    bool  // a handler call that has hung since its start
	call     *task // its handler call, during which its lease is renewed
	in       *coroutine
	over     bool // the run has ended: the task runs to its end without yielding
	started  bool // has run
	canceled bool // cancelled by its caller (Ctrl-C)
	done     bool
	gaveUp   bool // a renewal of its lease has failed during its last call
	*met
	books *taskBooks
}

// met counts the faults that a task has met.
type met struct {
	after  int // calls after the crash of its process
	faults int
	slows  int // slow calls
	lost   int // failed commits
}

// at schedules an event.
func (s *scheduler) at(at time.Duration, what func()) {
	s.seq++
	s.events = append(s.events, event{at: max(at, s.now), seq: s.seq, what: what})
}

// spawn starts a task; it first runs when the scheduler picks it.
func (s *scheduler) spawn(p *process, name string, f func(t *task)) *task {
	t := &task{name: name, proc: p, wake: s.now, began: s.now, met: &met{}, books: newTaskBooks()}
	t.in = s.coroutines.start(func() {
		f(t)
		t.done = true
	})
	s.tasks = append(s.tasks, t)
	return t
}

// pause suspends the running task for at least d.
func (s *scheduler) pause(d time.Duration) {
	t := s.cur
	t.wake = s.now + d
	if s.calls++; s.calls <= maxCalls && s.alone(t) {
		s.now = max(s.now, t.wake)
		return
	}
	t.yield()
}

// yield returns control to the scheduler.
func (t *task) yield() {
	if !t.over {
		t.in.yield(struct{}{})
	}
}

// await suspends the running task until ready returns true, for at most d.
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

// run runs until no work is left before a time, or until a violation. It returns false if the run
// exceeds the limits.
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

// step performs one possible action, or advances the clock to the next one. It returns false if
// there is no action up to until.
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

// runaway is the panic that ends a task which does not react to the crash of its process.
type runaway struct{}

// resume runs a task until its next port call. A panic of the task becomes a violation.
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

// close runs the remaining tasks to their end; their processes are dead.
func (s *scheduler) close() {
	s.events = nil
	for _, t := range s.tasks {
		s.end(t)
	}
	s.tasks = nil
}

func (s *scheduler) end(t *task) {
	s.cur = t
	defer func() { _ = recover() }() // panics after the end of the run are ignored
	if t.started {
		t.over = true
		t.in.next()
	}
	if t.done || !t.started {
		s.coroutines.ended(t.in)
	}
}

// drain ends the tasks of a crashed process: every call fails immediately, so each task ends when
// it is resumed. A task ends after its handler call.
func (s *scheduler) drain(p *process) {
	for again := true; again; {
		again = false
		for _, t := range s.tasks {
			if t.proc == p && t != s.cur && (t.call == nil || t.call.done) {
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
