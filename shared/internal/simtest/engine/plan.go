package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Plan holds all decisions of a seed before a run begins. Other decisions (which task runs first,
// which call fails) are drawn during the run from the same seed.
//
// Large: each field is a property that a seed draws before the run.
type Plan struct {
	Seed     uint64
	Procs    int
	Await    bool // workers wait for notices
	Dead     bool // the state knows which holders are dead
	Secrets  bool // secrets exist
	Uploads  bool // files exist
	Settings state.Settings
	// Functions, when not nil, selects the home with functions.
	Functions *Functions
	Ops       []op
	End       time.Duration // end of the part with faults

	laneFor  time.Duration // maximum duration of a run of a lane
	grace    time.Duration // tolerance for claims after laneFor; see checkClaim
	hasty    bool          // operations come while handlers run
	shuffles bool          // lanes and unknown values change often
	touches  float64       // rate of concurrent writes just before a row is written
	instant  bool          // port calls take no time
	renews   bool          // leases are renewed during calls
	// the clock advances only during port calls, so that many times are equal
	still  bool
	sizes  deploy.Sizes // of the engine's reads: small, so that reads have several parts
	rates  [kinds]float64
	faults faults
}

// spec is one resource as a model describes it.
type spec struct {
	id       resource.ID
	set      string
	v, fixed int64
	text     any // string or reference; nil: none
	requires []resource.ID
	flags    resource.Flags
	ear      resource.ID // a requirement to which it subscribes by its type
	mouth    resource.ID // a dependant that it notifies by its type
}

// opKind is the kind of an operation.
type opKind int

const (
	opExport opKind = iota
	opDeploy
	opRepair
	opDryRun
	opPause
	opHalt
	opSetParameter
	opDeleteParameter
	opDrift
	opBreak
	opMend
	opRotate
	opSweep
	opCrash
	opJump
	opCollect
	opCancel
	opRelease
	opForget
	opImportKept
	opForgetKept
)

// String returns the name of a kind of operation.
func (k opKind) String() string {
	return [...]string{"export", "deploy", "repair", "dry run", "pause", "halt", "set parameter",
		"delete parameter",
		"drift", "break", "mend", "rotate", "sweep", "crash", "jump", "collect", "cancel",
		"release", "forget", "import kept", "forget kept"}[k]
}

// op is one external operation.
//
// Large: it is one of many kinds of operations. A plan holds all operations in one list, which
// is printed and shrunk; each kind uses some of the fields.
type op struct {
	At   time.Duration
	kind opKind
	// Exports.
	model                         []spec
	agents                        []resource.Agent
	partial                       []string // sets
	drops                         []string // sets that are removed
	target                        string   // a term of a filter; "": no target
	later                         bool     // removals of still required resources are deferred
	noRelease, check, retryFailed bool
	twice                         bool // a second pipeline makes the same export concurrently
	tries                         int
	kept
	inWaves
	// Requests.
	terms []string // of a filter
	waves int      // number of agents per batch; 0: no batches
	// Others.
	agent string
	on    bool
	id    resource.ID
	class provider.Class
	good  bool // permanently
	n     int64
	d     time.Duration
}

// Draw draws the plan of a seed.
func Draw(seed uint64) *Plan { return DrawFor(seed, nil) }

// DrawFor draws the plan of a seed with a focus, which may be nil.
func DrawFor(seed uint64, focus *Focus) *Plan {
	rng := rand.New(rand.NewPCG(seed, 0xd4a3))
	rates := drawFaults(rng)
	p := &Plan{
		Seed: seed, Procs: 1 +
			rng.IntN(3), Await: rng.IntN(2) == 0, Dead: rng.IntN(2) == 0, Secrets: rng.IntN(3) == 0,
		laneFor: []time.Duration{time.Second, 10 * time.Second,
			time.Minute}[rng.IntN(3)], grace: time.Second, rates: rates, faults: faultsOf(rates),
		Settings: state.Settings{RetryBase: time.Second,
			RetryMax: []time.Duration{5 * time.Second,
				100 * time.Second}[rng.IntN(2)], DeployTimer: "0", RepairTimer: "0",
			KeepVersions: []int{0, 1, 3}[rng.IntN(3)]},
	}
	if rng.IntN(4) == 0 {
		p.Settings.DeployTimer = "30"
	}
	if rng.IntN(4) == 0 {
		p.Settings.RepairTimer = "120"
	}
	p.strain(rand.New(rand.NewPCG(seed, 0x57a1)))
	p.measure(rand.New(rand.NewPCG(seed, 0x512e)))
	focus.tune(p)
	d := &drawer{rng: rng, p: p, focus: focus}
	d.population()
	if focus != nil && focus.act != nil {
		focus.act(d)
		return p
	}
	d.ops()
	d.functions(rand.New(rand.NewPCG(seed, 0xaf5)))
	d.collections(rand.New(rand.NewPCG(seed, 0xf11e)))
	d.forgets(rand.New(rand.NewPCG(seed, 0xf09e)))
	d.rollbacks(rand.New(rand.NewPCG(seed, 0xbac5)))
	d.frees(rand.New(rand.NewPCG(seed, 0xf5ee)))
	d.replacements(rand.New(rand.NewPCG(seed, 0x5e92)))
	d.targets(rand.New(rand.NewPCG(seed, 0x7a26)))
	d.hosts(rand.New(rand.NewPCG(seed, 0x4057)))
	d.requests(rand.New(rand.NewPCG(seed, 0x4e95)))
	d.keeps(rand.New(rand.NewPCG(seed, 0x6e97)))
	d.preserves(rand.New(rand.NewPCG(seed, 0x9e5e)))
	d.waves(rand.New(rand.NewPCG(seed, 0x3a7e)))
	p.calm()
	return p
}

// strain draws whether rare combinations are frequent: concurrent changes of resources that are
// just running or being written.
func (p *Plan) strain(rng *rand.Rand) {
	p.shuffles = rng.IntN(6) == 0
	switch rng.IntN(20) {
	case 0, 1, 2:
		p.hasty = true
	case 3, 4:
		p.touches = []float64{0.01, 0.05, 0.2}[rng.IntN(3)]
	}
}

// measure draws the sizes of the engine's reads, and the resolution of its clock.
func (p *Plan) measure(rng *rand.Rand) {
	p.sizes = deploy.Sizes{Page: 1 + rng.IntN(4), Chunk: 1 + rng.IntN(4), Sweep: 4 + rng.IntN(8),
		Asked: 1 + rng.IntN(8)}
	p.still = rng.IntN(6) == 0
}

// calm removes the faults that interrupt processes from a plan with strain. The combination of both
// is left to chance.
func (p *Plan) calm() {
	if !p.hasty && p.touches == 0 {
		return
	}
	for _, k := range []kind{kindStall, kindBefore, kindAfter, kindCrash} {
		p.rates[k] = 0
	}
	p.faults, p.Functions = faultsOf(p.rates), nil
	p.Ops = slices.DeleteFunc(p.Ops, func(o op) bool { return o.kind == opCrash })
}

// functions uses the home with functions for two in five seeds. There, no worker waits for notices,
// and dead holders are not known.
func (d *drawer) functions(rng *rand.Rand) {
	if rng.IntN(5) >= 2 {
		return
	}
	f := &Functions{Timeout: []time.Duration{time.Minute, 5 * time.Minute,
		15 * time.Minute}[rng.IntN(3)], Margin: 20 * time.Second, Receives: 2 + rng.IntN(4),
		Batch: 1 + rng.IntN(10)}
	f.Visibility = f.Timeout * time.Duration(1+rng.IntN(6))
	d.p.Functions, d.p.Await, d.p.Dead = f, false, false
}

// collections draws whether there are files, and collections with short grace periods for
// unreferenced files.
func (d *drawer) collections(rng *rand.Rand) {
	p := d.p
	p.Uploads = rng.IntN(3) == 0
	grace := []time.Duration{0, time.Millisecond, time.Second, time.Minute}[rng.IntN(4)]
	for i := range p.Ops {
		if p.Ops[i].kind == opCollect {
			p.Ops[i].d = grace
		}
	}
	if rng.IntN(4) == 0 {
		for range 1 + rng.IntN(3) {
			p.Ops = append(p.Ops,
				op{At: time.Duration(rng.Int64N(int64(p.End))), kind: opCollect, d: grace})
		}
		slices.SortStableFunc(p.Ops, func(a, b op) int { return int(a.At - b.At) })
	}
}

// edit makes small changes to the model.
func (d *drawer) edit() {
	for range 1 + d.rng.IntN(3) {
		i := d.rng.IntN(len(d.pool))
		s := &d.pool[i]
		if d.p.shuffles && d.one(2) {
			d.shuffle(s)
			continue
		}
		switch d.rng.IntN(12) {
		case 0, 1, 2, 3:
			if s.v = 1 + d.rng.Int64N(9); replaces(s.id) {
				s.fixed = 1 + s.v%2
			}
		case 4, 5:
			d.in[i] = !d.in[i]
			d.swap(i)
		case 6:
			s.flags.Purged = !s.flags.Purged
		case 7:
			s.flags.ReportOnly = d.one(2)
		case 8:
			s.requires = d.requires(i)
			d.tie(i)
		case 9:
			s.text = d.text(i)
		case 10:
			s.fixed = d.rng.Int64N(3)
		default:
			d.agents[d.rng.IntN(len(d.agents))].Lanes = 1 + d.rng.IntN(3)
		}
	}
}

// shuffle makes changes that move resources, or that make values unknown.
func (d *drawer) shuffle(s *spec) {
	if d.one(4) {
		s.text = resource.Parameter{Name: "p0"}
		return
	}
	d.agents[d.rng.IntN(len(d.agents))].Lanes = 1 + d.rng.IntN(3)
}

func (d *drawer) export(at time.Duration) op {
	o := op{At: at, kind: opExport, agents: slices.Clone(d.agents), twice: d.one(6), tries: 3,
		noRelease: d.one(12), check: d.one(12), retryFailed: d.one(12)}
	if d.sets && at > 0 && d.one(2) {
		o.partial = []string{[]string{"s1", "s2"}[d.rng.IntN(2)]}
	}
	d.drop(&o)
	o.model = d.model(o.partial)
	if d.p.shuffles && o.partial != nil { // the other agents are unchanged
		o.agents = slices.DeleteFunc(o.agents, func(a resource.Agent) bool {
			return !slices.ContainsFunc(o.model,
				func(s spec) bool { return s.id.Agent() == a.Name })
		})
	}
	return o
}

// drop makes one partial export in four remove the other set.
func (d *drawer) drop(o *op) {
	if o.partial == nil || !d.one(4) {
		return
	}
	other := map[string]string{"s1": "s2", "s2": "s1"}[o.partial[0]]
	o.drops = []string{other}
	for i := range d.pool {
		d.in[i] = d.in[i] && d.pool[i].set != other
	}
}

// ops draws the operations and their times.
func (d *drawer) ops() {
	d.p.Ops = append(d.p.Ops, d.export(0))
	at := time.Duration(0)
	gap := []time.Duration{50 * time.Millisecond, time.Second, 20 * time.Second}[d.rng.IntN(3)]
	for range 3 + d.rng.IntN(16) {
		at += time.Duration(d.rng.Int64N(int64(gap)))
		d.p.Ops = append(d.p.Ops, d.op(at)...)
	}
	d.p.End = at + gap
	for sweep := gap; sweep < d.p.End; sweep += max(gap, 2*time.Second) {
		d.p.Ops = append(d.p.Ops, op{At: sweep, kind: opSweep})
	}
	slices.SortStableFunc(d.p.Ops, func(a, b op) int { return int(a.At - b.At) })
}

// sender returns a resource with a dependant that receives its changes, or the argument otherwise
// if there is none.
func (d *drawer) sender(otherwise resource.ID) resource.ID {
	for i := range d.pool {
		for j := range d.pool {
			if s := &d.pool[j]; d.in[i] && d.in[j] && d.pool[i].flags.SendEvent &&
				s.id.Type() == typeThing && slices.Contains(s.requires, d.pool[i].id) {
				return d.pool[i].id
			}
		}
	}
	return otherwise
}

// defaultOps lists the kinds of operations, each as often as its weight.
var defaultOps = slices.Concat(slices.Repeat([]opKind{opExport}, 9), []opKind{opDeploy, opDeploy,
	opRepair, opRepair, opDryRun, opPause, opPause, opHalt, opSetParameter, opSetParameter,
	opDeleteParameter, opDrift, opDrift, opDrift, opBreak, opBreak, opBreak, opRotate, opCrash,
	opJump,
	opCollect})

// kind draws the kind of the next operation.
func (d *drawer) kind() opKind {
	all := defaultOps
	if d.focus != nil && d.focus.ops != nil {
		all = d.focus.ops
	}
	return all[d.rng.IntN(len(all))]
}

// op draws one operation, or several related ones.
func (d *drawer) op(at time.Duration) []op {
	o := op{At: at, agent: d.agents[d.rng.IntN(len(d.agents))].Name,
		id: d.pool[d.rng.IntN(len(d.pool))].id}
	later := at + time.Duration(d.rng.Int64N(int64(30*time.Second)))
	switch d.kind() {
	case opExport:
		if !d.one(6) {
			d.edit()
		}
		o = d.export(at)
	case opDeploy:
		o.kind, o.retryFailed = opDeploy, d.one(2)
	case opRepair:
		if o.kind = opRepair; d.one(2) {
			o.id = ""
		}
	case opDryRun:
		o.kind = opDryRun
	case opPause:
		o.kind, o.on = opPause, true
		back := o
		back.At, back.on = later, false
		return []op{o, back}
	case opHalt:
		o.kind, o.on = opHalt, true
		back := o
		back.At, back.on = later, false
		return []op{o, back}
	case opSetParameter:
		o.kind, o.n = opSetParameter, d.rng.Int64N(3)
	case opDeleteParameter:
		o.kind = opDeleteParameter
	case opDrift:
		o.kind, o.n = opDrift, d.rng.Int64N(3)
		switch repair := (op{At: at + time.Millisecond, kind: opRepair}); d.rng.IntN(4) {
		case 0: // with a crash during the repair
			o.id = d.sender(o.id)
			return []op{o, repair,
				{At: at + time.Duration(2+d.rng.IntN(30))*time.Millisecond, kind: opCrash}}
		case 1:
			return []op{o, repair}
		}
	case opBreak:
		o.kind, o.class, o.good, o.n = opBreak,
			[]provider.Class{provider.Retryable, provider.Terminal,
				provider.NeedsChange}[d.rng.IntN(3)], d.one(4), d.rng.Int64N(4)
		// temporary failures are mended later
		o.good = o.good && o.class != provider.Retryable && o.n != 2
		back := op{At: later, kind: opMend, id: o.id}
		return []op{o, back}
	case opRotate:
		o.kind, o.n = opRotate, 2+d.rng.Int64N(3)
	case opCrash:
		o.kind = []opKind{opCrash, opCancel}[d.rng.IntN(2)]
	case opJump:
		o.kind, o.d = opJump, time.Duration(d.rng.Int64N(int64(2*time.Hour)))
	case opRelease:
		o.kind, o.n = opRelease, d.rng.Int64N(20)
	case opForget:
		o.kind, o.agent = opForget, ""
	default:
		o.kind = opCollect
	}
	return []op{o}
}
