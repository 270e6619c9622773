package eval

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

// engine runs the statements of a program. It runs ready units until none is left, then freezes
// variables to make further units ready, until neither is possible.
type engine struct {
	program *program
	scheduler
	freezer
	indexes
	instances []*Instance
	out       strings.Builder
	params    []named
}

// scheduler holds the units that are not done, and enforces the limits of a run.
type scheduler struct {
	ctx    context.Context
	limits Limits
	used   used
	ready  line // units that can run
	first  *unit
	last   *unit
	spare  spare
	left   map[*variable]*unit // the result of makers, built after the run has stopped
}

// freezer holds the variables that accept further values until they are frozen.
type freezer struct {
	waiting candidates
	idle    idle
	stirred []*variable // idle variables that got a waiter or a listener
}

// indexes finds instances by their attributes.
type indexes struct {
	perEntity []entityData
	key       []byte                 // buffer for the key of an index, overwritten by the next key
	unknowns  map[*types.Unknown]int // numbers of the unknown values in keys of indexes
}

func (e *engine) print(text string) {
	if e.program.input.Print != nil {
		e.program.input.Print(text)
	}
	if int64(e.out.Len()+len(text)) <= e.limits.Bytes {
		e.out.WriteString(text)
	}
}

// loop runs all ready units. When no unit is ready, it freezes variables that may be complete. It
// returns when no unit is ready and no variable is left to freeze.
func (e *engine) loop() *fail {
	for round := 0; e.ready.first != nil || e.waiting.n+len(e.idle) > 0; round++ {
		if round >= e.limits.Rounds {
			return e.endless()
		}
		if f := e.work(roundWork, nil); f != nil {
			return f
		}
		if f := e.drain(); f != nil {
			return f
		}
		if e.freezeOne() || e.freezeStirred() || e.freezeCycle() {
			continue
		}
		e.freezeAll()
	}
	return nil
}

// drain runs all units that are ready.
func (e *scheduler) drain() *fail {
	for e.ready.first != nil {
		u := e.ready.pop()
		if e.used.steps++; e.due() {
			if f := e.judge(goesOn(u.task)); f != nil {
				return f
			}
		}
		f := u.task.run(u)
		switch {
		case f == nil:
			e.unlink(u)
		case len(f.unset) > 0:
			e.again(u, f.unset)
		default:
			if f.at == nil {
				f.at = u.task.pos()
			}
			return f
		}
	}
	return nil
}

// again makes a unit wait for the variables that its task turned out to need.
func (e *scheduler) again(u *unit, vars []*variable) {
	u.wait = 1
	for _, v := range vars {
		u.frame.vars = append(u.frame.vars, v)
		v.waitFor(u)
	}
	u.done()
}

// freezeOne freezes the first candidate that has waiters and no announced values. It sets
// candidates without effective waiters aside as idle.
func (e *freezer) freezeOne() bool {
	e.waiting.enqueue()
	for e.waiting.n > 0 {
		v := e.waiting.pop()
		switch {
		case v.ready:
		case v.potential() <= 0:
			e.idle.push(v)
		case v.late.promised > 0:
			v.queued = false // it is queued again with its next value
		default:
			v.freeze()
			return true
		}
	}
	e.waiting.passAll()
	return false
}

// freezeAll freezes the idle variables, which have no effective waiters, in descending order of
// turns.
func (e *freezer) freezeAll() {
	e.waiting.frozen = e.waiting.turn
	for _, v := range e.idle.drain() {
		v.freeze()
	}
}

// enlist queues a variable that was created on first access. It gets the place that it would have
// if it had been created with its instance. If that place was frozen before, the variable is ready.
func (e *freezer) enlist(v *variable, turn int64) {
	v.queued, v.late.turn = true, turn
	switch {
	case e.waiting.isOrdered(v.attr):
		e.waiting.push(v)
	case e.isFrozen(turn):
		v.ready = true
	case turn <= e.waiting.passed:
		e.idle.push(v)
	default:
		e.waiting.ask(v)
	}
}

// isFrozen reports whether the open relation with this turn, which no unit has accessed, counts as
// frozen.
func (e *freezer) isFrozen(turn int64) bool { return turn <= e.waiting.frozen }

