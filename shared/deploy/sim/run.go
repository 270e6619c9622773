package sim

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

// run is one run of a plan: processes with the engine in them, among models of all that is around
// them. What carries out the plan and what checks are functions over it, in a file for each of
// their purposes.
type run struct {
	plan   *Plan
	mutant Mutant
	sched  *scheduler
	epoch  time.Time
	faulty bool // faults happen
	ended  bool

	*tools
	models
	processes
	progress
	counters
	handlers map[string]provider.Handler

	books     *books         // what the checks know
	kinds     map[string]int // how often something of each kind has come about
	violation *Violation
}

// models stand for what the engine reaches through its ports, and through handlers.
type models struct {
	state         *State
	files         *Files
	recorder      *recorder
	world         *world
	secretVersion string
	texts         map[string]string // of files, by their hashes
}

// processes are what the engine runs in, and what was lost of it.
type processes struct {
	procs     []*process // nil: crashed, and not yet back
	dead      map[string]bool
	queues    map[string]*fifo // by agent, in the home with functions
	busyLanes map[string]bool  // that were found busy and will be tried again
}

// progress says how far the run is, for checks of what came before what.
type progress struct {
	did       []bool                        // which operations of the plan were carried out
	moves     int                           // commits, and secrets that were rotated
	stamp     int                           // what happened so far
	waved     int                           // the stamp when everything was asked for last
	asked     map[resource.ID]int           // when these were asked for, in stamps
	changedAt map[resource.ID]int           // when things were changed, in stamps
	recorded  map[resource.ID]time.Duration // when a run of it was recorded last
	healed    time.Duration                 // when faults ended
	jumped    time.Duration                 // when the clock jumped last
}

// counters name things, so that each run names them in the same way.
type counters struct {
	serial       int64 // of the last copy that was made
	started, ids int
	sent         int // messages
}

// Violation is an invariant that did not hold.
type Violation struct {
	Check string // the name of the invariant, as in the architecture, or of a check beside them
	What  string
	At    time.Duration // since the start of the run
}

func (v *Violation) String() string { return fmt.Sprintf("%s at %s: %s", v.Check, v.At, v.What) }

// tools are what runs that follow each other share. No two use the same ones at a time.
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

// violate notes the first violation, which ends the run.
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

// checkGivenBack checks that a call that has met no fault, and that nobody has told to stop, holds
// no lease when it ends: others would wait for it.
func checkGivenBack(r *run, t *task) {
	for key, have := range r.books.leases {
		if have.by == t.books && !have.freed && t.faults == 0 && !t.canceled && !t.proc.dead {
			r.violate("D2", "%s ends and keeps %q", t.name, key)
		}
	}
}

// checkError checks that a call failed for a reason that a fault of this run explains.
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
		if t.began > r.books.removed { // else what it was about to read may have been collected
			r.violate("errors", "%s lacks what nobody has removed: %v", t.name, err)
		}
	default:
		r.violate("errors", "%s fails in a way that no fault explains (%s): %v", t.name, kind, err)
	}
}

// process returns a process that runs, or nil.
func (r *run) process() *process {
	at := r.sched.rng.IntN(len(r.procs))
	for i := range r.procs {
		if p := r.procs[(at+i)%len(r.procs)]; p != nil {
			return p
		}
	}
	return nil
}

// all does everything: the plan, the healing, the checks of what is left.
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

// close ends what is left of a run, so that nothing of it stays in memory.
func (r *run) close() {
	r.ended = true
	for _, t := range r.sched.tasks {
		t.proc.dead = true
	}
	r.sched.close()
}
