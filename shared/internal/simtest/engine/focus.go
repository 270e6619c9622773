package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Focus shapes the plans of seeds, so that most of them contain the conditions for a certain kind
// of fault. This does not depend on future changes of the engine or the simulator.
//
// Large: it is a declaration, of which each focus sets a few fields.
type Focus struct {
	Name string
	Why  string // the combination that it creates

	plan  func(p *Plan, rng *rand.Rand) // changes the plan before the resources are drawn
	size  int                           // number of resources; 0: as drawn
	types []string                      // nil: as drawn
	each  func(d *drawer, s *spec)      // changes a drawn resource
	ops   []opKind                      // kinds of operations, each as often as listed
	// act draws all operations, instead of the default draw.
	act func(d *drawer)
	// targeted: exports have targets where possible.
	targeted bool
	rehosted bool // connections of agents change
	filtered bool // requests select several resources
	listed   bool // most resources are read from lists
	shelved  bool // most resources are listed by their handler
	waved    bool // exports are made in batches of agents
	kept     bool // exports expect a plan or have limits
	// preserves: prevent_destroy changes.
	preserves bool
	labels    bool // objects have several names
	oneTarget bool // agents reach the same objects
}

// Focuses returns all focuses.
func Focuses() []*Focus {
	return []*Focus{focusInstant(), focusFreed(), focusMoves(), focusReplaced(), focusTargets(),
		focusRooms(), focusFailures(), focusChains(),
		focusStops(), focusCrashes(), focusHosts(), focusRelaned(),
		focusPreserved(), focusKept(), focusWoken(), focusFiltered(), focusWaved(), focusListed(),
		focusShelved(), focusRecalled(), focusHeld(), focusShort(), focusUnset(),
		focusHalf(), focusLabels(), focusAgents(), focusFacts(), focusOutputs()}
}

// FocusOf returns the focus with a name, or nil if there is none.
func FocusOf(name string) *Focus {
	all := Focuses()
	if i := slices.IndexFunc(all, func(f *Focus) bool { return f.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// tune applies a focus to a plan before the resources are drawn.
func (f *Focus) tune(p *Plan) {
	if f != nil && f.plan != nil {
		f.plan(p, rand.New(rand.NewPCG(p.Seed, 0xf0c5)))
		p.faults = faultsOf(p.rates)
	}
}

// calmly removes all faults and crashes.
func calmly(p *Plan) {
	p.rates = [kinds]float64{}
	p.Settings.DeployTimer, p.Settings.RepairTimer = "0", "0"
}

// focusInstant creates a world in which most operations take no time, so that most times are equal.
func focusInstant() *Focus {
	return &Focus{
		Name: "instant",
		Why:  "something is run, and at the very same time what it hears changes",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.still, p.instant, p.hasty, p.touches = true, true, true, 0
		},
		size: 4,
		act:  (*drawer).pair,
	}
}

// pair draws the plan of focusInstant: one half of the resources subscribes to the other half,
// which is on another agent. A subscriber is checked, and while its handler runs, a requirement is
// corrected.
func (d *drawer) pair() {
	d.pool, d.in = d.pool[:4], d.in[:4]
	tells, hears := d.pool[:2], d.pool[2:]
	d.agents = []resource.Agent{{Name: "a0", Transport: "local", Lanes: 1},
		{Name: "a1", Transport: "local", Lanes: 1 + d.rng.IntN(2)}}
	for i := range d.pool {
		id := resource.NewID(typeThing, d.agents[i/2].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{SendEvent: true, ReceiveEvents: true}}
		d.in[i] = true
	}
	for i := range hears {
		hears[i].requires = []resource.ID{tells[0].id, tells[1].id}
	}
	d.p.Ops = []op{{kind: opExport, model: d.model(nil), tries: 3, agents: slices.Clone(d.agents)}}
	at := 10 * time.Second
	for range 8 {
		of, by := tells[d.rng.IntN(2)].id, hears[d.rng.IntN(2)].id
		d.p.Ops = append(d.p.Ops, op{At: at, kind: opDrift, id: of, n: 1},
			op{At: at, kind: opRepair, id: by}, op{At: at + time.Second, kind: opRepair, id: of})
		at += 10 * time.Second
	}
	d.p.End = at
}

// focusFreed removes a requirement for which a resource is just being skipped.
func focusFreed() *Focus {
	return &Focus{
		Name: "freed",
		Why: "what has never run is skipped with what requires it, and meanwhile wanted without " +
			"what it is skipped for",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = true, 0
		},
		size: 5,
		act:  (*drawer).free,
	}
}

// free draws the plan of focusFreed: the first resource fails, and the second takes time. The third
// loses its requirement on the first while it is skipped together with its dependants.
func (d *drawer) free() {
	d.agents[0].Lanes = 1
	for i := range d.pool {
		id := resource.NewID(typeThing, d.agents[0].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{PurgeOnDelete: true}}
		d.in[i] = true
	}
	d.agents = d.agents[:1]
	fails, takes, freed := &d.pool[0], &d.pool[1], &d.pool[2]
	bound := []resource.ID{fails.id}
	behind := d.pool[3:]
	for i := range behind {
		behind[i].requires = []resource.ID{freed.id}
	}
	at := time.Duration(0)
	ask := func(o op) {
		o.At = at
		d.p.Ops = append(d.p.Ops, o)
		at += time.Duration(1+d.rng.IntN(20)) * time.Millisecond
	}
	export := func() {
		ask(op{kind: opExport, model: d.model(nil), tries: 3, agents: slices.Clone(d.agents)})
	}
	freed.requires = bound
	export()
	at += 10 * time.Second
	ask(op{kind: opBreak, id: fails.id, class: provider.Terminal, n: 1})
	ask(op{kind: opRepair})
	at += 10 * time.Second
	for range 4 {
		d.in[2] = false
		export()
		at += 10 * time.Second
		d.in[2], freed.requires, freed.v = true, bound, freed.v%9+1
		takes.v = takes.v%9 + 1
		for i := range behind {
			behind[i].v = behind[i].v%9 + 1
		}
		export()
		freed.requires, freed.v = nil, freed.v%9+1
		export()
		at += 10 * time.Second
	}
	d.p.End = at
}

// focusMoves changes numbers of lanes while resources run.
func focusMoves() *Focus {
	return &Focus{
		Name: "moves",
		Why:  "the number of lanes changes while resources run",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.shuffles, p.touches, p.Procs = true, true, 0, 2
		},
		size: 6,
		each: func(_ *drawer, s *spec) { s.text = nil },
		ops:  []opKind{opExport, opExport, opExport, opRepair},
	}
}

