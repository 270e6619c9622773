package jinja

import (
	"fmt"

	"southbound/shared/lang/types"
)

// loop is the variable loop of a for loop.
type loop struct {
	node    *forNode
	items   []types.Value
	at      int
	depth   int
	changed *Tuple // the last arguments of changed()
	state   state  // of the loop statement
}

func (n *forNode) exec(s *state) error {
	over, err := n.over.eval(s)
	if err != nil {
		return err
	}
	return n.loop(s, over, 0)
}

// loop runs the body for each item of a value.
func (n *forNode) loop(s *state, over types.Value, depth int) error {
	items, err := s.items(over)
	if err != nil {
		return err
	}
	if items, err = n.selected(s, items); err != nil {
		return err
	}
	if len(items) == 0 {
		inner := *s
		inner.scope = &scope{outer: s.scope}
		return inner.begin(n.elseLooksUp, n.otherwise)
	}
	if n.recursive { // the loop may be called after the enclosing part has ended
		s.scope.hold()
	}
	l := &loop{node: n, items: items, depth: depth, state: *s}
	inner := *s
	inner.scope = newRound(s.scope)
	var before []namedValue
	for i, item := range items {
		l.at = i
		if i > 0 {
			inner.scope = inner.scope.nextRound()
		}
		inner.scope.set("loop", l)
		if err := inner.assign(n.target, item); err != nil {
			return err
		}
		if i == 0 { // names of the host have the same value in all rounds
			if before, err = inner.lookUp(n.looksUp); err != nil {
				return err
			}
		}
		inner.scope.setAll(before)
		if err := inner.run(n.body); err != nil {
			return err
		}
	}
	return nil
}

// selected returns the items that satisfy the condition of the loop.
func (n *forNode) selected(s *state, items []types.Value) ([]types.Value, error) {
	if n.test == nil {
		return items, nil
	}
	before, err := s.lookUp(n.testLooksUp)
	if err != nil {
		return nil, err
	}
	inner := *s
	inner.scope = newRound(s.scope)
	var out []types.Value
	for _, item := range items {
		inner.scope = inner.scope.nextRound()
		if err := inner.assign(n.target, item); err != nil {
			return nil, err
		}
		inner.scope.setAll(before)
		ok, err := inner.test(n.test)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, item)
		}
	}
	return out, nil
}

// call runs the body of a recursive loop for another value, and returns its output.
func (l *loop) call(s *state, args []types.Value, named []namedValue) (types.Value, error) {
	if !l.node.recursive {
		return nil, failf("the loop is called, but it is not marked recursive")
	}
	if len(args) != 1 || len(named) > 0 {
		return nil, failf("a recursive loop is called with one value: loop(items)")
	}
	text, err := l.state.capture(func(inner *state) error {
		return l.node.loop(inner, args[0], l.depth+1)
	})
	return s.markup(text), err
}

func (l *loop) attribute(_ *state, name string) (types.Value, bool, error) {
	n := len(l.items)
	number := func(i int) (types.Value, bool, error) { return int64(i), true, nil }
	switch name {
	case "index":
		return number(l.at + 1)
	case "index0":
		return number(l.at)
	case "revindex":
		return number(n - l.at)
	case "revindex0":
		return number(n - l.at - 1)
	case "length":
		return number(n)
	case "depth":
		return number(l.depth + 1)
	case "depth0":
		return number(l.depth)
	case "first":
		return l.at == 0, true, nil
	case "last":
		return l.at == n-1, true, nil
	case "previtem":
		if l.at == 0 {
			return &Undefined{
				name:   "previtem",
				reason: "there is no item before the first",
			}, true, nil
		}
		return l.items[l.at-1], true, nil
	case "nextitem":
		if l.at == n-1 {
			return &Undefined{
				name:   "nextitem",
				reason: "there is no item behind the last",
			}, true, nil
		}
		return l.items[l.at+1], true, nil
	case "cycle":
		return &function{"cycle", l.cycled}, true, nil
	case "changed":
		return &function{"changed", l.isChanged}, true, nil
	}
	return nil, false, nil
}

