package eval

import (
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/types"
)

// comprehensionNode is [of for x in in if guard].
type comprehensionNode struct {
	shape
	in        node // in its own frame
	of, guard node // in their own frames, in the block of the variable; guard may be nil
	pairs     bool // it has two variables
	slot      int
}

func (n *comprehensionNode) emit(e *engine, s *scope, f frame) *fail {
	return n.start(e, s, f, nil)
}

func (n *comprehensionNode) gradual(e *engine, s *scope, f frame, c collector) (bool, *fail) {
	return true, n.start(e, s, f, c)
}

func (n *comprehensionNode) value(_ *engine, _ *scope, f frame) (types.Value, *fail) {
	return f.get(n.slot), nil
}

func (n *comprehensionNode) start(e *engine, s *scope, f frame, c collector) *fail {
	w := &comprehending{node: n, engine: e, scope: s, to: c, result: &variable{}}
	g := e.frame(n.in)
	tells := false
	if c == nil || n.pairs {
		if x := n.in.emit(e, s, g); x != nil {
			return x
		}
	} else {
		own, x := n.in.gradual(e, s, g, w)
		if x != nil {
			return x
		}
		tells = !own
	}
	f.set(n.slot, w.result)
	e.start(
		&later{
			at: n.at, replace: true, result: w.result,
			do: func(u *unit) *fail { return w.finish(u, tells) },
		},
		g,
	)
	return nil
}

// comprehending is a comprehension at run time.
type comprehending struct {
	node    *comprehensionNode
	engine  *engine
	scope   *scope
	to      collector // receives the values one by one; nil if there is no collector
	results []*variable
	result  *variable
}

// pure implements collector.
func (w *comprehending) pure() bool { return true }

// finish runs when the list is complete.
func (w *comprehending) finish(u *unit, tells bool) *fail {
	if x := u.take(); x != nil {
		return x
	}
	v, x := w.node.in.value(u.engine, w.scope, u.frame)
	if x != nil {
		return x
	}
	unknown := types.IsUnknown(v)
	if unknown {
		v = &types.List{Items: []types.Value{v}}
	}
	items, ok := steps(v, w.node.pairs && !unknown)
	if !ok {
		return notOver(v, "a list comprehension", w.node.pairs, w.node.at)
	}
	e := u.engine
	end := func() *fail {
		last := &later{at: w.node.at, replace: true, result: w.result, do: w.collect}
		e.start(last, frame{vars: w.results})
		return nil
	}
	at := w.node.at
	switch {
	case tells:
		at = w.node.in.pos()
	case len(w.results) > 0:
		return end()
	}
	again := func(do func(*unit) *fail) task { return &later{at: w.node.at, replace: true, do: do} }
	return e.tellAll(w, items, at, again, end)
}

// over implements looping.
func (w *comprehending) over(*types.Dict) bool { return !w.node.pairs }

// filtered is the placeholder of an element that the guard excludes.
type filtered struct{}

// collect builds the list when all values are known.
func (w *comprehending) collect(*unit) *fail {
	values := make([]types.Value, 0, len(w.results))
	for _, v := range w.results {
		if _, leftOut := v.value.(filtered); !leftOut {
			values = append(values, v.value)
		}
	}
	if x := fitsAll(&w.engine.scheduler, slices.Values(values), w.node.at); x != nil {
		return x
	}
	out := types.Spread(values)
	w.engine.used.live -= resultSize * int64(len(w.results))
	if x := w.engine.made(out, w.node.at); x != nil {
		return x
	}
	return w.result.set(out, w.node.at, true)
}

// receive implements collector: it starts the computation of the value of an element.
func (w *comprehending) receive(v types.Value, at *diag.Pos) (bool, *fail) {
	s := &scope{parent: w.scope, vars: []variable{{value: v, ready: true, at: at, kind: element}}}
	if i, ok := v.(item); ok {
		s.vars[0].value = i.key
		s.vars = append(s.vars, variable{value: i.value, ready: true, at: at, kind: element})
	}
	if x := w.engine.work(1, w.node.at); x != nil {
		return false, x
	}
	result := &variable{}
	w.engine.used.live += resultSize
	w.results = append(w.results, result)
	var n node = w.node.of
	if types.IsUnknown(v) {
		n = &constant{shape: shape{at: w.node.at}, result: v}
	}
	if w.node.guard != nil {
		n = &choiceNode{
			shape: shape{at: w.node.at, size: 1}, test: w.node.guard, yes: n,
			no: &leftOut{constant{shape: shape{at: w.node.at}, result: filtered{}}},
		}
	}
	return false, w.engine.gradually(n, s, result, n.pos(), elementsOf(w.to))
}

// leftOut is the value of an element that the guard excludes. Collectors do not receive it.
type leftOut struct{ constant }

func (n *leftOut) gradual(*engine, *scope, frame, collector) (bool, *fail) { return true, nil }
