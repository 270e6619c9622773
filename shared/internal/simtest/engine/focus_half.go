package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/resource"
)

// focusHalf records results while a release is being written.
func focusHalf() *Focus {
	return &Focus{
		Name: "half",
		Why: "what is run while it is released again is written later than the rest, which waits " +
			"for it",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches, p.Procs = true, 0, 3
			p.rates[kindSlow], p.rates[kindBefore], p.rates[kindCrash] = 0.1, 0.05, 0.005
		},
		size:  6,
		types: []string{typeThing},
		act:   (*drawer).halve,
	}
}

// halve draws the plan of focusHalf: resources on two agents with requirements between the agents,
// and versions that change all of them within a few milliseconds.
func (d *drawer) halve() {
	d.agents = []resource.Agent{{Name: "a0", Transport: "local", Lanes: 1},
		{Name: "a1", Transport: "local", Lanes: 1}}
	for i := range d.pool {
		id := resource.NewID(typeThing, d.agents[i%2].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1}
		d.in[i] = true
		for j := range i {
			if d.one(3) {
				d.pool[i].requires = append(d.pool[i].requires, d.pool[j].id)
			}
		}
	}
	at := time.Duration(0)
	for range 6 {
		for range 3 {
			for i := range d.pool {
				d.pool[i].v = d.pool[i].v%9 + 1
			}
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opExport, model: d.model(nil), tries: 3,
				agents: slices.Clone(d.agents)})
			at += time.Duration(1+d.rng.IntN(20)) * time.Millisecond
		}
		at += 10 * time.Second
	}
	d.p.End = at
}
