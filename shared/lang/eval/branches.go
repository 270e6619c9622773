package eval

import (
	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// This file has the statements that run a body when their condition or list is known: `if` and
// `for`.

// ifStatement is an `if` statement.
type ifStatement struct {
	at      *diag.Pos
	test    node
	yes, no *body
	holds   []hold
}

func (st *ifStatement) pos() *diag.Pos { return st.at }

func (st *ifStatement) emit(e *engine, s *scope) *fail {
	all, x := e.hold(st.holds, s)
	if x != nil {
		return x
	}
	f := e.frame(st.test)
	if x := st.test.emit(e, s, f); x != nil {
		return x
	}
	e.start(&running{at: st.at, do: func(u *unit) *fail {
		if x := u.take(); x != nil {
			return x
		}
		release(all)
		return st.choose(u, s)
	}}, f)
	return nil
}

func (st *ifStatement) choose(u *unit, s *scope) *fail {
	v, x := st.test.value(u.engine, s, u.frame)
	if x != nil || types.IsUnknown(v) {
		return x
	}
	b, ok := v.(bool)
	if !ok {
		return failed(
			CodeCondition,
			st.at,
			"the condition of an `if` has to be a bool, and this is %s",
			types.Kind(v),
		)
	}
	y := st.no
	if b {
		y = st.yes
	}
	return y.emit(u.engine, y.block.open(s))
}

// running is a task of a statement. A problem keeps its own position, if it has one.
type running struct {
	at *diag.Pos
	do func(u *unit) *fail
}

func (r *running) pos() *diag.Pos { return r.at }

func (r *running) run(u *unit) *fail { return r.do(u).in(r.at, false) }

// forStatement is a `for` statement.
type forStatement struct {
	at    *diag.Pos
	in    node
	pairs bool // it has two variables
	body  *body
	holds []hold
}

func (st *forStatement) pos() *diag.Pos { return st.at }

func (st *forStatement) emit(e *engine, s *scope) *fail {
	all, x := e.hold(st.holds, s)
	if x != nil {
		return x
	}
	c := &each{statement: st, engine: e, scope: s}
	f := e.frame(st.in)
	own := false
	if st.pairs {
		x = st.in.emit(e, s, f)
	} else {
		own, x = st.in.gradual(e, s, f, c)
	}
	if x != nil {
		return x
	}
	e.start(&running{at: st.at, do: func(u *unit) *fail {
		if x := u.take(); x != nil {
			return x
		}
		release(all)
		return st.finish(u, s, c, !own)
	}}, f)
	return nil
}

func (st *forStatement) finish(u *unit, s *scope, c collector, tells bool) *fail {
	v, x := st.in.value(u.engine, s, u.frame)
	if x != nil {
		return x
	}
	if types.IsUnknown(v) {
		return nil
	}
	items, ok := steps(v, st.pairs)
	if !ok {
		if tells && !st.pairs { // problems of the body come first, as in the reference compiler
			if _, x := c.receive(v, st.at); x != nil {
				return x
			}
		}
		return notOver(v, "`for`", st.pairs, st.at)
	}
	if !tells {
		return nil
	}
	again := func(do func(*unit) *fail) task { return &running{at: st.at, do: do} }
	return u.engine.tellAll(c, items, st.in.pos(), again, func() *fail { return nil })
}

// each is the collector of a `for`: it runs the body for each value.
type each struct {
	statement *forStatement
	engine    *engine
	scope     *scope
}

func (c *each) pure() bool { return true }

// over implements looping.
func (c *each) over(*types.Dict) bool { return !c.statement.pairs }

func (c *each) receive(v types.Value, _ *diag.Pos) (bool, *fail) {
	if types.IsUnknown(v) {
		return false, nil
	}
	if x := c.engine.work(1, c.statement.at); x != nil {
		return false, x
	}
	y := c.statement.body
	s := y.block.open(c.scope)
	if i, ok := v.(item); ok {
		v = i.key
		if x := s.vars[1].set(i.value, c.statement.at, true); x != nil {
			return false, x
		}
	}
	if x := s.vars[0].set(v, c.statement.at, true); x != nil {
		return false, x
	}
	return false, y.emit(c.engine, s)
}
