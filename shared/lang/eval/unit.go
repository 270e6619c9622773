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
	prev, next *unit // in the list of units that are not done; next also links spare units
	behind     *unit // the next unit in the ready queue
}

// task is the work of a unit. It runs when the variables of the unit are ready.
type task interface {
	run(u *unit) *fail
	// pos returns the position of the statement of the task.
	pos() *diag.Pos
}

// frame holds the variables of a piece of work, in the slots of its nodes.
type frame struct {
	vars []*variable
	base int
}

func (f frame) set(slot int, v *variable) { f.vars[slot-f.base] = v }
func (f frame) at(slot int) *variable     { return f.vars[slot-f.base] }

// get returns the value in a slot.
func (f frame) get(slot int) types.Value {
	v := f.vars[slot-f.base].real()
	if v.kind == many || v.kind == literal {
		return &v.late.list
	}
	return v.value
}

// start creates a unit. The caller has filled its frame.
func (e *engine) start(t task, f frame) *unit {
	u := e.spare.unit()
	*u = unit{wait: 1, frame: f, task: t, engine: e}
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

// size returns the approximate memory of a unit in bytes, with its task, the variables of its frame
// and the scope that it retains.
func (u *unit) size() int64 { return unitSize + slotSize*int64(len(u.frame.vars)) }

// done decrements the number of variables that the unit waits for, and queues the unit at zero.
func (u *unit) done() {
	if u.wait--; u.wait == 0 {
		u.engine.ready.push(u)
	}
}

// line is a queue of units.
type line struct{ first, last *unit }

func (l *line) push(u *unit) {
	if l.first == nil {
		l.first = u
	} else {
		l.last.behind = u
	}
	l.last = u
}

func (l *line) pop() *unit {
	u := l.first
	l.first, u.behind = u.behind, nil
	return u
}

func (e *scheduler) link(u *unit) {
	if u.prev = e.last; e.last != nil {
		e.last.next = u
	} else {
		e.first = u
	}
	e.last = u
}

func (e *scheduler) unlink(u *unit) {
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
	e.spare.keep(u)
}

// spare holds the allocations of finished units for reuse, because a model runs millions of units.
type spare struct {
	units    *unit
	computes []*compute
	frames   [4][][]*variable // by their size, less one
	vars     []*variable      // the unused part of the current block
}

// together is the number of objects in one allocation, and maxSpare the largest number that is kept
// for reuse.
const together, maxSpare = 64, 1024

// unit returns a unit for a new piece of work.
func (s *spare) unit() *unit {
	if s.units == nil {
		block := make([]unit, together)
		for i := range block[1:] {
			block[i].next = &block[i+1]
		}
		s.units = &block[0]
	}
	u := s.units
	s.units = u.next
	return u
}

// compute returns a task for a new piece of work.
func (s *spare) compute() *compute {
	if len(s.computes) == 0 {
		block := make([]compute, together)
		for i := range block {
			s.computes = append(s.computes, &block[i])
		}
	}
	last := len(s.computes) - 1
	c := s.computes[last]
	s.computes = s.computes[:last]
	return c
}

// frame returns slots for this many variables.
func (s *spare) frame(size int) []*variable {
	if size > len(s.frames) {
		return make([]*variable, size)
	}
	if of := &s.frames[size-1]; len(*of) > 0 {
		last := len(*of) - 1
		vars := (*of)[last]
		*of = (*of)[:last]
		return vars
	}
	if len(s.vars) < size {
		s.vars = make([]*variable, together)
	}
	vars := s.vars[:size:size]
	s.vars = s.vars[size:]
	return vars
}

// keep takes the allocations of a finished unit.
func (s *spare) keep(u *unit) {
	vars := u.frame.vars[:cap(u.frame.vars)]
	if n := len(vars); n > 0 && n <= len(s.frames) && len(s.frames[n-1]) < maxSpare {
		clear(vars)
		s.frames[n-1] = append(s.frames[n-1], vars)
	}
	if c, ok := u.task.(*compute); ok && len(s.computes) < maxSpare {
		*c = compute{}
		s.computes = append(s.computes, c)
	}
	*u = unit{next: s.units}
	s.units = u
}

// take reads all variables of the frame. It returns the first problem of a variable, and passes the
// values of proxies to their collectors.
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

// compute is a task that computes a node and sets a variable to its value.
type compute struct {
	node     node
	scope    *scope
	result   promise
	collect  collector // receives values one by one, if the node does not pass them directly
	by       *diag.Pos // the position of its statement
	instance *Instance // the instance whose attribute is set; nil for other targets
	name     string    // the name of the attribute or the variable
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
		f.ofValue(c.node.pos()).in(c.by, false)
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
	if c.collect != nil {
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

// compute starts the computation of a node in its own frame; its value goes to a variable.
func (e *engine) compute(n node, s *scope, to *variable, by *diag.Pos) *fail {
	return e.assign(n, s, to, by, "")
}

// assign is compute for a variable that has a name.
func (e *engine) assign(n node, s *scope, to *variable, by *diag.Pos, name string) *fail {
	f := e.frame(n)
	if x := n.emit(e, s, f); x != nil {
		return x
	}
	c := e.spare.compute()
	*c = compute{node: n, scope: s, by: by, name: name}
	if to != nil {
		c.result = to.announce()
	}
	e.start(c, f)
	return nil
}

// gradually is compute with a collector that receives values one by one; c may be nil.
func (e *engine) gradually(n node, s *scope, to *variable, by *diag.Pos, c collector) *fail {
	if c == nil {
		return e.compute(n, s, to, by)
	}
	f := e.frame(n)
	own, x := n.gradual(e, s, f, c)
	if x != nil {
		return x
	}
	t := e.spare.compute()
	*t = compute{node: n, scope: s, by: by, result: to.announce()}
	if !own {
		t.collect = c
	}
	e.start(t, f)
	return nil
}

// frame returns a frame for a node that has its own frame.
func (e *scheduler) frame(n node) frame {
	from, size := n.slots()
	if size == 0 {
		return frame{base: from}
	}
	return frame{vars: e.spare.frame(size), base: from}
}

// later is a task that runs a function.
type later struct {
	do     func(u *unit) *fail
	at     *diag.Pos
	result *variable // the variable whose value it will set; nil if that is not known
	// replace sets the position of problems to at. keep leaves the positions of problems unchanged.
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
