package eval

import (
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// unit is a piece of work that waits for the variables of its frame.
type unit struct {
	wait       int
	frame      frame
	task       task
	engine     *engine
	prev, next *unit // among all that are not done
}

// task is what a unit does when its variables are ready.
type task interface {
	run(u *unit) *fail
	// pos is where its statement stands.
	pos() *diag.Pos
}

// frame holds the variables that a piece of work needs, in the places that its nodes were given.
type frame struct {
	vars []*variable
	base int
}

func (f frame) set(slot int, v *variable) { f.vars[slot-f.base] = v }
func (f frame) at(slot int) *variable     { return f.vars[slot-f.base] }

// get returns the value of a place.
func (f frame) get(slot int) types.Value {
	v := f.vars[slot-f.base].real()
	if v.kind == many || v.kind == literal {
		return &v.late.list
	}
	return v.value
}

// start makes a unit. Its frame is filled.
func (e *engine) start(t task, f frame) *unit {
	u := &unit{wait: 1, frame: f, task: t, engine: e}
	e.link(u)
	e.used.live += u.size()
	for _, v := range f.vars {
		if v != nil {
			v.waitFor(u)
		}
	}
	u.done()
	return u
}

// size is about how much memory a unit takes with its task, the variables of its frame and the
// scope that it keeps.
func (u *unit) size() int64 { return unitSize + slotSize*int64(len(u.frame.vars)) }

// done says that one of the things that the unit waits for is there.
func (u *unit) done() {
	if u.wait--; u.wait == 0 {
		u.engine.queue.push(u)
	}
}

func (e *engine) link(u *unit) {
	if u.prev = e.last; e.last != nil {
		e.last.next = u
	} else {
		e.first = u
	}
	e.last = u
}

func (e *engine) unlink(u *unit) {
	e.used.live -= u.size()
	if u.prev != nil {
		u.prev.next = u.next
	} else {
		e.first = u.next
	}
	if u.next != nil {
		u.next.prev = u.prev
	} else {
		e.last = u.prev
	}
}

// take reads all variables of the frame: what is wrong with one of them, and values for those that
// listen.
func (u *unit) take() *fail {
	for _, v := range u.frame.vars {
		if v == nil || v.kind == plain {
			continue
		}
		if _, f := v.get(); f != nil {
			return f
		}
	}
	return nil
}

// compute is a task: it computes a node, and gives the value to a variable.
type compute struct {
	node     node
	scope    *scope
	result   promise
	collect  collector // what takes values one by one; nil for none
	tells    bool      // the node does not tell them by itself
	by       *diag.Pos // the statement that it belongs to
	instance *Instance // whose attribute is set; nil for anything else
	name     string    // of that attribute, or of the variable
}

func (c *compute) pos() *diag.Pos { return c.node.pos() }

func (c *compute) run(u *unit) *fail {
	f := c.work(u)
	switch {
	case f == nil:
		return nil
	case c.instance == nil:
		if f.code == CodeDoubleSet && f.cause == nil && c.name != "" {
			f.message = strings.Replace(f.message, "the value is", c.name+" is", 1)
		}
		return f.in(c.by, false)
	case f.code == CodeOptional && f.cause == nil:
		f.in(c.by, true)
		f.at = c.by
	case f.cause != nil:
		return f.in(c.by, false)
	default:
		f.in(c.by, false)
	}
	return setting(c.instance, c.name, c.by, f)
}

func (c *compute) work(u *unit) *fail {
	if f := u.take(); f != nil {
		return f
	}
	v, f := c.node.value(u.engine, c.scope, u.frame)
	if f != nil {
		return f
	}
	if v == nil {
		return nil
	}
	if c.tells {
		if f := tell(c.collect, v, c.node.pos()); f != nil {
			return f
		}
	}
	if c.result.of == nil {
		return nil
	}
	if f := c.result.of.set(v, c.node.pos(), true); f != nil {
		return f
	}
	c.result.keep()
	return nil
}

// compute starts the computation of a node whose value goes to a variable, in a frame of its own.
func (e *engine) compute(n node, s *scope, to *variable, by *diag.Pos) *fail {
	return e.assign(n, s, to, by, "")
}

// assign is compute for a variable that has a name.
func (e *engine) assign(n node, s *scope, to *variable, by *diag.Pos, name string) *fail {
	f := newFrame(n)
	if x := n.emit(e, s, f); x != nil {
		return x
	}
	c := &compute{node: n, scope: s, by: by, name: name}
	if to != nil {
		c.result = to.announce()
	}
	e.start(c, f)
	return nil
}

// gradually is compute for a consumer that takes values one by one; c may be nil.
func (e *engine) gradually(n node, s *scope, to *variable, by *diag.Pos, c collector) *fail {
	if c == nil {
		return e.compute(n, s, to, by)
	}
	f := newFrame(n)
	own, x := n.gradual(e, s, f, c)
	if x != nil {
		return x
	}
	e.start(&compute{node: n, scope: s, by: by, result: to.announce(), collect: c, tells: !own}, f)
	return nil
}

func newFrame(n node) frame {
	from, size := n.slots()
	if size == 0 {
		return frame{base: from}
	}
	return frame{vars: make([]*variable, size), base: from}
}

// later is a task that is a function.
type later struct {
	do     func(u *unit) *fail
	at     *diag.Pos
	result *variable // what it leads to a value for; nil if that is not known
	// replace says that its place is that of what goes wrong in it; keep that it stays where it was
	// found.
	replace, keep bool
}

func (l *later) pos() *diag.Pos { return l.at }

func (l *later) run(u *unit) *fail {
	f := l.do(u)
	if f == nil || l.keep || len(f.unset) > 0 {
		return f
	}
	f.in(l.at, true)
	if l.replace {
		f.at = l.at
	}
	return f
}