// focusReplaced crashes processes while objects are replaced.
func focusReplaced() *Focus {
	return &Focus{
		Name: "replaced",
		Why:  "a process is lost between two steps of replacing something",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = false, 0
			p.rates[kindCrash], p.rates[kindAfter] = 0.01, 0.02
		},
		size:  4,
		types: []string{typeSwap, typeRigid},
		ops:   []opKind{opExport, opExport, opExport, opRepair, opDrift},
	}
}

// focusTargets makes targeted exports while values are set and removed.
func focusTargets() *Focus {
	return &Focus{
		Name: "targets",
		Why:  "what is not targeted has references whose values change",
		plan: func(p *Plan, _ *rand.Rand) { p.hasty, p.touches = false, 0 },
		each: func(d *drawer, s *spec) {
			if d.one(2) {
				s.text = resource.Parameter{Name: "p0"}
			}
		},
		ops: []opKind{opExport, opExport, opExport, opRelease, opSetParameter, opSetParameter,
			opDeleteParameter, opBreak, opForget},
		targeted: true,
	}
}

// focusRooms lets files and folders replace each other.
func focusRooms() *Focus {
	return &Focus{
		Name:  "rooms",
		Why:   "something leaves while something else comes to its place",
		size:  6,
		types: []string{typeFile, typeFile, typeThing},
		ops:   []opKind{opExport, opExport, opExport, opRepair, opBreak},
	}
}

// focusLabels changes the labels of objects while their resources run.
func focusLabels() *Focus {
	return &Focus{
		Name:   "labels",
		Why:    "a thing is moved to another id while the old one is at work, or its row is written",
		plan:   func(p *Plan, rng *rand.Rand) { p.hasty = rng.IntN(2) == 0 },
		size:   5,
		labels: true,
		each: func(d *drawer, s *spec) {
			if s.id.Type() != typeLabel && d.one(2) {
				s.id = relabelled(s.id)
			}
		},
		ops: []opKind{opExport, opExport, opExport, opExport, opDeploy, opRepair, opBreak, opMend},
	}
}