// freezeStirred checks the idle variables that got waiters again, and freezes the first one that
// has no announced values.
func (e *freezer) freezeStirred() bool {
	slices.SortFunc(
		e.stirred,
		func(a, b *variable) int { return cmp.Compare(a.late.turn, b.late.turn) },
	)
	for _, v := range e.stirred {
		if !v.idle || v.ready || v.potential() <= 0 {
			continue
		}
		e.idle.remove(v)
		e.waiting.push(v)
	}
	e.stirred = e.stirred[:0]
	for e.waiting.n > 0 {
		v := e.waiting.pop()
		if v.late.promised > 0 {
			v.queued = false
			continue
		}
		v.freeze()
		return true
	}
	return false
}

// freezeCycle freezes one of the variables that wait for each other: the one of the lowest rank
// among those with announced values and waiters.
func (e *engine) freezeCycle() bool {
	var first *variable
	for u := e.first; u != nil; u = u.next {
		e.used.steps++
		for _, v := range u.frame.vars {
			if v = v.real(); v == nil || v.late == nil || v.ready {
				continue
			}
			if v.late.promised > 0 && v.potential() > 0 &&
				(first == nil || e.waiting.rank(v) < e.waiting.rank(first)) {
				first = v
			}
		}
	}
	if first == nil {
		return false
	}
	first.freeze()
	return true
}

// finish returns the problems of a run that has stopped: lookups without a match, incomplete
// instances, and statements that still wait.
func (e *engine) finish() []*fail {
	var out []*fail
	for _, entity := range e.program.entities {
		d := e.data(entity)
		for _, key := range d.keys {
			for _, l := range d.lookups[key] {
				f := failed(
					CodeNoMatch,
					l.at,
					"there is no instance of %s with %s",
					entity.FullName(),
					key,
				).heavy(20)
				f.hint = d.keysHint(key)
				out = append(out, f.with(entity.At, "the entity is defined here"))
			}
		}
		out = append(out, e.annotations(entity)...)
	}
	e.waiting.frozen = e.waiting.turn
	for _, o := range e.instances {
		out = append(out, e.complete(o)...)
	}
	if len(out) == 0 && e.first != nil {
		out = append(out, e.stuck())
	}
	return out
}

// annotations returns a problem for each annotation of a relation that has no known value.
func (e *engine) annotations(entity *types.Entity) []*fail {
	var out []*fail
	for _, a := range entity.Own {
		for _, v := range e.program.annotations[a] {
			switch {
			case !v.ready:
				out = append(
					out,
					failed(
						CodeIncomplete,
						a.At,
						"an annotation of the relation %s has no value",
						a.Name,
					),
				)
			case types.IsUnknown(v.value):
				out = append(
					out,
					failed(
						CodeType,
						a.At,
						"an annotation of the relation %s is unknown",
						a.Name,
					).heavy(10),
				)
			}
		}
	}
	return out
}

// complete freezes the attributes of an instance that may be complete, and returns problems for
// missing implementations and attributes.
func (e *engine) complete(o *Instance) []*fail {
	var out []*fail
	if o.done.last == nil {
		f := failed(
			CodeNoImplement,
			o.lastAt(),
			"no implementation holds for this instance of %s",
			o.entity.FullName(),
		)
		f.hint = "write `implement " + o.entity.Name + " using std::none` if it needs none"
		if len(e.program.builders(o.entity)) > 0 {
			f.hint = "none of the conditions of its `implement ... when` is true; add one that is"
		}
		out = append(out, f.with(o.entity.At, "the entity is defined here").madeAlsoAt(o))
	}
	var without []*variable
	for i, v := range o.vars {
		if v == nil && o.entity.All()[i].Relation.Low <= 0 {
			continue
		}
		switch v = o.ask(i); {
		case v.isReady():
		case v.isOpen() && v.complete():
			v.freeze()
		default:
			without = append(without, v)
		}
	}
	if len(without) > 0 {
		out = append(out, e.lacking(o, without))
	}
	return out
}

// endless returns the problem of a model that does not terminate, with the positions of units that
// are not done.
func (e *engine) endless() *fail {
	f := failed(
		CodeEndless,
		nil,
		"the model does not come to an end: it still went on after %d rounds",
		e.limits.Rounds,
	).heavy(1)
	for u, n := e.first, 0; u != nil && n < 5; u, n = u.next, n+1 {
		if f.at == nil {
			f.at = u.task.pos()
			continue
		}
		f.with(u.task.pos(), "this still went on")
	}
	return f
}
