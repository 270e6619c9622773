package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// run is one run of a plan: processes with engines, between models of their environment. The
// functions that execute the plan and those that check it are grouped by purpose, one file for each
// purpose.
type run struct {
	plan   *Plan
	mutant Mutant
	sched  *scheduler
	epoch  time.Time
	faulty bool // faults are injected
	ended  bool

	*tools
	models
	processes
	progress
	counters
	handlers map[string]provider.Handler

	books     *books         // the records of the checks
	kinds     map[string]int // number of events of each kind
	violation *Violation
}

// models represent the environment of the engine behind its ports and handlers.
type models struct {
	state         *State
	files         *Files
	recorder      *recorder
	world         *world
	secretVersion string
	texts         map[string]string // texts of files, by hash
}

// processes are the processes of the engine, and the messages for them.
type processes struct {
	procs     []*process // nil: crashed, and not restarted yet
	dead      map[string]bool
	queues    map[string]*fifo // by agent, in the home with functions
	busyLanes map[string]bool  // were busy and will be notified again
}

// progress records the order of events, for the checks.
type progress struct {
	did       []bool                        // executed operations of the plan
	moves     int                           // number of commits and rotated secrets
	stamp     int                           // number of events so far
	waved     int                           // stamp of the last check of everything
	asked     map[resource.ID]int           // stamps of the last requests
	changedAt map[resource.ID]int           // stamps of the last changes of objects
	recorded  map[resource.ID]time.Duration // times of the last recorded runs
	healed    time.Duration                 // time at which faults ended
	jumped    time.Duration                 // time of the last jump of the clock
}

// counters number objects, processes and messages, so that repeated runs use the same names.
type counters struct {
	serial                int64 // of the last created copy
	started, ids, numbers int
	sent                  int // messages
}

// Violation is an invariant that did not hold.
type Violation struct {
	Check string // name of the invariant in the architecture, or of another check
	What  string
	At    time.Duration // since the start of the run
}

func (v *Violation) String() string { return fmt.Sprintf("%s at %s: %s", v.Check, v.At, v.What) }

// tools are shared by consecutive runs. Concurrent runs must not share them.
type tools struct {
	types      *schema.Registry
	unpack     *zstd.Decoder
	coroutines coroutines
}

func newTools() (*tools, error) {
	types, err := newTypes()
	if err != nil {
		return nil, err
	}
	unpack, err := newUnpacker()
	if err != nil {
		return nil, err
	}
	return &tools{types: types, unpack: unpack}, nil
}

func (u *tools) close() {
	u.coroutines.close()
	u.unpack.Close()
}

// newRun prepares a run.
func newRun(u *tools, p *Plan, m Mutant, trace func(format string, args ...any)) *run {
	r := &run{
		plan: p, mutant: m, epoch: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), faulty: true,
		tools: u,
		models: models{
			state: NewState(), files: NewFiles(),
			world:         &world{things: map[resource.ID]*thing{}},
			secretVersion: "1", texts: map[string]string{},
		},
		processes: processes{
			busyLanes: map[string]bool{}, dead: map[string]bool{}, queues: map[string]*fifo{},
		},
		progress: progress{
			recorded: map[resource.ID]time.Duration{},
			asked:    map[resource.ID]int{}, changedAt: map[resource.ID]int{},
		},
		books: newBooks(), kinds: map[string]int{},
	}
	r.sched = &scheduler{
		coroutines: &u.coroutines,
		rng:        rand.New(rand.NewPCG(p.Seed, 0x5eed)),
		over:       func() bool { return r.violation != nil },
		trace:      trace,
	}
	r.recorder = &recorder{State: r.state, Files: r.files, r: r}
	r.handlers = newHandlers(r)
	r.files.Now = r.time
	if p.Dead {
		r.state.Dead = func(holder string) bool {
			name, _, _ := strings.Cut(holder, "#")
			return r.dead[name]
		}
	}
	for range p.Procs {
		r.procs = append(r.procs, nil)
	}
	for i := range r.procs {
		r.procs[i] = r.newProcess()
	}
	return r
}

// violate records the first violation, which ends the run.
func (r *run) violate(check, format string, args ...any) {
	if r.violation != nil || r.ended {
		return
	}
	r.violation = &Violation{Check: check, What: fmt.Sprintf(format, args...), At: r.sched.now}
	r.tracef("VIOLATION %s: %s", check, r.violation.What)
}

// task starts a call of an entry point of the engine in a process.
func (r *run) task(p *process, name string, f func(t *task) error) *task {
	return r.sched.spawn(p, p.holder+" "+name, func(t *task) {
		err := f(t)
		checkGivenBack(r, t)
		if err != nil {
			r.tracef("%s ends: %v", t.name, err)
			checkError(r, t, err)
		}
	})
}

// checkGivenBack checks that a call without faults and without cancellation holds no lease when it
// ends, since other tasks would wait for the lease.
func checkGivenBack(r *run, t *task) {
	for key, have := range r.books.leases {
		if have.by == t.books.worker && !have.freed && t.faults == 0 && !t.canceled && !t.proc.dead {
			r.violate("D2", "%s ends and keeps %q", t.name, key)
		}
	}
}

// checkError checks that a fault of this run explains the failure of a call.
func checkError(r *run, t *task, err error) {
	var problems diag.Problems
	if t.proc.dead || errors.As(err, &problems) {
		return
	}
	switch kind := fault.KindOf(err); kind {
	case fault.Unavailable, fault.Canceled, fault.Fenced, fault.Conflict, fault.Busy, fault.Timeout:
		if !r.faulty && t.faults == 0 && t.began >= r.healed {
			r.violate("errors", "%s fails though nothing is wrong any more: %v", t.name, err)
		}
	case fault.NotFound:
		if t.began > r.books.removed { // otherwise its data may have been collected
			r.violate("errors", "%s lacks what nobody has removed: %v", t.name, err)
		}
	default:
		r.violate("errors", "%s fails in a way that no fault explains (%s): %v", t.name, kind, err)
	}
}

// process returns a running process, or nil.
func (r *run) process() *process {
	at := r.sched.rng.IntN(len(r.procs))
	for i := range r.procs {
		if p := r.procs[(at+i)%len(r.procs)]; p != nil {
			return p
		}
	}
	return nil
}

// all executes the plan, ends the faults, and checks the final state.
func (r *run) all() *Violation {
	defer r.close()
	r.did = make([]bool, len(r.plan.Ops))
	for i, op := range r.plan.Ops {
		r.sched.at(op.At, func() { performOnce(r, i) })
	}
	r.sched.at(r.plan.End, func() {})
	if !r.sched.run(r.plan.End) {
		r.violate("D4", "the run does not come to an end: %d steps and it goes on", maxSteps)
	}
	checkRest(r)
	return r.violation
}

// close ends the remaining tasks of a run and frees its memory.
func (r *run) close() {
	r.ended = true
	for _, t := range r.sched.tasks {
		t.proc.dead = true
	}
	r.sched.close()
}
