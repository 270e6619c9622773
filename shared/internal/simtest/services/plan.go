package services

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/internal/simtest/engine"
)

// Plan is the schedule of a seed.
type Plan struct {
	Seed  uint64
	Ops   []Op
	Rates engine.Rates
	Dead  bool // other processes learn that a process is dead
	// Workers is the number of concurrent workers: one, or two that do not know of each other. Two
	// occur if a worker has lost its turn and does not know it yet.
	Workers int
	// Visits makes workers act as the compile function does. They visit the instances that notices
	// name, and notices may be lost, doubled or late. They also visit instances that a sweep finds.
	// Otherwise workers do all due tasks, as an embedded home does.
	Visits bool
}

// Op is an operation of a customer, an operator or the world.
type Op struct {
	At   time.Duration
	Kind kind
	Slot int // the slot of its instance
	// Attributes are the given attributes, if the kind takes any.
	Attributes map[string]any
	// Stale is the pause between reading the instance and requesting the change. Blind skips the
	// read.
	Stale time.Duration
	Blind bool
	N     int  // the offer, the page, the state, …
	More  []Op // the items of an order
}

// kind is the kind of an operation.
type kind string

const (
	opCreate   kind = "create"
	opUpdate   kind = "update"
	opEdit     kind = "edit"
	opDelete   kind = "delete"
	opState    kind = "state"
	opSeveral  kind = "several"
	opMetadata kind = "metadata"
	opRollout  kind = "rollout"
	opBack     kind = "back"
	opOffer    kind = "offer"
	opBreak    kind = "break"
	opMend     kind = "mend"
	opApply    kind = "apply"
	opRepair   kind = "repair"
	opCrash    kind = "crash"
	// Manual operations besides orders. opRelease releases an earlier version, and opTarget applies
	// a model to the resources of a filter. opClaim claims the resource set of an instance, and
	// opStore only stores a version.
	opRelease kind = "release"
	opTarget  kind = "target"
	opClaim   kind = "claim"
	opStore   kind = "store"
)

// The slots of instances: sites, then parts, then notes.
const (
	sites = 3
	parts = 2
	notes = 2
	slots = sites + parts + notes
)

// serviceOf returns the service of a slot.
func serviceOf(slot int) string {
	switch {
	case slot < sites:
		return "site"
	case slot < sites+parts:
		return "part"
	}
	return "note"
}

