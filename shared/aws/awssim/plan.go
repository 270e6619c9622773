package awssim

import (
	"math/rand/v2"
	"time"

	"southbound/shared/aws/dynamo"
)

// role is what a task does.
type role int

const (
	planner role = iota
	worker
	operator
	reader
	collector
	logger
)

func (r role) String() string {
	return [...]string{"planner", "worker", "operator", "reader", "collector", "logger"}[r]
}

// Faults say how often, of a thousand sendings of a request, what happens to it.
type Faults struct {
	Throttle, Break, Lose, Late, Slow, Conflict, CrashBefore, CrashAfter int
}

func (f *Faults) each() []*int {
	return []*int{&f.Throttle, &f.Break, &f.Lose, &f.Late, &f.Slow, &f.Conflict, &f.CrashBefore,
		&f.CrashAfter}
}

// actor is a task of a plan.
type actor struct {
	role    role
	process int
	rounds  int
}

// Plan is what a seed decides before the run.
//
// Large: each field is one thing that a seed draws; those that read a plan read it whole.
type Plan struct {
	Seed    uint64
	Salt    uint64 // tells runs of one plan apart
	Faults  Faults
	limits  dynamo.Limits
	cache   int // bytes that a process remembers of tablets
	page    int // the largest page
	sticky  int // of a hundred steps, how many go on with the same task
	agents  int
	names   int // of an agent's resources
	actors  []actor
	pace    time.Duration // how far the clock moves at most between two steps
	forgets bool          // leases are left behind now and then
	logs    bool          // there is a log that actions move to
	quiet   bool          // most of the time nothing is due
	drops   bool          // the collector lets hours pass and removes what is old
	// others go on between what a planner has read and what it begins to write
	lingers bool
}

// Draw returns the plan of a seed.
func Draw(seed uint64) *Plan {
	r := rand.New(rand.NewPCG(seed, 1)) // the same every time
	among := func(list ...int) int { return list[r.IntN(len(list))] }
	p := &Plan{Seed: seed, page: among(1, 2, 4, 100), sticky: among(0, 30, 60, 90), agents: 1 +
		r.IntN(3), names: 2 + r.IntN(4),
		cache: among(1, 2000, 1<<20,
			1<<20), pace: time.Duration(among(5, 50, 500)) * time.Millisecond,
		forgets: r.IntN(2) == 0, drops: r.IntN(2) == 0, quiet: r.IntN(4) == 0, logs: r.IntN(2) == 0}
	p.limits = dynamo.Limits{Inline: among(1, 150, 4096), Record: among(1, 200, 1000),
		Refs: among(1, 2, 4, 8), Objects: among(1, 4, 32),
		Released: among(0, 2), Together: among(1, 1, 2, 16), IDs: among(1, 8<<10), Forget: among(0,
			20), Sources: among(1, 90)}
	processes := 2 + r.IntN(2)
	for range 2 + r.IntN(3) {
		p.actors = append(p.actors,
			actor{role: []role{planner, worker, worker, operator, reader, collector}[r.IntN(6)],
				process: r.IntN(processes), rounds: 1 + r.IntN(3)})
	}
	p.actors = append(p.actors,
		actor{role: planner, process: r.IntN(processes), rounds: 1 + r.IntN(3)}, actor{role: worker,
			process: r.IntN(processes), rounds: 1 + r.IntN(3)})
	if p.logs {
		p.actors = append(p.actors,
			actor{role: logger, process: r.IntN(processes), rounds: 1 + r.IntN(3)})
	}
	if p.quiet {
		p.actors = append(p.actors, actor{role: collector, process: r.IntN(processes), rounds: 3})
	}
	for _, f := range p.Faults.each() {
		if r.IntN(4) == 0 {
			*f = among(5, 20, 60)
		}
	}
	p.meet(rand.New(rand.NewPCG(seed, 2))) // the same every time
	return p
}

// meet has one plan in four bring together planners and workers on few lanes: what a planner has
// read is written by a worker before the commit of the planner begins, so that it turns out late
// not to fit.
func (p *Plan) meet(r *rand.Rand) {
	if p.lingers = r.IntN(4) == 0; !p.lingers {
		return
	}
	p.limits.Together, p.agents, p.names, p.sticky, p.quiet = 1, 1, 6, 0, false
	processes := 0
	for _, a := range p.actors {
		processes = max(processes, a.process+1)
	}
	for range 3 {
		p.actors = append(p.actors,
			actor{role: worker, process: r.IntN(processes), rounds: 2 + r.IntN(3)})
	}
	p.actors = append(p.actors,
		actor{role: planner, process: r.IntN(processes), rounds: 2 + r.IntN(3)})
}
