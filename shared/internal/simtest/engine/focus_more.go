package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/resource"
)

// focusRelaned changes the number of lanes of an agent during a check of everything.
func focusRelaned() *Focus {
	return &Focus{
		Name: "relaned",
		Why:  "during a check the agent gets more lanes, and checked resources subscribe to something new",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches, p.Procs = false, 0, 2
		},
		size: 6,
		act:  (*drawer).relane,
	}
}

// relane draws the plan of focusRelaned: while the first resource runs, a check of everything is
// under way. Then the agent gets more lanes, and the second half of the resources subscribes to the
// first half, which is new.
func (d *drawer) relane() {
	d.agents = ofOneLane("a0")
	for i := range d.pool {
		typ := typeThing
		if i == 0 {
			typ = typeSlow
		}
		id := resource.NewID(typ, "a0", resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1,
			flags: resource.Flags{SendEvent: true, ReceiveEvents: true, PurgeOnDelete: true}}
	}
	news, hears := d.pool[1:3], d.pool[3:]
	at := time.Duration(0)
	export := func(lanes int, both bool) {
		for i := range d.in {
			d.in[i] = both || i == 0 || i >= 3
		}
		d.agents[0].Lanes = lanes
		d.p.Ops = append(d.p.Ops,
			op{At: at, kind: opExport, model: d.model(nil), tries: 3,
				agents: slices.Clone(d.agents)})
	}
	for range 4 {
		d.pool[0].v = d.pool[0].v%9 + 1
		for i := range hears {
			hears[i].requires = nil
		}
		export(1, false)
		at += time.Second
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opRepair})
		at += time.Second
		for i := range hears {
			hears[i].requires = []resource.ID{news[d.rng.IntN(2)].id}
		}
		export(2+d.rng.IntN(2), true)
		at += 2 * time.Minute
	}
	d.p.End = at
}

// focusPreserved forbids the destruction of resources that would have to be replaced.
func focusPreserved() *Focus {
	return &Focus{
		Name: "preserved",
		Why:  "what may not be destroyed is to be replaced, leaves, or was to be removed before",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = false, 0
			calmly(p)
		},
		size:      4,
		types:     []string{typeSwap, typeRigid},
		ops:       []opKind{opExport, opExport, opExport, opRepair, opRelease},
		preserves: true,
	}
}

// focusKept makes exports that expect a plan or have limits, while values are set and removed.
func focusKept() *Focus {
	return &Focus{
		Name: "kept",
		Why:  "the world moves between a plan and its export, and more would leave than may",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = false, 0
			calmly(p)
		},
		size: 5,
		each: func(d *drawer, s *spec) {
			s.flags.PurgeOnDelete = true
			if d.one(3) {
				s.text = resource.Parameter{Name: "p0"}
			}
		},
		ops:  []opKind{opExport, opExport, opExport, opRelease, opSetParameter, opDeleteParameter},
		kept: true,
	}
}

// focusWoken crashes processes between a change and its delivery to subscribers.
func focusWoken() *Focus {
	return &Focus{
		Name: "woken",
		Why: "a process is lost when it has recorded a change, and before who receives it is " +
			"asked for",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = false, 0
			p.rates[kindCrash] = 0.04
		},
		size:  8,
		types: []string{typeThing},
		act:   (*drawer).wake,
	}
}

// wake draws the plan of focusWoken: each resource of the first half drifts and is corrected once,
// and a resource of another agent subscribes to it.
func (d *drawer) wake() {
	d.agents = ofOneLane("a0", "a1")
	for i := range d.pool {
		id := resource.NewID(typeThing, d.agents[i/4].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{SendEvent: true, ReceiveEvents: true}}
		if d.in[i] = true; i >= 4 {
			d.pool[i].requires = []resource.ID{d.pool[i-4].id}
		}
	}
	d.p.Ops = []op{{kind: opExport, model: d.model(nil), tries: 3, agents: slices.Clone(d.agents)}}
	at := time.Minute
	for _, s := range d.pool[:4] {
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opSweep},
			op{At: at + 30*time.Second, kind: opDrift, id: s.id, n: 1},
			op{At: at + 30*time.Second, kind: opRepair, id: s.id})
		at += time.Minute
	}
	d.p.End = at
}

// focusFiltered requests work by filters and in batches of agents.
func focusFiltered() *Focus {
	return &Focus{
		Name: "filtered",
		Why:  "several resources are asked for by a filter, or in waves of agents",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = false, 0
			calmly(p)
		},
		size:     8,
		ops:      []opKind{opExport, opRepair, opRepair, opRepair, opDeploy, opBreak},
		filtered: true,
	}
}

// focusWaved makes exports in batches of agents.
func focusWaved() *Focus {
	return &Focus{
		Name: "waved",
		Why:  "exports are made in waves, of which some end when something is not well",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = false, 0
			calmly(p)
		},
		size: 8,
		ops: []opKind{opExport, opExport, opExport, opDrift, opBreak, opSetParameter,
			opDeleteParameter},
		waved: true,
	}
}

