package jinja

import (
	"fmt"
	"math/big"

	"southbound/shared/lang/types"
)

// attr evaluates x.name: an attribute or a method, else an item with that key.
func (s *state) attr(of types.Value, name string) (types.Value, error) {
	if v, ok, err := s.attribute(of, name); ok || err != nil {
		return s.read(of, v, err)
	}
	if v, ok, err := lookup(of, name); ok || err != nil {
		return s.read(of, v, err)
	}
	return s.noAttribute(of, name), nil
}

// read checks a value that was read from another one. An unknown value of a model ends the
// rendering immediately. In a bare list or dictionary an unknown value is kept until the template
// uses it.
func (s *state) read(of, v types.Value, err error) (types.Value, error) {
	if err != nil {
		return v, err
	}
	switch of.(type) {
	case *List, *Dict, *Tuple:
		return v, nil
	}
	return v, known(v)
}

// readAll is read for all values of a dictionary.
func (s *state) readAll(of types.Value, values []types.Value) error {
	if ofModel(of) {
		return allKnown(values)
	}
	return nil
}

func (s *state) noAttribute(of types.Value, name string) *Undefined {
	if _, ok := of.(*self); ok {
		return &Undefined{name: name,
			reason: fmt.Sprintf("self is the template in a template, and has no block %q; "+
				"attributes of the instance for which it is rendered are there by their names: "+
				"{{ %s }}", name, name)}
	}
	return &Undefined{
		name:   name,
		reason: fmt.Sprintf("%s has no attribute %q", s.described(of), name),
	}
}

// described names a value for a message.
func (s *state) described(of types.Value) string {
	if o, ok := of.(types.Object); ok {
		return o.String()
	}
	return kindOf(of)
}

// attribute finds an attribute or a method, but no item.
func (s *state) attribute(of types.Value, name string) (types.Value, bool, error) {
	switch of := of.(type) {
	case *Undefined:
		return nil, false, of.err()
	case *types.Unknown:
		return nil, false, ErrUnknown
	case *namespace:
		return of.attrs.get(name)
	case *loop:
		return of.attribute(s, name)
	case *macroValue:
		return of.attribute(name)
	case *module:
		return of.attribute(name)
	case *Tuple:
		for i, n := range of.names {
			if n == name {
				return of.items[i], true, nil
			}
		}
	case types.Object, types.Reference:
		return s.host.Attr(of, name)
	case *cycle:
		return of.attribute(name)
	case *self:
		return of.attribute(name)
	}
	if m, ok := s.method(of, name); ok {
		return m, true, nil
	}
	return nil, false, nil
}

// item evaluates x[at]: an item; if at is a string, else an attribute or a method.
func (s *state) item(of, at types.Value) (types.Value, error) {
	switch x := of.(type) {
	case *Undefined:
		return nil, x.err()
	case *types.Unknown:
		return nil, ErrUnknown
	case types.Reference:
		return nil, later(x)
	}
	if u, ok := at.(*Undefined); ok {
		return nil, u.err()
	}
	if v, ok, err := lookup(of, at); ok || err != nil {
		return s.read(of, v, err)
	}
	if v, ok := indexed(of, at); ok {
		return s.read(of, v, nil)
	}
	if name, ok := stringOf(at); ok {
		if v, ok, err := s.attribute(of, name); ok || err != nil {
			return s.read(of, v, err)
		}
		return s.noAttribute(of, name), nil
	}
	text, err := s.repr(at)
	if err != nil {
		return nil, err
	}
	return &Undefined{
		name:   text,
		reason: fmt.Sprintf("%s has no item %s", s.described(of), text),
	}, nil
}

