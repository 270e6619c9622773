package sim

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"southbound/shared/deploy/state"
)

// Bench lends what a simulation is made of to one of what stands above the engine: the scheduler,
// the clock, processes that crash, faults of calls, and the trace. It checks nothing itself.
type Bench struct {
	State *State
	Files *Files

	r *run
}

// Rates say how often calls fail in which way.
type Rates [kinds]float64

// DrawRates chooses some kinds of faults, as for a seed of the engine.
func DrawRates(rng *rand.Rand) Rates { return drawFaults(rng) }

// Without returns the rates without the n-th kind; false if it has none of it, or there is no such
// kind.
func (f Rates) Without(n int) (Rates, bool) {
	if n < 0 || n >= len(f) || f[n] == 0 {
		return f, false
	}
	f[n] = 0
	return f, true
}

// Kinds is how many kinds of faults there are.
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

// KnowDead has the state know of holders of leases when their processes have crashed.
func (b *Bench) KnowDead() {
	b.State.Dead = func(holder string) bool {
		name, _, _ := strings.Cut(holder, "#")
		return b.r.dead[name]
	}
}

// Rand returns what decides everything.
func (b *Bench) Rand() *rand.Rand { return b.r.sched.rng }

// Now returns how long the run takes already, in its own time.
func (b *Bench) Now() time.Duration { return b.r.sched.now }

// Time returns the time of the run.
func (b *Bench) Time() time.Time { return b.r.time() }

// Tracef writes a line of the trace.
func (b *Bench) Tracef(format string, args ...any) { b.r.tracef(format, args...) }

// Traced reports whether there is a trace.
func (b *Bench) Traced() bool { return b.r.sched.trace != nil }

// Violate notes the first violation, which ends the run.
func (b *Bench) Violate(check, format string, args ...any) { b.r.violate(check, format, args...) }

// Violation returns what was violated; nil: nothing.
func (b *Bench) Violation() *Violation { return b.r.violation }

// Heal ends all faults.
func (b *Bench) Heal() { b.r.faulty, b.r.healed = false, b.r.sched.now }

// Faulty reports whether there are faults.
func (b *Bench) Faulty() bool { return b.r.faulty }

// At has something done at a time, by nobody.
func (b *Bench) At(at time.Duration, what func()) { b.r.sched.at(at, what) }

// Run goes on until a time, or until nothing is left to do. It violates "end" if there is no end.
func (b *Bench) Run(until time.Duration) {
	if !b.r.sched.run(until) {
		b.r.violate("end", "the run does not come to an end: %d steps and it goes on",
			b.r.sched.steps)
	}
}

// Close ends what is left of a run, so that nothing of it stays in memory.
func (b *Bench) Close() {
	b.r.ended = true
	for _, t := range b.r.sched.tasks {
		t.proc.dead = true
	}
	b.r.sched.close()
	b.r.sched.coroutines.close()
}

// Calling returns the process and the name of the task that runs.
func (b *Bench) Calling() (*Process, string) {
	t := b.r.sched.cur
	return t.proc.lent, t.name
}

// Lost draws what becomes of a message: how many copies of it arrive, and when each does.
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

// Call is a call of a port by the task that runs: it takes time, in which others go on, and may
// fail. effect does the work.
func (p *Process) Call(ctx context.Context, op string, effect func() error) error {
	return p.p.call(ctx, op, &p.bench.r.plan.faults.state, effect)
}

// State returns a state as the process reaches it.
func (p *Process) State(to state.State) state.State { return &statePort{p.p, to} }

// Files returns files as the process reaches them.
func (p *Process) Files(to state.Files) state.Files { return &filesPort{p.p, to} }

// Clock returns the clock of the process.
func (p *Process) Clock() state.Clock { return clockPort{p.p} }

// Caller returns what calls handlers in the process.
func (p *Process) Caller() state.Caller { return &callerPort{p.p} }

// Connector returns what connects the process with agents.
func (p *Process) Connector() state.Connector { return connectorPort{p.p} }
