package services

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/engine"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Mutant is a deliberate fault that shows that the checks detect faults of its kind. Fields that
// are nil or false change nothing.
type Mutant struct {
	Name string
	Why  string // the real fault that it represents
	// Check is the rule that the mutant should violate; "" for any.
	Check string
	// Instances and Definitions wrap the stores of the worker or of customers.
	Instances   func(to inventory.Store, worker bool) inventory.Store
	Definitions func(to definition.Store, m *Models, worker bool) definition.Store
	// State wraps the view of the worker of resources.
	State func(to state.State) state.State
	// Owned changes the answers about owners of resource sets.
	Owned func(live, gone []string) ([]string, []string)
	// Compile wraps compiles.
	Compile func(to Compile) Compile
	// Loose makes the store ignore references. Blind makes customers ignore versions. Removes
	// allows offers to drop services of existing instances.
	Loose, Blind, Removes bool
	// Alone makes each worker assume that it is the only one. Trusts disables the recovery of lost
	// notices.
	Alone, Trusts bool
	// Plan changes plans so that the fault occurs more often.
	Plan func(p *Plan)
}

// Result is the result of one seed.
type Result struct {
	Plan      *Plan
	Violation *engine.Violation // nil: no rule was violated
	Kinds     map[string]int    // the number of events of each kind
}

// Run runs one plan. The same plan and mutant always give the same result.
func Run(
	m *Models, p *Plan, mutant Mutant, trace func(format string, args ...any),
) (Result, error) {
	r := newRun(m, p, mutant, trace)
	defer r.bench.Close()
	if err := r.all(); err != nil {
		return Result{}, fmt.Errorf("simulate: %w", err)
	}
	return Result{p, r.bench.Violation(), r.kinds}, nil
}

// Campaign runs n seeds, starting at first, on all processors, until one violates a rule. It
// returns the result of that seed, or nil. If several seeds fail concurrently, it returns the
// smallest. It also returns the number of events of each kind, and the number of seeds that ran.
func Campaign(
	m *Models, first, n uint64, mutant Mutant,
) (found *Result, kinds map[string]int, done uint64, failed error) {
	var next, count atomic.Uint64
	var mu sync.Mutex
	kinds = map[string]int{}
	one := func(seed uint64) bool {
		p := Draw(seed)
		if mutant.Plan != nil {
			mutant.Plan(p)
		}
		res, err := Run(m, p, mutant, nil)
		count.Add(1)
		mu.Lock()
		defer mu.Unlock()
		for k, n := range res.Kinds {
			kinds[k] += n
		}
		if failed == nil {
			failed = err
		}
		if res.Violation != nil && (found == nil || seed < found.Plan.Seed) {
			found = &res
		}
		return found == nil && failed == nil
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < n && one(first+i); i = next.Add(1) - 1 {
			}
			next.Store(n)
		})
	}
	wg.Wait()
	return found, kinds, count.Load(), failed
}

// maxShrinks is the number of runs of a Shrink.
const maxShrinks = 500

// Shrink returns a smaller plan that violates the same rule. It leaves out operations and kinds of
// faults while the violation remains.
func Shrink(m *Models, p *Plan, mutant Mutant, check string) *Plan {
	best, left := p, maxShrinks
	try := func(p *Plan) bool {
		left--
		res, err := Run(m, p, mutant, nil)
		if left < 0 || err != nil || res.Violation == nil || res.Violation.Check != check {
			return false
		}
		best = p
		return true
	}
	for again := true; again && left > 0; {
		before := best
		for size := len(best.Ops); size > 0; size /= 2 {
			for at := 0; at < len(best.Ops); {
				p := *best
				p.Ops = slices.Delete(slices.Clone(p.Ops), at, min(at+size, len(p.Ops)))
				if !try(&p) {
					at += size
				}
			}
		}
		for k := range engine.Kinds {
			p, some := *best, false
			if p.Rates, some = p.Rates.Without(k); some {
				try(&p)
			}
		}
		again = best != before
	}
	return best
}

// Explain runs a plan again and returns its trace, a line for each event.
func Explain(m *Models, p *Plan, mutant Mutant) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d operations\n", p.Seed, len(p.Ops))
	_, err := Run(m, p, mutant, func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	})
	return b.String(), err
}