func (l *loop) cycled(_ *state, args []types.Value, _ []namedValue) (types.Value, error) {
	if len(args) == 0 {
		return nil, failf("loop.cycle needs values to go through")
	}
	return args[l.at%len(args)], nil
}

func (l *loop) isChanged(_ *state, args []types.Value, _ []namedValue) (types.Value, error) {
	now := &Tuple{items: args}
	if l.changed != nil {
		same, err := equal(l.changed, now, 0)
		if err != nil || same {
			return false, err
		}
	}
	l.changed = now
	return true, nil
}

// macroValue is a macro with its defining scope.
type macroValue struct {
	*macro
	state state
}

func (s *state) macro(m *macro) *macroValue {
	s.scope.hold()
	v := &macroValue{macro: m, state: *s}
	v.state.parent = nil
	return v
}

func (m *macroValue) attribute(name string) (types.Value, bool, error) {
	switch name {
	case "name":
		return m.name, true, nil
	case "arguments":
		return &Tuple{items: textsOf(m.params)}, true, nil
	case "catch_kwargs":
		return m.kwargs, true, nil
	case "catch_varargs":
		return m.varargs, true, nil
	case "caller":
		return m.caller, true, nil
	}
	return nil, false, nil
}

// call returns the output of the macro's body.
func (m *macroValue) call(s *state, args []types.Value, named []namedValue) (types.Value, error) {
	text, err := m.state.capture(func(inner *state) error {
		inner.scope = &scope{outer: m.state.scope}
		if err := m.bind(inner, args, named); err != nil {
			return err
		}
		return inner.begin(m.looksUp, m.body)
	})
	if err != nil {
		return nil, err
	}
	return s.markup(text), nil
}

// bind sets the parameters of a call.
func (m *macroValue) bind(s *state, args []types.Value, named []namedValue) error {
	given := map[string]types.Value{}
	for i, name := range m.params[:min(len(args), len(m.params))] {
		given[name] = args[i]
	}
	rest := newDict()
	var caller types.Value = &Undefined{name: "caller",
		reason: "the macro was not called by a call block: it has no caller"}
	for _, n := range named {
		switch _, twice := given[n.name]; {
		case m.takes(n.name) && twice:
			return failf("the macro %s is given %q twice", m.name, n.name)
		case m.takes(n.name):
			given[n.name] = n.value
		case n.name == "caller" && m.caller:
			caller = n.value
		case m.kwargs:
			_ = rest.set(n.name, n.value) // a string is always a valid key
		default:
			return failf("the macro %s has no parameter %q", m.name, n.name)
		}
	}
	if len(args) > len(m.params) && !m.varargs {
		return failf("the macro %s takes %d values, not %d", m.name, len(m.params), len(args))
	}
	if m.caller && !m.takes("caller") {
		s.scope.set("caller", caller)
	}
	if m.kwargs {
		s.scope.set("kwargs", rest)
	}
	if m.varargs {
		s.scope.set("varargs", &Tuple{items: args[min(len(args), len(m.params)):]})
	}
	return m.parameters(s, given)
}

func (m *macroValue) takes(name string) bool {
	for _, p := range m.params {
		if p == name {
			return true
		}
	}
	return false
}

func (m *macroValue) parameters(s *state, given map[string]types.Value) error {
	required := len(m.params) - len(m.defaults)
	for i, name := range m.params {
		v, ok := given[name]
		switch {
		case ok:
		case i >= required:
			var err error
			if v, err = m.defaults[i-required].eval(s); err != nil {
				return err
			}
		default:
			v = &Undefined{
				name:   name,
				reason: fmt.Sprintf("the parameter %q was not given to the macro %s", name, m.name),
			}
		}
		s.scope.set(name, v)
	}
	return nil
}
