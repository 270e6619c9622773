package aws

import (
	"math/rand/v2"
	"time"

	"southbound/shared/aws/dynamo"
)

// role is the role of a task.
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

// Faults holds the probability of each fault, in thousandths of the attempts of a request.
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

// Plan holds the choices that a seed makes before the run.
//
// Large: each field is one choice of a seed. The functions that read a plan read all of it.
type Plan struct {
	Seed    uint64
	Salt    uint64 // distinguishes runs of one plan
	Faults  Faults
	limits  dynamo.Limits
	cache   int // bytes of the cache of a process
	page    int // maximum page size
	sticky  int // percentage of steps that continue the same task
	agents  int
	names   int // resources of an agent
	actors  []actor
	pace    time.Duration // maximum advance of the clock between two steps
	forgets bool          // some leases are not released
	logs    bool          // there is a log to which actions move
	quiet   bool          // most of the time no work is due
	drops   bool          // the collector advances time by hours and removes old data
	// tasks often run between a planner's read and its write
	lingers bool
}

// Draw returns the plan of a seed.
func Draw(seed uint64) *Plan {
	r := rand.New(rand.NewPCG(seed, 1)) // deterministic
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
	p.meet(rand.New(rand.NewPCG(seed, 2))) // deterministic
	return p
}

// meet makes one plan in four concentrate planners and workers on few lanes. There a worker often
// writes rows that a planner has read, before the planner's commit begins. So the planner's rows
// turn out late not to fit.
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
