package engine

import (
	"fmt"

	"southbound/shared/deploy"
)

// Mutant is a deliberate fault in a run. It shows that the checks would find a similar fault in the
// engine or in a port.
type Mutant struct {
	Name string
	Why  string // the real fault that it represents
	// Config, when not nil, changes the configuration of each process, mostly by wrapping a port.
	// The state model is passed as s.
	Config func(c *deploy.Config, s *State)
	// Focus shapes the plans in which the mutant is searched; nil: any.
	Focus *Focus
	// Check is the invariant that the mutant is expected to violate; "": any.
	Check string
}

// Result is the result of one seed.
type Result struct {
	Plan      *Plan
	Violation *Violation     // nil: no violation
	Steps     int            // steps of the scheduler in the last phase
	Calls     int            // number of generated ids, a measure of the work
	Kinds     map[string]int // number of events of each kind
}

// Run runs one plan. It is deterministic: the same plan and mutant always yield the same result.
func Run(p *Plan, m Mutant, trace func(format string, args ...any)) (Result, error) {
	u, err := newTools()
	if err != nil {
		return Result{}, fmt.Errorf("prepare a simulation: %w", err)
	}
	defer u.close()
	return u.run(p, m, trace), nil
}

// run is Run with shared tools, for consecutive plans.
func (u *tools) run(p *Plan, m Mutant, trace func(format string, args ...any)) Result {
	r := newRun(u, p, m, trace)
	v := r.all()
	return Result{Plan: p, Violation: v, Steps: r.sched.steps, Calls: r.ids, Kinds: r.kinds}
}
