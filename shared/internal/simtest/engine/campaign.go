package engine

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"southbound/shared/resource"
)

// Campaign runs n seeds, starting with first, on all processors, until one violates an invariant.
// It returns the result of that seed, or nil, and the number of seeds run. If several violations
// were found concurrently, it returns the smallest seed. The function ran, when not nil, is called
// sequentially for each run as it ends.
func Campaign(first, n uint64, m Mutant, ran func(*Result)) (*Result, uint64, error) {
	var next atomic.Uint64
	var done uint64
	var mu sync.Mutex
	var found *Result
	var failed error
	stop := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return found != nil || failed != nil
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			u, err := newTools()
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = fmt.Errorf("prepare simulations: %w", err)
				return
			}
			defer u.close()
			for !stop() {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				res := u.run(DrawFor(first+i, m.Focus), m, nil)
				mu.Lock()
				done++
				if res.Violation != nil && (found == nil || res.Plan.Seed < found.Plan.Seed) {
					found = &res
				}
				if ran != nil {
					ran(&res)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return found, done, failed
}

// maxShrinks is the maximum number of runs of Shrink.
const maxShrinks = 1500

// Shrink returns a smaller plan that still violates the same check. It removes operations,
// resources and kinds of faults while the violation persists.
func Shrink(p *Plan, m Mutant, check string) (*Plan, error) {
	s := &shrinker{m: m, check: check, left: maxShrinks, best: p}
	for again := true; again && s.left > 0 && s.err == nil; {
		before := s.best
		s.operations()
		s.resources()
		s.faults()
		again = s.best != before
	}
	return s.best, s.err
}

type shrinker struct {
	m     Mutant
	check string
	left  int
	best  *Plan
	err   error
}

// try keeps a plan if it still fails.
func (s *shrinker) try(p *Plan) bool {
	if s.left--; s.left < 0 || s.err != nil {
		return false
	}
	res, err := Run(p, s.m, nil)
	if err != nil {
		s.err = err
		return false
	}
	if res.Violation == nil || res.Violation.Check != s.check {
		return false
	}
	s.best = p
	return true
}

// operations removes halves, quarters, ... of the operations.
func (s *shrinker) operations() {
	for size := len(s.best.Ops) / 2; size > 0; size /= 2 {
		for at := 0; at < len(s.best.Ops); {
			p := *s.best
			p.Ops = slices.Delete(slices.Clone(p.Ops), at, min(at+size, len(p.Ops)))
			if !s.try(&p) {
				at += size
			}
		}
	}
}

// resources removes one resource at a time, from all operations.
func (s *shrinker) resources() {
	ids := map[resource.ID]bool{}
	for i := range s.best.Ops {
		for _, sp := range s.best.Ops[i].model {
			ids[sp.id] = true
		}
	}
	for _, id := range sortedIDs(ids) {
		p := *s.best
		p.Ops = slices.Clone(p.Ops)
		for i := range p.Ops {
			p.Ops[i].model = slices.DeleteFunc(slices.Clone(p.Ops[i].model),
				func(sp spec) bool { return sp.id == id })
		}
		s.try(&p)
	}
}

func sortedIDs(ids map[resource.ID]bool) []resource.ID {
	var out []resource.ID
	for id := range ids {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// faults removes one kind of fault at a time.
func (s *shrinker) faults() {
	for k := range kinds {
		if s.best.rates[k] > 0 {
			p := *s.best
			p.rates[k] = 0
			p.faults = faultsOf(p.rates)
			s.try(&p)
		}
	}
}

// Explain runs a plan again and returns its trace, one line per event, ending with the violation.
func Explain(p *Plan, m Mutant) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b,
		"seed %d: %d operations, %d processes, await %v, dead holders known %v, functions %+v\n",
		p.Seed, len(p.Ops), p.Procs, p.Await, p.Dead, p.Functions)
	_, err := Run(p, m, func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) })
	return b.String(), err
}
