package eval

import (
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// Instance is an instance of an entity.
type Instance struct {
	engine *engine
	entity *types.Entity
	vars   []*variable // one for each attribute; nil for an open relation before its first access
	self   *variable   // nil before its first access
	turn   int64       // turn of the first attribute among the candidates for a freeze
	number int32
	depth  int32 // nesting depth of implementations at its construction
	made   made
	done   applied
	scope  scope
}

// made is a linked list of the positions of the constructors of an instance, the last one first.
type made struct {
	at     *diag.Pos
	before *made
}

// all returns the positions in order.
func (m *made) all() []*diag.Pos {
	var out []*diag.Pos
	for ; m != nil; m = m.before {
		out = append(out, m.at)
	}
	slices.Reverse(out)
	return out
}

// applied is a linked list of the implementations that were applied to an instance. Most instances
// have one.
type applied struct {
	last   *implementation
	before *applied
}

// add adds an implementation, and returns false if it was added before.
func (a *applied) add(i *implementation) bool {
	if a.last == nil {
		a.last = i
		return true
	}
	for b := a; b != nil; b = b.before {
		if b.last == i {
			return false
		}
	}
	before := *a
	a.last, a.before = i, &before
	return true
}

// Type implements types.Object.
func (o *Instance) Type() *types.Entity { return o.entity }

// Number implements types.Object.
func (o *Instance) Number() int { return int(o.number) }

// String implements types.Object.
func (o *Instance) String() string {
	var places []string
	for _, at := range o.made.all() {
		places = append(places, at.String())
	}
	return o.entity.FullName() + " (made at " + strings.Join(places, ", ") + ")"
}

// Text implements types.Object: the form that the reference compiler inserts into texts.
func (o *Instance) Text() string {
	var places []string
	for _, at := range o.made.all() {
		places = append(places, at.File+":"+strconv.Itoa(at.Line))
	}
	return o.entity.FullName() + " (instantiated at " + strings.Join(places, ",") + ")"
}

// Pos returns the position of the last constructor of the instance.
func (o *Instance) Pos() diag.Pos { return *o.made.at }

// variable returns the variable of an attribute, or self; nil if there is none.
func (o *Instance) variable(name string) *variable {
	if i := o.entity.Place(name); i >= 0 {
		return o.ask(i)
	}
	if name != "self" {
		return nil
	}
	if o.self == nil {
		o.self = known(o)
	}
	return o.self
}

// ask returns the variable of the attribute with this number. An open relation gets its variable on
// first access, because models access few of them. The variable takes the place among the
// candidates for a freeze that it would have if it had always existed.
func (o *Instance) ask(i int) *variable {
	if v := o.vars[i]; v != nil {
		return v
	}
	a := o.entity.All()[i]
	v := newOpen(o.engine, variable{kind: kindOf(a), attr: a, owner: o})
	o.vars[i] = v
	if v.complete() {
		o.engine.enlist(v, o.turn+int64(i))
	}
	return v
}

// Value returns the value of an attribute; false if the attribute does not exist or has no value.
func (o *Instance) Value(name string) (types.Value, bool) {
	i := o.entity.Place(name)
	if i < 0 {
		return nil, false
	}
	v := o.vars[i]
	if v == nil {
		empty := kindOf(o.entity.All()[i]) == many && o.engine.isFrozen(o.turn+int64(i))
		return &types.List{}, empty
	}
	if !v.isReady() {
		return nil, false
	}
	out, f := v.get()
	return out, f == nil
}

// Place returns the position where an attribute got its value. If that is not known, or the value
// is a default, it returns the position of the constructor.
func (o *Instance) Place(name string) diag.Pos {
	if i := o.entity.Place(name); i >= 0 {
		v := o.vars[i].real()
		if v != nil && v.at != nil && v.at.Line > 0 && !v.isDefault(v.at) {
			return *v.at
		}
	}
	return o.Pos()
}

// lastAt returns the position of the last constructor of the instance.
func (o *Instance) lastAt() *diag.Pos { return o.made.at }

func (o *Instance) setAttribute(name string, value types.Value, at *diag.Pos, turn bool) *fail {
	v := o.variable(name)
	if v == nil {
		return failed(
			CodeUnknownAttr,
			nil,
			"%s has no attribute %s",
			o.entity.FullName(),
			name,
		).heavy(20)
	}
	return setting(o, name, o.lastAt(), v.set(value, at, turn).ofValue(at))
}

// make creates an instance with the values of its indexed attributes.
func (e *engine) make(
	entity *types.Entity,
	values []named,
	at *diag.Pos,
	depth int,
) (*Instance, *fail) {
	if f := e.room(depth, len(entity.All()), at); f != nil {
		return nil, f
	}
	o := &Instance{
		engine: e, entity: entity, made: made{at: at}, turn: e.waiting.reserve(len(entity.All())),
		number: int32(len(e.instances)), depth: int32(depth), // bounded by room
	}
	o.scope.instance = o
	e.furnish(o)
	for _, n := range values {
		if f := o.setAttribute(n.name, n.value, n.place(at), true); f != nil {
			return nil, f
		}
	}
	e.instances = append(e.instances, o)
	e.used.instances++
	return o, e.register(o)
}

// furnish creates the variables of an instance, except those of open relations. A relation that a
// policy orders must be a candidate for a freeze from the start, so it gets its variable here.
func (e *engine) furnish(o *Instance) {
	d, all := e.data(o.entity), o.entity.All()
	if d.closed == 0 {
		for i, a := range all {
			if k := kindOf(a); k == plain || k == single {
				d.closed++
			}
			if a.Name == "self" {
				d.self = i + 1
			}
		}
	}
	o.vars = make([]*variable, len(all))
	closed := make([]variable, d.closed)
	for i, a := range all {
		switch k := kindOf(a); k {
		case plain, single:
			closed[0] = variable{kind: k, attr: a, owner: o}
			o.vars[i], closed = &closed[0], closed[1:]
		default:
			if e.waiting.isOrdered(a) {
				o.ask(i)
			}
		}
	}
	if d.self > 0 { // it holds the instance from the start, as in the reference compiler
		o.vars[d.self-1] = &variable{
			kind: plain, attr: all[d.self-1], owner: o, value: o, at: o.made.at, ready: true,
		}
	}
}

// kindOf returns the kind of the variable of an attribute.
func kindOf(a *types.Attribute) kind {
	switch r := a.Relation; {
	case r == nil:
		return plain
	case r.Low == 1 && r.High == 1:
		return single
	case r.Low == 0 && r.High == 1:
		return option
	}
	return many
}
