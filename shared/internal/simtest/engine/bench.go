package engine

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"southbound/shared/deploy/state"
)

// Bench offers the building blocks of a simulation to packages above the engine: the scheduler, the
// clock, processes that crash, faults of calls, and the trace. It checks nothing itself.
type Bench struct {
	State *State
	Files *Files

	r *run
}

// Rates holds the rate of each kind of fault.
type Rates [kinds]float64

// DrawRates draws some kinds of faults, as for a seed of the engine.
func DrawRates(rng *rand.Rand) Rates { return drawFaults(rng) }

// Without returns the rates without the n-th kind. It returns false if the rate of that kind is
// zero, or if there is no such kind.
func (f Rates) Without(n int) (Rates, bool) {
	if n < 0 || n >= len(f) || f[n] == 0 {
		return f, false
	}
	f[n] = 0
	return f, true
}

// Kinds is the number of kinds of faults.
const Kinds = int(kinds)

// NewBench returns a bench. trace may be nil.
func NewBench(seed uint64, rates Rates, trace func(format string, args ...any)) *Bench {
	r := &run{
		plan:      &Plan{Seed: seed, rates: rates, faults: faultsOf(rates)},
		epoch:     time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		faulty:    true,
		tools:     &tools{},
		models:    models{state: NewState(), files: NewFiles()},
		processes: processes{dead: map[string]bool{}},
		books:     newBooks(), kinds: map[string]int{},
	}
	r.sched = &scheduler{
		coroutines: &r.coroutines,
		rng:        rand.New(rand.NewPCG(seed, 0x5eed)),
		over:       func() bool { return r.violation != nil },
		trace:      trace,
	}
	r.files.Now = r.time
	return &Bench{State: r.state, Files: r.files, r: r}
}

// KnowDead lets the state know which holders of leases belong to crashed processes.
func (b *Bench) KnowDead() {
	b.State.Dead = func(holder string) bool {
		name, _, _ := strings.Cut(holder, "#")
		return b.r.dead[name]
	}
}

// Rand returns the source of all random decisions.
func (b *Bench) Rand() *rand.Rand { return b.r.sched.rng }

// Now returns the virtual time since the start of the run.
func (b *Bench) Now() time.Duration { return b.r.sched.now }

// Time returns the virtual time as a time of day.
func (b *Bench) Time() time.Time { return b.r.time() }

// Tracef writes a line of the trace.
func (b *Bench) Tracef(format string, args ...any) { b.r.tracef(format, args...) }

// Traced reports whether there is a trace.
func (b *Bench) Traced() bool { return b.r.sched.trace != nil }

// Violate records the first violation, which ends the run.
func (b *Bench) Violate(check, format string, args ...any) { b.r.violate(check, format, args...) }

// Violation returns the violation, or nil if there is none.
func (b *Bench) Violation() *Violation { return b.r.violation }

// Heal ends all faults.
func (b *Bench) Heal() { b.r.faulty, b.r.healed = false, b.r.sched.now }

// Faulty reports whether faults are injected.
func (b *Bench) Faulty() bool { return b.r.faulty }

// At schedules a function for a time, outside any process.
func (b *Bench) At(at time.Duration, what func()) { b.r.sched.at(at, what) }

// Run continues the simulation until a time, or until no work is left. If the run does not
// terminate, Run reports the violation "end".
func (b *Bench) Run(until time.Duration) {
	if !b.r.sched.run(until) {
		b.r.violate("end", "the run does not come to an end: %d steps and it goes on",
			b.r.sched.steps)
	}
}

// Close ends the remaining tasks of a run and frees its memory.
func (b *Bench) Close() {
	b.r.ended = true
	for _, t := range b.r.sched.tasks {
		t.proc.dead = true
	}
	b.r.sched.close()
	b.r.sched.coroutines.close()
}

// Calling returns the process and the name of the running task.
func (b *Bench) Calling() (*Process, string) {
	t := b.r.sched.cur
	return t.proc.lent, t.name
}

// Lost draws the fate of a message: one delay for each copy that arrives.
func (b *Bench) Lost() []time.Duration {
	r, copies := b.r, 1
	if f := &r.plan.faults; r.faulty {
		switch x := r.sched.rng.Float64(); {
		case x < f.lost:
			copies = 0
		case x < f.lost+f.doubled:
			copies = 2
		}
	}
	out := make([]time.Duration, copies)
	for i := range out {
		out[i] = time.Duration(r.sched.rng.Int64N(int64(5 * time.Millisecond)))
		if r.faulty && r.sched.rng.Float64() < r.plan.faults.late {
			out[i] = time.Duration(r.sched.rng.Int64N(int64(30 * time.Second)))
		}
	}
	return out
}

// Refused draws whether a handler refuses a call.
func (b *Bench) Refused() bool {
	return b.r.faulty && b.r.sched.rng.Float64() < b.r.plan.faults.refuses
}

// Process is a process of a bench. It is never used again after it has crashed.
type Process struct {
	bench *Bench
	p     *process
}

// Start starts a process.
func (b *Bench) Start(holder string) *Process {
	b.r.started++
	out := &Process{bench: b}
	out.p = &process{
		world: b.r, number: b.r.started, holder: holder,
		notices: map[string]*unanswered{}, lent: out,
	}
	return out
}

// Dead reports whether the process has crashed.
func (p *Process) Dead() bool { return p.p.dead }

// Crash ends the process: its tasks end at their next call of a port.
func (p *Process) Crash(where string) { p.bench.r.crash(p.p, where) }

// Go starts a task of the process.
func (p *Process) Go(name string, f func(ctx context.Context)) {
	p.bench.r.sched.spawn(p.p, p.p.holder+" "+name, func(t *task) { f(taskContext{t}) })
}

// Call performs a port call by the running task. It takes virtual time, in which other tasks run,
// and it may fail. The function effect does the work.
func (p *Process) Call(ctx context.Context, op string, effect func() error) error {
	return p.p.call(ctx, op, &p.bench.r.plan.faults.state, effect)
}

// State returns the state port of the process.
func (p *Process) State(to state.State) state.State { return &statePort{p.p, to} }

// Files returns the files port of the process.
func (p *Process) Files(to state.Files) state.Files { return &filesPort{p.p, to} }

// Clock returns the clock of the process.
func (p *Process) Clock() state.Clock { return clockPort{p.p} }

// Caller returns the port through which the process calls handlers.
func (p *Process) Caller() state.Caller { return &callerPort{p.p} }

// Connector returns the port through which the process connects to agents.
func (p *Process) Connector() state.Connector { return connectorPort{p.p} }
