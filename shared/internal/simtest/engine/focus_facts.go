package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/resource"
)

// focusFacts changes the facts at the beginning of chains of references.
func focusFacts() *Focus {
	return &Focus{
		Name: "facts",
		Why:  "a run changes a fact to which others refer, and their facts change with it",
		plan: func(p *Plan, _ *rand.Rand) {
			p.Settings.DeployTimer, p.Settings.RepairTimer = "0", "0"
			p.hasty, p.touches = false, 0
		},
		size:  5,
		types: []string{typeThing},
		act:   (*drawer).follow,
	}
}

// follow draws the plan of focusFacts: each thing but the first may refer to a fact of an earlier one.
// Then values change, things drift and are repaired, and things leave.
func (d *drawer) follow() {
	d.sets = false
	for i := range d.pool {
		agent := d.agents[d.rng.IntN(len(d.agents))].Name
		id := resource.NewID(typeThing, agent, resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{PurgeOnDelete: d.one(2)}}
		d.in[i] = true
		if i > 0 && !d.one(5) {
			of := &d.pool[i-1-d.rng.IntN(min(i, 2))]
			fact := resource.Fact{Name: []string{factName, endpointPath}[d.rng.IntN(2)], Of: of.id}
			if d.pool[i].text = fact; d.one(2) {
				d.pool[i].text = d.textOf(fact)
			}
		}
	}
	var at time.Duration
	export := func() {
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opExport, model: d.model(nil), tries: 3,
			agents: slices.Clone(d.agents)})
	}
	export()
	for range 10 {
		at += 10 * time.Second
		i := d.rng.IntN(len(d.pool))
		switch d.rng.IntN(8) {
		case 7:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opSetParameter, n: d.rng.Int64N(3)})
		case 6:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opRotate, n: 2 + d.rng.Int64N(3)})
		case 0:
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opDrift, id: d.pool[i].id, n: 1 + d.rng.Int64N(9)},
				op{At: at + time.Second, kind: opRepair, id: d.pool[i].id})
		case 1:
			d.in[i] = !d.in[i] || i == 0
			export()
		default:
			if d.one(2) {
				i = 0
			}
			d.pool[i].v = d.pool[i].v%9 + 1
			export()
		}
	}
	d.p.End = at + 10*time.Second
}
