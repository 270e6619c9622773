package aws

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"southbound/shared/deploy/state"
)

// Result is the result of a run.
type Result struct {
	Violation  *Violation
	Operations int
	Requests   int // steps of the scheduler
	Forwards   int // commits that were rolled forward
	Crashes    int
	Kinds      map[string]int // how often each kind of event occurred
}

// Run runs a plan. The mutant and trace may be nil.
func Run(p *Plan, m *Mutant, trace func(format string, args ...any)) Result {
	// deterministic
	source := func(of uint64) *rand.Rand { return rand.New(rand.NewPCG(p.Seed<<8|of, p.Salt)) }
	r := &run{
		plan: p, mutant: m, chance: source(0), names: source(1), now: start, trace: trace,
		services: services{table: NewTable("t"), objects: NewObjects()},
		record:   record{kinds: map[string]int{}},
	}
	r.logged = &logModel{r, map[string]state.Action{}}
	r.table.Now, r.objects.Now = func() time.Time { return r.now },
		func() time.Time { return r.now }
	r.table.Page = func() int {
		if r.still {
			return 1 << 30
		}
		return 1 + r.chance.IntN(p.page)
	}
	r.table.Lag = func() int { return r.chance.IntN(20) }
	if m != nil && m.Table != nil {
		m.Table(r.table)
	}
	for _, x := range p.actors {
		for len(r.procs) <= x.process {
			proc := &process{r: r, index: len(r.procs)}
			proc.open()
			r.procs = append(r.procs, proc)
		}
	}
	playFirst(r)
	for i, x := range p.actors {
		// there are only a few actors
		r.begin(fmt.Sprintf("%s%d", x.role, i), r.procs[x.process], source(uint64(2+i)),
			func(a *actorState) { a.act(x) })
	}
	r.play()
	playLast(r, source(99))
	r.stopAll()
	if r.failed == nil {
		newWitness(r).check()
	}
	happenedInAll(r)
	res := Result{Violation: r.failed, Operations: len(r.ops), Requests: r.steps,
		Crashes: r.crashes, Kinds: r.kinds}
	for _, e := range r.log {
		if e.begins > 0 {
			res.Forwards++
		}
	}
	return res
}

func (r *run) begin(name string, p *process, chance *rand.Rand, f func(a *actorState)) {
	r.spawn(name, p, chance,
		func(t *task) { f(&actorState{dice: dice{r, t}, s: &deployState{r, t.proc}}) })
}

// playFirst creates the environment, so that most later operations find data.
func playFirst(r *run) {
	r.calm = true
	// deterministic
	r.begin("first", r.procs[0], rand.New(rand.NewPCG(r.plan.Seed, 7)), func(a *actorState) {
		a.plan(0)
		if r.plan.quiet {
			_, _ = a.s.rest(r.now.Add(time.Hour))
		}
	})
	r.play()
	r.calm = false
}

// playLast reads everything after all tasks have ended, in a process with an empty cache. The
// results, with the rest of the log, have to match the model.
func playLast(r *run, chance *rand.Rand) {
	if r.failed != nil {
		return
	}
	r.calm = true
	r.land(r.now.Add(24 * time.Hour))
	p := &process{r: r, index: 99}
	p.open()
	r.begin("last", p, chance, func(a *actorState) {
		_, _ = a.s.env()
		_, _ = a.s.scanRows("", 1000)
		_, _ = a.s.schedule()
		_, _ = a.s.leases()
		_, _ = a.s.counts()
		_, _ = a.s.due(r.now, 1000)
		_, _ = a.s.outbox()
		_, _ = a.s.parameters(state.ParameterQuery{})
		_, _ = a.s.parameters(state.ParameterQuery{Facts: true})
		_, _ = a.s.agents()
		_, _ = a.s.versions()
		_, _ = a.s.actions(state.ActionQuery{})
		audit(r)
		r.now = r.now.Add(2 * orphanAge)
		if _, err := a.s.dropOrphans(r.now.Add(-orphanAge)); err == nil {
			if a := audit(r); len(a.Orphans) > 0 {
				r.violate("orphans", "nothing names %s", strings.Join(a.Orphans, ", "))
			}
		}
	})
	r.play()
}
