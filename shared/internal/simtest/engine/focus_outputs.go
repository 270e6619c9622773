package engine

import (
	"math/rand/v2"
	"time"

	"southbound/shared/resource"
)

// focusOutputs changes the secret outputs at the beginning of chains of references, in calls that take
// longer than a lease lasts.
func focusOutputs() *Focus {
	return &Focus{
		Name: "outputs",
		Why: "a run keeps other secret outputs to which others refer, and its process or its lane is " +
			"lost, or a person changes the state",
		plan: func(p *Plan, rng *rand.Rand) {
			p.Settings.DeployTimer, p.Settings.RepairTimer = "0", "0"
			p.hasty, p.touches, p.Procs, p.Secrets = false, 0, 2, true
			if p.renews = rng.IntN(4) > 0; rng.IntN(2) == 0 {
				p.rates[kindCrash] = 0.003
			}
		},
		size:  5,
		types: []string{typeIssuer},
		act:   (*drawer).issue,
	}
}

// issue draws the plan of focusOutputs: issuers and things, each of which may refer to the key of an
// earlier issuer. Then values change, objects drift and are repaired, and states are changed by hand.
func (d *drawer) issue() {
	d.sets = false
	var issuers []resource.ID
	for i := range d.pool {
		typ, agent := typeThing, d.agents[d.rng.IntN(len(d.agents))].Name
		if i == 0 || d.one(3) {
			typ = typeIssuer
		}
		id := resource.NewID(typ, agent, resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{PurgeOnDelete: d.one(2)}}
		d.in[i] = true
		if i > 0 && !d.one(5) {
			key := keyRef(issuers[d.rng.IntN(len(issuers))])
			if d.pool[i].text = key; d.one(2) {
				d.pool[i].text = d.textOf(key)
			}
		}
		if typ == typeIssuer {
			issuers = append(issuers, id)
		}
	}
	d.issued(issuers)
}

// issued draws the operations of focusOutputs.
func (d *drawer) issued(issuers []resource.ID) {
	var at time.Duration
	add := func(o op, after time.Duration) {
		o.At = at + after
		d.p.Ops = append(d.p.Ops, o)
	}
	export := func() {
		add(op{kind: opExport, model: d.model(nil), tries: 3, agents: append([]resource.Agent{},
			d.agents...)}, 0)
	}
	parameter := len(d.p.Ops)
	add(op{kind: opSetParameter, n: 0}, 0)
	export()
	for range 10 {
		at += time.Duration(d.rng.Int64N(int64(2 * time.Minute)))
		i, of := d.rng.IntN(len(d.pool)), issuers[d.rng.IntN(len(issuers))]
		add(op{kind: opSweep}, 0)
		switch d.rng.IntN(9) {
		case 0:
			add(op{kind: opDrift, id: d.pool[i].id, n: d.rng.Int64N(9)}, 0)
			add(op{kind: opRepair, id: d.pool[i].id}, time.Second)
		case 1:
			d.in[i] = !d.in[i] || i == 0
			add(op{kind: opImportKept, id: d.pool[i].id, d: time.Duration(d.rng.Int64N(int64(
				10 * time.Second)))}, 0)
			export()
		case 2, 3:
			add(op{kind: opImportKept, id: of, d: time.Duration(d.rng.Int64N(int64(time.Minute)))}, 0)
		case 4:
			add(op{kind: opForgetKept, id: of}, 0)
			add(op{kind: opRepair, id: of}, time.Second)
		case 5:
			d.agents[d.rng.IntN(len(d.agents))].Lanes = 1 + d.rng.IntN(3)
			export()
		default:
			if d.one(2) {
				i = 0
			}
			d.pool[i].v = d.pool[i].v%9 + 1
			export()
		}
	}
	if d.one(2) { // texts of parts become known in two steps
		d.p.Ops[parameter].At = time.Duration(d.rng.Int64N(int64(at)))
	}
	d.p.End = at + time.Minute
}
