package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/resource"
)

// focusUnset changes the values of references between partial exports.
func focusUnset() *Focus {
	return &Focus{
		Name: "unset",
		Why: "what was undefined gets a value, and some sets are exported after that is gone, or a " +
			"secret was rotated",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches, p.Secrets = false, 0, true
		},
		size:  5,
		types: []string{typeThing},
		act:   (*drawer).unset,
	}
}

// unset draws the plan of focusUnset: a parameter is set and removed, and a secret is rotated. In
// between, one of two sets is exported or, rarely, everything. The last resource is in no set.
func (d *drawer) unset() {
	d.agents, d.sets = ofOneLane("a0"), true
	for i := range d.pool {
		id := resource.NewID(typeThing, "a0", resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, set: []string{"s1", "s2", "s1", "s2", ""}[i]}
		d.in[i] = true
		switch d.rng.IntN(4) {
		case 0:
			d.pool[i].text = resource.Secret{Source: "env:A"}
		case 1, 2:
			d.pool[i].text = resource.Parameter{Name: "p0"}
		}
	}
	var at time.Duration
	export := func(sets []string) {
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opExport, partial: sets, model: d.model(sets),
			tries: 3, agents: slices.Clone(d.agents)})
	}
	export(nil)
	for range 12 {
		at += 10 * time.Second
		switch d.rng.IntN(6) {
		case 0:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opSetParameter, n: d.rng.Int64N(3)})
		case 1:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opDeleteParameter})
		case 2:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opRotate, n: 2 + d.rng.Int64N(3)})
		case 3:
			if d.one(3) {
				export(nil)
				continue
			}
			fallthrough
		default:
			of := []string{"s1", "s2"}[d.rng.IntN(2)]
			for i := range d.pool { // some resources change, others stay
				if d.pool[i].set == of && d.one(3) {
					d.pool[i].v = d.pool[i].v%9 + 1
				}
			}
			if d.one(2) { // a new number of lanes requires a merge of the whole model
				d.agents[0].Lanes = 1 + d.rng.IntN(2)
			}
			export([]string{of})
		}
	}
	d.p.End = at + 10*time.Second
}
