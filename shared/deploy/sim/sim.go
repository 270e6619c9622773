package sim

import (
	"fmt"

	"southbound/shared/deploy"
)

// Mutant is a fault that is built into a run on purpose, to show that the checks would find one
// like it in the engine or in a port.
type Mutant struct {
	Name string
	Why  string // what real fault it stands for
	// Config, when not nil, changes what each process is built from, mostly by wrapping a port. The
	// environment's model is State.
	Config func(c *deploy.Config, s *State)
	// Focus shapes the plans in which it is looked for; nil: any.
	Focus *Focus
	// Check is the invariant that is expected to be violated; "" any.
	Check string
}

// Result is what came of one seed.
type Result struct {
	Plan      *Plan
	Violation *Violation     // nil: all held
	Steps     int            // of the scheduler, in the last phase
	Calls     int            // ids given out, a measure of what was done
	Kinds     map[string]int // how often something of each kind has come about
}

// Run runs one plan. The same plan and mutant give the same result, always.
func Run(p *Plan, m Mutant, trace func(format string, args ...any)) (Result, error) {
	u, err := newTools()
	if err != nil {
		return Result{}, fmt.Errorf("prepare a simulation: %w", err)
	}
	defer u.close()
	return u.run(p, m, trace), nil
}

// run is Run, of many plans in turn.
func (u *tools) run(p *Plan, m Mutant, trace func(format string, args ...any)) Result {
	r := newRun(u, p, m, trace)
	v := r.all()
	return Result{Plan: p, Violation: v, Steps: r.sched.steps, Calls: r.ids, Kinds: r.kinds}
}