// focusAgents moves objects between agents while their resources run.
func focusAgents() *Focus {
	return &Focus{
		Name: "agents",
		Why:  "a thing is moved to an id of another agent while the old one is at work, or is lost there",
		plan: func(p *Plan, rng *rand.Rand) {
			if p.hasty = rng.IntN(3) == 0; !p.hasty && rng.IntN(2) == 0 {
				p.touches, p.Procs, p.renews = 0, 2, rng.IntN(2) == 0
				p.rates[kindCrash], p.rates[kindHang] = 0.01, 0.1
			}
		},
		size: 5, oneTarget: true,
		each: func(d *drawer, s *spec) {
			known := func(a resource.Agent) bool { return a.Name == partner(s.id.Agent()) }
			if slices.ContainsFunc(d.agents, known) {
				s.id = label(s.id, s.id.Agent(), agentEnds[:1])
				s.flags.SendEvent = s.flags.SendEvent || d.one(2)
			}
		},
		ops: []opKind{opExport, opExport, opExport, opExport, opDeploy, opRepair, opBreak, opMend},
	}
}

// focusFailures lets requirements fail and be requested again.
func focusFailures() *Focus {
	return &Focus{
		Name: "failures",
		Why:  "what fails is asked for again while others are about to be skipped for it",
		plan: func(p *Plan, _ *rand.Rand) {
			p.hasty, p.touches = true, 0
			calmly(p)
			p.rates[kindRefuse], p.rates[kindSlow] = 0.1, 0.1
		},
		size: 8,
		each: func(_ *drawer, s *spec) { s.text = nil },
		ops:  []opKind{opBreak, opDeploy, opDeploy, opDeploy, opRepair, opExport},
	}
}

// focusChains lets each resource require one of another agent.
func focusChains() *Focus {
	return &Focus{
		Name: "chains",
		Why:  "what goes on in one lane is waited for in another, and by nothing else",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = false, 0
		},
		size:  12,
		types: []string{typeThing, typeBatch, typeAssigned},
		act:   (*drawer).chained,
	}
}

// ofOneLane returns agents that run one resource at a time.
func ofOneLane(names ...string) []resource.Agent {
	var agents []resource.Agent
	for _, name := range names {
		agents = append(agents, resource.Agent{Name: name, Transport: "local", Lanes: 1})
	}
	return agents
}

// chained draws the plan of focusChains: a chain through three agents, whose links change.
func (d *drawer) chained() {
	d.agents = ofOneLane("a0", "a1", "a2")
	for i := range d.pool {
		id := resource.NewID(d.pool[i].id.Type(), d.agents[i%3].Name,
			resource.Key{Name: "name", Value: nameOf(d.pool[i].id)})
		d.pool[i] = spec{id: id, v: 1, flags: resource.Flags{ReceiveEvents: true}}
		if d.in[i] = true; i > 0 {
			d.pool[i].requires = []resource.ID{d.pool[i-1].id}
		}
	}
	for i := range 3 {
		d.pool[d.rng.IntN(len(d.pool))].v++
		d.p.Ops = append(d.p.Ops, op{At: time.Duration(i) * time.Minute, kind: opExport, tries: 3,
			model: d.model(nil), agents: slices.Clone(d.agents)})
	}
	d.p.End = 3 * time.Minute
}

// focusStops pauses agents and halts the environment while there is work.
func focusStops() *Focus {
	return &Focus{
		Name: "stops",
		Why:  "an agent is paused, or all are halted, just when something is to start",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = true, 0
		},
		size: 8,
		each: func(_ *drawer, s *spec) { s.text = nil },
		ops:  []opKind{opExport, opRepair, opPause, opPause, opHalt, opHalt},
	}
}

// focusCrashes crashes processes while subscribed resources change, fail and recover.
func focusCrashes() *Focus {
	return &Focus{
		Name: "crashes",
		Why:  "a process is lost between what was done and what follows from that",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = false, 0
			p.rates[kindCrash], p.rates[kindRefuse] = 0.02, 0.1
		},
		size: 6,
		each: func(_ *drawer, s *spec) {
			s.text, s.flags.SendEvent, s.flags.ReceiveEvents = nil, true, true
		},
		ops: []opKind{opExport, opExport, opRepair, opDrift},
	}
}

// focusHosts changes connections of agents while they have work.
func focusHosts() *Focus {
	return &Focus{
		Name: "hosts",
		Why:  "an agent is reached in another way while it is connected",
		plan: func(p *Plan, _ *rand.Rand) {
			calmly(p)
			p.hasty, p.touches = true, 0
		},
		size:     8,
		ops:      []opKind{opExport, opExport, opRepair},
		rehosted: true,
	}
}
