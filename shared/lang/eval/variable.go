package eval

import (
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// kind is the kind of a variable.
type kind uint8

const (
	plain kind = iota // set once
	// the variable of a comprehension, which has a value from the start and passes it to listeners
	element
	truth   // plain, and holds a bool: the result of `and` and `or`
	single  // a relation to one
	option  // a relation to one or none
	many    // a relation to many
	literal // the list of a list literal, which grows element by element
	proxy   // stands for a variable that is not found yet
)

// variable holds a value, or will hold one. Units wait for the value. Collectors listen to receive
// values one by one.
//
// Large: one struct covers eight kinds, which its field kind distinguishes. A model has millions of
// variables, most of them plain. A type for each kind behind an interface would cost two more words
// in every frame and attribute. Each read of a value would cost a call that is not inlined.
type variable struct {
	value   types.Value      // of a proxy, a *far
	at      *diag.Pos        // the position where the value was set
	waiters *waiter          // the last one; nil if no unit waits
	attr    *types.Attribute // the attribute of an instance; nil for other variables
	owner   *Instance        // of a relation
	late    *late            // for option, many and literal
	kind    kind
	ready   bool
	queued  bool
	idle    bool // in the list of variables without effective waiters
}

// waiter is an entry of the circular list of units that wait for a variable.
type waiter struct {
	unit *unit
	next *waiter // of the last one, the first
}

// late is the additional state of a variable whose number of values is not known in advance.
type late struct {
	engine    *engine
	list      types.List // of many and literal
	seen      map[types.Value]struct{}
	listeners []collector
	hearing   map[collector]struct{} // the set of listeners, if there are many
	// the turn among candidates for a freeze, and among variables without effective waiters
	turn     int64
	place    int // index in the list of variables without effective waiters
	waiting  int // number of waiters
	quiet    int // number of waiters that do not need the freeze, since they listen
	promised int // number of announced values that have not arrived
}

// newOpen returns a variable whose number of values is not known in advance.
func newOpen(e *engine, v variable) *variable {
	out := &struct {
		variable
		late
	}{v, late{engine: e}}
	out.variable.late = &out.late
	return &out.variable
}

// far is the additional state of a proxy.
type far struct {
	to     *variable
	by     *unit // the unit that will connect the proxy
	listen collector
	notify bool // to does not pass values one by one; get passes its value to listen instead
	at     *diag.Pos
}

// newProxy returns a variable that will stand for another variable.
func newProxy(listen collector, at *diag.Pos) *variable {
	p := &struct {
		variable
		far
	}{variable{kind: proxy}, far{listen: listen, at: at}}
	p.value = &p.far
	return &p.variable
}

// far returns the additional state of a proxy.
func (v *variable) far() *far { return v.value.(*far) }

// collector receives values one by one, as they become known.
type collector interface {
	// receive accepts a value. done reports that the collector needs no further values.
	receive(v types.Value, at *diag.Pos) (done bool, f *fail)
	// pure reports that the collector does nothing when the list is complete.
	pure() bool
}

// tell passes a value, or each item of a list, to a collector.
func tell(c collector, v types.Value, at *diag.Pos) *fail {
	l, ok := v.(*types.List)
	if !ok {
		_, f := deliver(c, v, at)
		return f
	}
	for _, item := range l.Items {
		if done, f := c.receive(item, at); done || f != nil {
			return f
		}
	}
	return nil
}

func known(v types.Value) *variable { return &variable{value: v, ready: true} }

// isOpen reports whether this is a relation whose number of values is not known in advance.
func (v *variable) isOpen() bool { return v.kind == option || v.kind == many }

func (v *variable) isReady() bool {
	if v.kind == proxy {
		return v.far().to != nil && v.far().to.isReady()
	}
	return v.ready
}

// real returns the variable behind proxies; nil if it is not found yet.
func (v *variable) real() *variable {
	for v != nil && v.kind == proxy {
		v = v.far().to
	}
	return v
}

// get returns the value of a variable that is ready.
func (v *variable) get() (types.Value, *fail) {
	if v.kind == proxy {
		out, f := v.far().to.get()
		if f != nil || !v.far().notify {
			return out, f
		}
		far := v.far()
		c := far.listen
		far.listen, far.notify = nil, false
		return out, tell(c, out, far.at)
	}
	switch {
	case v.kind == many || v.kind == literal:
		return &v.late.list, nil
	case v.value == nil && v.kind == option:
		return nil, notSet(v)
	}
	return v.value, nil
}

// waitFor makes a unit wait for the variable.
func (v *variable) waitFor(u *unit) {
	switch {
	case v.kind == proxy && v.far().to != nil:
		u.wait++
		v.far().to.resume(u)
	case v.kind != proxy && v.ready:
	default:
		u.wait++
		v.add(u)
	}
}

// resume makes a unit, whose wait is already counted, wait for the variable, or notifies it if the
// variable is ready.
func (v *variable) resume(u *unit) {
	if v.kind == proxy && v.far().to != nil {
		v.far().to.resume(u)
		return
	}
	if v.kind != proxy && v.ready {
		u.done()
		return
	}
	v.add(u)
}

func (v *variable) add(u *unit) {
	w := &waiter{unit: u}
	if w.next = w; v.waiters != nil {
		w.next, v.waiters.next = v.waiters.next, w
	}
	if v.waiters = w; v.late != nil {
		v.late.waiting++
	}
	v.stir()
}

// stir queues an idle variable for another check, because it got a waiter or a listener.
func (v *variable) stir() {
	if v.idle {
		v.late.engine.stirred = append(v.late.engine.stirred, v)
	}
}

// use connects a proxy to a variable.
func (v *variable) use(to *variable) *fail {
	far := v.far()
	far.to, far.by = to, nil
	if far.listen != nil {
		heard, f := to.listen(far.listen, far.at)
		if f != nil {
			return f
		}
		if far.notify = !heard; heard {
			far.listen = nil
		}
	}
	v.forAll(to.resume)
	return nil
}

// listen adds a collector. It returns false and passes no values if the variable does not pass
// values one by one.
func (v *variable) listen(c collector, at *diag.Pos) (bool, *fail) {
	switch v.kind {
	case element:
		_, f := deliver(c, v.value, at)
		return true, f
	case many:
	default:
		return false, nil
	}
	for _, item := range slices.Clone(v.late.list.Items) {
		if _, f := c.receive(item, at); f != nil {
			return true, f
		}
	}
	if v.ready {
		return true, nil
	}
	if v.late.hears(c) {
		v.late.quiet++
		return true, nil
	}
	v.late.addListener(c)
	if c.pure() {
		v.late.quiet++
	}
	v.stir()
	return true, nil
}

// wake notifies all waiting units.
func (v *variable) wake() {
	v.forAll((*unit).done)
}

// forAll removes the waiters of a variable, and calls do for each of them.
func (v *variable) forAll(do func(*unit)) {
	last := v.waiters
	if last == nil {
		return
	}
	v.waiters = nil
	if v.late != nil {
		v.late.waiting = 0
	}
	for w := last.next; ; w = w.next {
		do(w.unit)
		if w == last {
			return
		}
	}
}

// set sets the value of a variable, or adds one of its values. If turn is true, set also sets the
// other end of a relation.
func (v *variable) set(value types.Value, at *diag.Pos, turn bool) *fail {
	switch v.kind {
	case many:
		return v.setMany(value, at, turn)
	case option:
		return v.setOption(value, at, turn)
	case literal:
		v.setLiteral(value)
		return nil
	}
	return v.setOnce(value, at, turn)
}

func (v *variable) setOnce(value types.Value, at *diag.Pos, turn bool) *fail {
	if v.ready {
		if !types.Equal(v.value, value) {
			if v.attr != nil && v.attr.Name == "self" {
				return selfSet(v, value)
			}
			return twice(v, value, at)
		}
		return nil
	}
	if f := v.check(value); f != nil {
		return f
	}
	v.value, v.at, v.ready = value, at, true
	if v.kind == single && turn {
		if f := v.turn(value, at); f != nil {
			return f
		}
	}
	v.wake()
	return nil
}

// check returns a problem if the type of a value is wrong.
func (v *variable) check(value types.Value) *fail {
	switch {
	case v.kind == truth:
		if err := types.Bool.Check(value); err != nil {
			return &fail{code: CodeType, message: err.Error(), weight: 100}
		}
	case v.attr != nil && v.attr.Name == "self":
		return selfSet(v, value)
	case v.attr != nil && !types.IsUnknown(value):
		if err := v.attr.Accepts.Check(value); err != nil {
			return wrongType(v, value, err)
		}
	}
	return nil
}

// turn sets the other end of a relation.
func (v *variable) turn(value types.Value, at *diag.Pos) *fail {
	inverse := v.attr.Relation.Inverse
	if inverse == nil {
		return nil
	}
	o, ok := value.(*Instance)
	if !ok {
		return &fail{
			code:    CodeType,
			message: "a relation that has another end cannot be set to " + types.Kind(value),
			weight:  100,
		}
	}
	return o.setAttribute(inverse.Name, v.owner, at, false)
}

func (v *variable) setOption(value types.Value, at *diag.Pos, turn bool) *fail {
	_, null := value.(types.Null)
	if v.ready {
		switch {
		case v.value == nil && null:
			return nil
		case v.value == nil:
			return tooLate(v, value, at, turn)
		case !types.Equal(v.value, value):
			return twice(v, value, at)
		}
	}
	if !null {
		if f := v.check(value); f != nil {
			return f
		}
	}
	if _, ok := value.(*Instance); ok && turn {
		if f := v.turn(value, at); f != nil {
			return f
		}
	}
	if !null {
		v.value = value
	}
	v.at = at
	v.freeze()
	return nil
}

func (v *variable) setLiteral(value types.Value) {
	if l, ok := value.(*types.List); ok {
		v.late.list.Items = append(v.late.list.Items, l.Items...)
		return
	}
	v.late.list.Items = append(v.late.list.Items, value)
}

// complete reports whether a variable may have all its values: it has enough values, and no
// announced value is outstanding.
func (v *variable) complete() bool {
	switch v.kind {
	case many:
		return len(v.late.list.Items) >= v.attr.Relation.Low && v.late.promised <= 0
	case option, literal:
		return v.late.promised <= 0
	}
	return v.ready
}

// offer queues a variable that may be complete. A queued variable is frozen when no unit is ready.
func (v *variable) offer() {
	if v.ready || v.queued || !v.complete() {
		return
	}
	v.queued = true
	v.late.engine.waiting.push(v)
}

// potential returns the number of waiters that a freeze of the variable would help. A relation with
// First counts as one more.
func (v *variable) potential() int {
	if v.kind == literal {
		return 0
	}
	n := v.late.waiting - v.late.quiet
	if v.attr.Relation.First {
		n++
	}
	return n
}

// freeze closes a variable: it accepts no further values.
func (v *variable) freeze() {
	if v.ready {
		return
	}
	v.ready, v.queued = true, true
	if v.late != nil {
		v.late.listeners, v.late.hearing = nil, nil
	}
	v.wake()
}

// promise is an announced value.
type promise struct {
	of   *variable
	kept bool
}

// announce returns a promise of a value. The promise has no effect if the variable does not count
// promises.
func (v *variable) announce() promise {
	if v.late == nil || v.ready {
		return promise{of: v, kept: true}
	}
	v.late.promised++
	return promise{of: v}
}

// keep ends a promise: its value has arrived, or will not arrive.
func (p *promise) keep() {
	if p.kept {
		return
	}
	p.kept = true
	v := p.of
	if v.ready {
		return
	}
	v.late.promised--
	if v.kind == literal {
		if v.late.promised == 0 {
			v.freeze()
		}
		return
	}
	v.offer()
}
