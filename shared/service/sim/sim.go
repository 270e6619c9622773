package sim

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"southbound/shared/deploy/sim"
	"southbound/shared/deploy/state"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Mutant is a fault that is built in on purpose, to show that the checks would find one like it.
// What is nil, or false, is as it should be.
type Mutant struct {
	Name string
	Why  string // what real fault it stands for
	// Check is the rule that is expected to be violated; "" any.
	Check string
	// Instances and Definitions wrap what the worker, or else customers, read and write.
	Instances   func(to inventory.Store, worker bool) inventory.Store
	Definitions func(to definition.Store, m *Models, worker bool) definition.Store
	// State wraps what the worker sees of resources.
	State func(to state.State) state.State
	// Owned changes what is said of whose resource sets there are, and were.
	Owned func(live, gone []string) ([]string, []string)
	// Compile wraps compiles.
	Compile func(to Compile) Compile
	// Loose: the store looks after no references. Blind: nobody looks at versions. Removes: what is
	// offered may leave out what instances have.
	Loose, Blind, Removes bool
	// Alone: each worker takes itself for the only one. Trusts: nobody looks for what notices were
	// lost of.
	Alone, Trusts bool
	// Plan makes plans in which the fault comes about more often.
	Plan func(p *Plan)
}

// Result is what came of one seed.
type Result struct {
	Plan      *Plan
	Violation *sim.Violation // nil: all held
	Kinds     map[string]int // how often something of each kind has come about
}

// Run runs one plan. The same plan and mutant give the same result, always.
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

// Campaign runs n seeds, from first on, on all processors, until one violates a rule. It returns
// the result of that seed, the smallest if several were found at once, or nil, how often something
// of each kind has come about, and how many seeds were run.
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

// maxShrinks bounds how many runs Shrink makes.
const maxShrinks = 500

// Shrink returns a smaller plan that still violates the same rule: operations and kinds of faults
// are left out as long as it does.
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
		for k := range sim.Kinds {
			p, some := *best, false
			if p.Rates, some = p.Rates.Without(k); some {
				try(&p)
			}
		}
		again = best != before
	}
	return best
}

// Explain runs a plan again and returns what happened, a line an event.
func Explain(m *Models, p *Plan, mutant Mutant) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %d operations\n", p.Seed, len(p.Ops))
	_, err := Run(m, p, mutant, func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
	})
	return b.String(), err
}
