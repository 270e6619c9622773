package eval

import (
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// looping is a collector that goes over the keys of a dict.
type looping interface {
	collector
	// over reports whether a loop visits the items of a dict, rather than an element that is a dict.
	over(*types.Dict) bool
}

// elements passes on values one by one. In contrast to the loop itself, it treats a dict as an
// element.
type elements struct{ to collector }

func (e elements) pure() bool { return e.to.pure() }

func (e elements) receive(v types.Value, at *diag.Pos) (bool, *fail) { return e.to.receive(v, at) }

// elementsOf returns the collector for the elements of a list that c goes over; nil for nil.
func elementsOf(c collector) collector {
	if _, ok := c.(looping); ok {
		return elements{c}
	}
	return c
}

// deliver passes a value that is not a list to a collector: a dict key by key, if the collector
// goes over it.
func deliver(c collector, v types.Value, at *diag.Pos) (bool, *fail) {
	d, ok := v.(*types.Dict)
	if l, loop := c.(looping); !ok || !loop || !l.over(d) {
		return c.receive(v, at)
	}
	for _, k := range d.Keys() {
		if done, f := c.receive(k, at); done || f != nil {
			return done, f
		}
	}
	return false, nil
}

// item is a key of a dict with its value, which a loop with two variables receives.
type item struct {
	key   string
	value types.Value
}

// steps returns the values that a loop goes over; false if the value is of another kind. pairs
// marks a loop with two variables.
func steps(v types.Value, pairs bool) ([]types.Value, bool) {
	if l, ok := v.(*types.List); ok && !pairs {
		return l.Items, true
	}
	d, ok := v.(*types.Dict)
	if !ok {
		return nil, false
	}
	out := make([]types.Value, 0, d.Len())
	for _, k := range d.Keys() {
		if !pairs {
			out = append(out, k)
			continue
		}
		value, _ := d.Get(k)
		out = append(out, item{k, value})
	}
	return out, true
}

// notOver returns the problem of a loop over a value of another kind. what names the loop.
func notOver(v types.Value, what string, pairs bool, at *diag.Pos) *fail {
	if pairs {
		f := failed(CodeNotList, at, "%s with two variables goes over a dict, and this is %s", what,
			types.Kind(v)).heavy(10)
		if _, list := v.(*types.List); list {
			f.advise("write one variable: for x in ...")
		}
		return f
	}
	return failed(CodeNotList, at, "%s goes over a list, a relation or a dict, and this is %s", what,
		types.Kind(v)).heavy(10)
}

// variables returns the names of the variables of a loop, in the order of their indexes.
func loopVariables(first syntax.Ident, second *syntax.Ident) []string {
	if second == nil {
		return []string{first.Text}
	}
	return []string{first.Text, second.Text}
}

// indexed returns names with their positions.
func indexed(names []string) map[string]int {
	out := make(map[string]int, len(names))
	for i, name := range names {
		out[name] = i
	}
	return out
}

// loopOver binds the expression that a loop goes over. The name of a typedef, unless a variable has
// it, stands for the values of the type.
func (b *binder) loopOver(x syntax.Expression) node {
	n := b.root(x, nil)
	r, ok := n.(*refNode)
	if !ok || r.where.block == nil {
		return n
	}
	ref, ok := x.(*syntax.Ref)
	if !ok {
		return n
	}
	if t, f := b.block.ns.typeOf(ref.Name.Text, nil); f == nil {
		r.where.values = valuesOf(t)
		_, r.where.isType = t.(*types.Typedef)
	}
	return n
}

// valuesOf returns the values of a typedef; nil if they are not listed.
func valuesOf(t any) *types.List {
	d, ok := t.(*types.Typedef)
	if !ok || d.Values == nil {
		return nil
	}
	return &types.List{Items: slices.DeleteFunc(slices.Clone(d.Values), func(v types.Value) bool {
		return d.Check(v) != nil
	})}
}

// listed returns the values that the condition of a typedef lists: self in ["a", "b"],
// self == "a", or several of these joined by `or`; nil for any other condition.
func listed(x syntax.Expression) []types.Value {
	if g, ok := x.(*syntax.Group); ok {
		return listed(g.Value)
	}
	o, ok := x.(*syntax.Operation)
	if !ok {
		return nil
	}
	if o.Op == "or" {
		a, b := listed(o.Left), listed(o.Right)
		if a == nil || b == nil {
			return nil
		}
		return slices.Concat(a, b)
	}
	self, ok := o.Left.(*syntax.Ref)
	v, constant := folded(o.Right)
	if !ok || self.Name.Text != "self" || !constant {
		return nil
	}
	switch l, list := v.(*types.List); {
	case o.Op == "in" && list:
		return slices.Clone(l.Items)
	case o.Op == "==" && !list:
		return []types.Value{v}
	}
	return nil
}