// idOf returns the id of the instance in a slot.
func idOf(slot int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", slot+1) }

// Draw returns the plan of a seed.
func Draw(seed uint64) *Plan {
	rng := rand.New(rand.NewPCG(seed, 0x5e1ec7))
	p := &Plan{Seed: seed, Rates: engine.DrawRates(rng), Dead: rng.IntN(2) == 0, Workers: 1}
	if rng.IntN(3) == 0 {
		p.Workers = 2
	}
	p.Visits = rng.IntN(2) == 0
	d := &drawer{Rand: rng}
	at, limit := time.Duration(0), 8+rng.IntN(20)
	pace := []time.Duration{300 * time.Millisecond, 2 * time.Second, 8 * time.Second}[rng.IntN(3)]
	for len(p.Ops) < limit {
		next := d.next()
		for _, op := range next {
			switch {
			case len(next) > 1: // each after the previous one is done
				at += 3*time.Second + time.Duration(rng.Int64N(int64(3*time.Second)))
			case rng.IntN(4) > 0: // the others come concurrently
				at += time.Duration(rng.Int64N(int64(pace)))
			}
			op.At = at
			p.Ops = append(p.Ops, op)
		}
	}
	byHand(p)
	rollouts(p)
	return p
}

// rollouts adds moves of instances to offered models, and returns, to one plan of three. It has its
// own random source, as byHand does.
func rollouts(p *Plan) {
	rng := rand.New(rand.NewPCG(p.Seed, 0x2011))
	if rng.IntN(3) > 0 {
		return
	}
	var ordered []Op
	for _, op := range p.Ops {
		if op.Kind == opCreate {
			ordered = append(ordered, op)
		}
	}
	if len(ordered) == 0 {
		return
	}
	end := int64(p.Ops[len(p.Ops)-1].At + 10*time.Second)
	for range 1 + rng.IntN(4) {
		at := time.Duration(rng.Int64N(end))
		p.Ops = append(p.Ops, Op{Kind: opOffer, At: at, N: rng.IntN(20)})
		for range 1 + rng.IntN(4) {
			at += time.Duration(rng.Int64N(int64(5 * time.Second)))
			of := ordered[rng.IntN(len(ordered))]
			op := Op{Kind: opRollout, Slot: of.Slot, At: at, Blind: true}
			p.Ops = append(p.Ops, op)
			if rng.IntN(2) > 0 {
				op.Kind, op.At = opBack, at+time.Duration(rng.Int64N(int64(10*time.Second)))
				p.Ops = append(p.Ops, op)
			}
		}
	}
	slices.SortStableFunc(p.Ops, func(a, b Op) int { return cmp.Compare(a.At, b.At) })
}

// byHand adds manual operations on the resources of instances to one plan of three. It has its own
// random source, so the rest of the plan does not depend on it.
func byHand(p *Plan) {
	rng := rand.New(rand.NewPCG(p.Seed, 0x4a4d))
	if rng.IntN(3) > 0 {
		return
	}
	end := p.Ops[len(p.Ops)-1].At + 10*time.Second
	for range 1 + rng.IntN(4) {
		p.Ops = append(p.Ops, Op{
			Kind: []kind{opRelease, opTarget, opClaim, opStore}[rng.IntN(4)], Slot: rng.IntN(slots),
			At: time.Duration(rng.Int64N(int64(end))), N: rng.IntN(1000),
		})
	}
	slices.SortStableFunc(p.Ops, func(a, b Op) int { return cmp.Compare(a.At, b.At) })
}

// drawer draws operations. It remembers which instances were ordered, if all orders succeeded.
type drawer struct {
	*rand.Rand
	ordered []int
}

func (d *drawer) may(n int) bool { return d.IntN(n) == 0 }

// next returns the next operation, or several that belong together.
func (d *drawer) next() []Op {
	all := []kind{
		opCreate, opCreate, opCreate, opCreate, opUpdate, opUpdate, opUpdate, opUpdate, opUpdate,
		opEdit, opDelete, opDelete, opState, opSeveral, opMetadata, opOffer, opBreak, opMend,
		opApply,
		opRepair, opCrash,
	}
	switch d.IntN(50) { // occasionally
	case 0, 1:
		return d.stricter()
	case 2:
		return d.failing()
	case 3:
		return repaired()
	}
	return []Op{d.op(all[d.IntN(len(all))])}
}

// stricter returns an update of fixed that is rejected, an offer in which customers can set fixed
// only once, and another update.
func (d *drawer) stricter() []Op {
	slot := d.IntN(sites)
	update := func(attributes map[string]any) Op {
		return Op{Kind: opUpdate, Slot: slot, Blind: true, Attributes: attributes}
	}
	create := d.op(opCreate)
	create.Slot = slot
	create.Attributes = map[string]any{
		"name": nameOf(slot), "path": fmt.Sprintf("p%d", slot), "fixed": "f",
	}
	return []Op{
		{Kind: opOffer}, create, {Kind: opMend},
		update(map[string]any{"fixed": "g", "text": "wrong"}),
		{Kind: opOffer, N: 3}, update(map[string]any{"text": "bye"}), // fixed is rw in this offer
	}
}

// failing returns an update that cannot be deployed, and its rollback.
func (d *drawer) failing() []Op {
	slot := d.IntN(sites)
	create := d.op(opCreate)
	create.Slot = slot
	create.Attributes = map[string]any{"name": nameOf(slot), "path": fmt.Sprintf("p%d", slot)}
	back := d.op(opState)
	back.Slot, back.N = slot, 1 // the state that it can roll back to
	return []Op{
		{Kind: opOffer}, create, {Kind: opBreak, N: slot},
		{Kind: opUpdate, Slot: slot, Blind: true, Attributes: map[string]any{"text": "bye"}}, back,
	}
}

// repaired returns a repair that fails, and another one that finds no fault.
func repaired() []Op {
	ops := []Op{
		{Kind: opCreate, Attributes: map[string]any{"name": nameOf(0), "path": "p0"}},
		{Kind: opBreak}, {Kind: opUpdate, Blind: true, Attributes: map[string]any{"text": "bye"}},
		{Kind: opMend}, {Kind: opRepair},
	}
	for i := range ops {
		ops[i].At = time.Duration(i) * 5 * time.Second // each after the previous one is done
	}
	return ops
}

// op draws an operation of a kind.
func (d *drawer) op(k kind) Op {
	op := Op{Kind: k, Slot: d.slot(k), N: d.IntN(20), Blind: d.may(4)}
	if d.may(3) {
		op.Stale = time.Duration(d.Int64N(int64(2 * time.Second)))
	}
	if k == opSeveral {
		for n := range 2 + d.IntN(2) {
			item := d.op([]kind{opCreate, opCreate, opUpdate, opDelete}[d.IntN(4)])
			if n > 0 && !d.may(8) {
				item.Slot = (op.More[n-1].Slot + 1 + d.IntN(2)) % slots
				item.Attributes = d.attributes(&item)
			}
			op.More = append(op.More, item)
		}
		return op
	}
	op.Attributes = d.attributes(&op)
	return op
}

// slot draws a slot: any slot for orders, and an ordered one for other operations.
func (d *drawer) slot(k kind) int {
	if k == opCreate || k == opSeveral || len(d.ordered) == 0 || d.may(20) {
		slot := d.IntN(slots)
		if len(d.ordered) == 0 {
			slot = 0
		}
		if k == opCreate {
			d.ordered = append(d.ordered, slot)
		}
		return slot
	}
	return d.ordered[d.IntN(len(d.ordered))]
}

// nameOf returns the name of the instance in a slot.
func nameOf(slot int) string { return string(rune('a' + slot)) }

// attributes returns the attributes of an operation.
func (d *drawer) attributes(op *Op) map[string]any {
	service, create := serviceOf(op.Slot), op.Kind == opCreate
	out := map[string]any{}
	if create || d.may(12) {
		out["name"] = nameOf(op.Slot)
		if d.may(10) {
			out["name"] = "a"
		}
	}
	if service != "site" && (create || d.may(12)) {
		out["site"] = idOf(0)
		if d.may(3) {
			out["site"] = idOf(d.IntN(sites))
		}
	}
	if service != "note" && (create || !d.may(3)) {
		out["text"] = []string{"hello", "bye", "more", "other", "wrong"}[d.IntN(5)]
	}
	if service != "site" {
		return out
	}
	if create || d.may(4) {
		out["path"] = fmt.Sprintf("p%d", op.Slot)
		if d.may(6) {
			out["path"] = fmt.Sprintf("p%d", d.IntN(sites))
		}
	}
	if d.may(4) {
		out["fixed"] = []string{"f", "g"}[d.IntN(2)]
	}
	if d.may(30) {
		out["port"] = 5
	}
	if d.may(20) {
		out["more"] = "n"
	}
	return out
}