// focusListed reads most resources from cached lists of a session, while they are requested again.
func focusListed() *Focus {
	return &Focus{
		Name: "listed",
		Why:  "what is asked for, changed and required while a session keeps a list",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = true, 0
			calmly(p)
		},
		size:   8,
		ops:    []opKind{opExport, opExport, opRepair, opRepair, opRepair, opDrift, opDeploy},
		listed: true,
	}
}

// focusShelved lists most resources by their handler, on agents with much work in one run.
func focusShelved() *Focus {
	return &Focus{
		Name: "shelved",
		Why: "what is asked for, changed and required while a session keeps what a handler has " +
			"listed",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = true, 0
			calmly(p)
		},
		size:    16,
		ops:     []opKind{opExport, opExport, opRepair, opRepair, opRepair, opDrift, opDeploy},
		shelved: true,
	}
}

// focusRecalled changes the intent of a resource while it runs. The result does not count, and a
// sweep processes its consequences.
func focusRecalled() *Focus {
	return &Focus{
		Name: "recalled",
		Why: "what fails is wanted otherwise before that is recorded, whoever records it stops, " +
			"and a sweep sees to what waited for it",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches, p.Procs = true, 0, 2
		},
		size:  3,
		types: []string{typeThing},
		act:   (*drawer).recall,
	}
}

// recall draws the plan of focusRecalled: the first resource is checked, then all intents change
// and all workers are stopped. The dependants of the first resource are on another agent.
func (d *drawer) recall() {
	d.agents = ofOneLane("a0", "a1")
	for i := range d.pool {
		id := resource.NewID(typeThing, d.agents[min(i, 1)].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1}
		if d.in[i] = true; i > 0 {
			d.pool[i].requires = []resource.ID{d.pool[0].id}
		}
	}
	at := time.Duration(0)
	soon := func(most time.Duration) { at += time.Duration(d.rng.Int64N(int64(most))) }
	export := func() {
		d.p.Ops = append(d.p.Ops,
			op{At: at, kind: opExport, model: d.model(nil), tries: 3,
				agents: slices.Clone(d.agents)})
	}
	export()
	for range 6 {
		at += 10 * time.Second
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opRepair, id: d.pool[0].id})
		soon(60 * time.Millisecond)
		for i := range d.pool {
			d.pool[i].v = d.pool[i].v%9 + 1
		}
		export()
		soon(60 * time.Millisecond)
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opCancel})
		soon(400 * time.Millisecond)
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opSweep})
	}
	d.p.End = at + 10*time.Second
}

// focusHeld changes the number of lanes, or pauses the agent, while resources are claimed together with
// checked ones.
func focusHeld() *Focus {
	return &Focus{
		Name: "held",
		Why: "while everything is checked, the number of lanes changes between two claims of " +
			"one commit, or the agent is paused for a moment",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches, p.Procs = true, 0, 2
			p.sizes.Claim = 1 + int(p.Seed%4)
		},
		size:  16,
		types: []string{typeThing},
		act:   (*drawer).hold,
	}
}

// hold draws the plan of focusHeld.
func (d *drawer) hold() {
	d.agents = []resource.Agent{{Name: "a0", Transport: "local", Lanes: 3}}
	for i := range d.pool {
		id := resource.NewID(typeThing, "a0",
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i], d.in[i] = spec{id: id, v: 1}, true
	}
	at := time.Duration(0)
	soon := func(most time.Duration) { at += time.Duration(d.rng.Int64N(int64(most))) }
	export := func() {
		d.p.Ops = append(d.p.Ops,
			op{At: at, kind: opExport, model: d.model(nil), tries: 3,
				agents: slices.Clone(d.agents)})
	}
	export()
	for range 6 {
		at += 10 * time.Second
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opRepair})
		for range 4 {
			soon(80 * time.Millisecond)
			if d.one(2) {
				d.agents[0].Lanes = 4 - d.agents[0].Lanes // 3 or 1
				export()
				continue
			}
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opPause, agent: "a0", on: true})
			soon(20 * time.Millisecond)
			d.p.Ops = append(d.p.Ops, op{At: at, kind: opPause, agent: "a0"})
		}
	}
	d.p.End = at + 10*time.Second
}

// focusShort limits runs of lanes to less time than a check of everything takes.
func focusShort() *Focus {
	return &Focus{
		Name: "short",
		Why:  "the time of whoever checks everything is up in the middle of it",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = false, 0
			p.sizes.Claim = 1 + int(p.Seed%2)
			p.laneFor, p.grace = 5*time.Millisecond, 15*time.Millisecond
		},
		size:  16,
		types: []string{typeThing},
		act:   (*drawer).check,
	}
}

// check draws the plan of focusShort.
func (d *drawer) check() {
	d.agents = ofOneLane("a0")
	for i := range d.pool {
		id := resource.NewID(typeThing, "a0",
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i], d.in[i] = spec{id: id, v: 1}, true
	}
	d.p.Ops = append(d.p.Ops, op{kind: opExport, model: d.model(nil), tries: 3,
		agents: slices.Clone(d.agents)})
	for at := time.Minute; at < 5*time.Minute; at += time.Minute {
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opRepair})
	}
	d.p.End = 5 * time.Minute
}