// indexed returns an item by its index.
func indexed(of, at types.Value) (types.Value, bool) {
	i, ok := count(at)
	if !ok {
		return nil, false
	}
	items, kind := sequence(of)
	if r, ok := of.(*rangeValue); ok {
		if n := r.len(); i < 0 {
			i += n
		}
		return r.from + int64(i)*r.step, i >= 0 && i < r.len()
	}
	if kind == 0 {
		text, ok := stringOf(of)
		if !ok {
			return nil, false
		}
		runes := []rune(text)
		if i < 0 {
			i += len(runes)
		}
		if i < 0 || i >= len(runes) {
			return nil, false
		}
		return string(runes[i]), true
	}
	if i < 0 {
		i += len(items)
	}
	if i < 0 || i >= len(items) {
		return nil, false
	}
	return items[i], true
}

func (e *sliceExpr) eval(s *state) (types.Value, error) {
	of, err := e.of.eval(s)
	if err != nil {
		return nil, err
	}
	if u, ok := of.(*Undefined); ok {
		return nil, u.err()
	}
	var bounds [3]*int
	for i, x := range []expr{e.from, e.to, e.step} {
		if x == nil {
			continue
		}
		v, err := x.eval(s)
		if err != nil {
			return nil, err
		}
		if bounds[i], err = bound(v); err != nil {
			return nil, err
		}
	}
	return s.slice(of, bounds)
}

func bound(v types.Value) (*int, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil // the bound was omitted
	case *Undefined:
		return nil, v.err()
	case *big.Int:
		n := v.Sign() * (1 << 40)
		return &n, nil
	}
	n, ok := count(v)
	if !ok {
		return nil, failf("a slice is bounded by numbers, not by %s", kindOf(v))
	}
	n = max(min(n, 1<<40), -1<<40)
	return &n, nil
}

func (s *state) slice(of types.Value, bounds [3]*int) (types.Value, error) {
	text, isText := stringOf(of)
	items, kind := sequence(of)
	if r, ok := of.(*rangeValue); ok {
		return r.slice(bounds)
	}
	if isText {
		var err error
		if items, err = s.items(text); err != nil {
			return nil, err
		}
	} else if kind == 0 {
		return nil, failf("%s has no slices", s.described(of))
	}
	out, err := sliced(items, bounds)
	switch {
	case err != nil:
		return nil, err
	case isText:
		joined := ""
		if len(out) > 0 {
			b := make([]byte, 0, len(text))
			for _, c := range out {
				b = append(b, c.(string)...)
			}
			joined = string(b)
		}
		if _, ok := of.(Markup); ok {
			return Markup(joined), nil
		}
		return joined, nil
	case kind == 't':
		return &Tuple{items: out}, nil
	}
	if _, ok := of.(*types.List); ok {
		return &types.List{Items: out}, nil
	}
	return newList(out), nil
}

// slice returns a range.
func (r *rangeValue) slice(bounds [3]*int) (types.Value, error) {
	from, to, step, err := places(r.len(), bounds)
	return &rangeValue{
		r.from + int64(from)*r.step,
		r.from + int64(to)*r.step,
		r.step * int64(step),
	}, err
}

func sliced(items []types.Value, bounds [3]*int) ([]types.Value, error) {
	from, to, step, err := places(len(items), bounds)
	if err != nil {
		return nil, err
	}
	var out []types.Value
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		out = append(out, items[i])
	}
	return out, nil
}

// places returns the start, the end and the step of a slice of n items.
func places(n int, bounds [3]*int) (from, to, step int, err error) {
	step = 1
	if bounds[2] != nil {
		step = *bounds[2]
	}
	if step == 0 {
		return 0, 0, 1, failf("the step of a slice is zero")
	}
	low, high := 0, n // the limits of bounds
	if step < 0 {
		low, high = -1, n-1
	}
	place := func(at *int, otherwise int) int {
		if at == nil {
			return otherwise
		}
		i := *at
		if i < 0 {
			i += n
		}
		return max(low, min(i, high))
	}
	from, to = place(bounds[0], low), place(bounds[1], high)
	if step < 0 {
		from, to = place(bounds[0], high), place(bounds[1], low)
	}
	return from, to, step, nil
}
