package aws

import "slices"

// Found is a plan that failed, with its violation.
type Found struct {
	Plan      *Plan
	Violation *Violation
}

// Totals are sums over runs.
type Totals struct {
	Seeds, Operations, Requests, Forwards, Crashes int
	// Kinds holds how often each kind of event occurred, and InSeeds in how many seeds.
	Kinds, InSeeds map[string]int
}

// Campaign runs n seeds, beginning with first, until one fails.
func Campaign(first, n uint64, m *Mutant) (*Found, Totals) {
	t := Totals{Kinds: map[string]int{}, InSeeds: map[string]int{}}
	for seed := first; seed < first+n; seed++ {
		p := Draw(seed)
		res := Run(p, m, nil)
		t.Seeds++
		t.Operations += res.Operations
		t.Requests += res.Requests
		t.Forwards += res.Forwards
		t.Crashes += res.Crashes
		for kind, k := range res.Kinds {
			t.Kinds[kind] += k
			t.InSeeds[kind]++
		}
		if res.Violation != nil {
			return &Found{p, res.Violation}, t
		}
	}
	return nil, t
}

// maxTries is how many runs a smaller plan has to fail again. Removing a part of a plan changes the
// random choices, so one run is not enough.
const maxTries = 40

// Shrink removes tasks, rounds and kinds of faults from a plan while the same check fails.
func Shrink(f *Found, m *Mutant) *Found {
	for again := true; again; {
		again = false
		for _, smaller := range f.Plan.smaller() {
			if found := retry(smaller, m, f.Violation.Check); found != nil {
				f, again = found, true
				break
			}
		}
	}
	return f
}

func retry(p *Plan, m *Mutant, check string) *Found {
	for salt := range uint64(maxTries) {
		q := *p
		q.Salt = salt
		if res := Run(&q, m, nil); res.Violation != nil && res.Violation.Check == check {
			return &Found{&q, res.Violation}
		}
	}
	return nil
}

// smaller returns plans with one part removed or reduced.
func (p *Plan) smaller() []*Plan {
	var out []*Plan
	with := func(f func(q *Plan)) {
		q := *p
		q.actors = slices.Clone(p.actors)
		f(&q)
		out = append(out, &q)
	}
	for i := range p.actors {
		if len(p.actors) > 1 {
			with(func(q *Plan) { q.actors = slices.Delete(q.actors, i, i+1) })
		}
	}
	for i := range p.actors {
		if p.actors[i].rounds > 1 {
			with(func(q *Plan) { q.actors[i].rounds-- })
		}
	}
	for i, n := range p.Faults.each() {
		if *n > 0 {
			with(func(q *Plan) { *q.Faults.each()[i] = 0 })
		}
	}
	if p.page < 100 {
		with(func(q *Plan) { q.page = 100 })
	}
	if p.agents > 1 {
		with(func(q *Plan) { q.agents-- })
	}
	if p.names > 1 {
		with(func(q *Plan) { q.names-- })
	}
	return out
}
