package jinja

import (
	"math"
	"math/big"
	"strings"

	"southbound/shared/lang/types"
)

func isNumber(v types.Value) bool {
	switch v.(type) {
	case bool, int64, *big.Int, float64:
		return true
	}
	return false
}

// sequence returns the items of a list and its kind, since a tuple never equals a list. The kind is
// 0 for other values.
func sequence(v types.Value) (items []types.Value, kind byte) {
	switch v := v.(type) {
	case *List:
		return v.items, 'l'
	case *types.List:
		return v.Items, 'l'
	case *Tuple:
		return v.items, 't'
	}
	return nil, 0
}

// equal is Python's ==.
func equal(a, b types.Value, depth int) (bool, error) {
	for _, v := range []types.Value{a, b} {
		switch v := v.(type) {
		case *Undefined:
			if err := v.used(); err != nil {
				return false, err
			}
		case *types.Unknown:
			return false, ErrUnknown
		case types.Reference:
			return false, later(v)
		}
	}
	if isUndefined(a) != nil || isUndefined(b) != nil {
		return isUndefined(a) != nil && isUndefined(b) != nil, nil
	}
	if depth > maxDepth {
		return false, failf("the values are nested too deep to be compared")
	}
	if x, ok := stringOf(a); ok {
		y, ok := stringOf(b)
		return ok && x == y, nil
	}
	if x, kind := sequence(a); kind != 0 {
		y, other := sequence(b)
		if kind != other || len(x) != len(y) {
			return false, nil
		}
		for i := range x {
			if same, err := equal(within(a, x[i]), within(b, y[i]), depth+1); !same || err != nil {
				return false, err
			}
		}
		return true, nil
	}
	if keys, values, ok := entries(a); ok {
		return equalDicts(a, keys, values, b, depth)
	}
	if r, ok := a.(*rangeValue); ok {
		o, ok := b.(*rangeValue)
		return ok && *r == *o, nil
	}
	if isNumber(a) {
		return isNumber(b) && types.Equal(a, b), nil
	}
	return a == b, nil
}

func equalDicts(
	a types.Value,
	keys, values []types.Value,
	b types.Value,
	depth int,
) (bool, error) {
	if n, ok := lengthOf(b); !ok || n != len(keys) {
		return false, nil
	}
	if _, _, ok := entries(b); !ok {
		return false, nil
	}
	for i := range keys {
		v, ok, err := lookup(b, keys[i])
		if !ok || err != nil {
			return false, err
		}
		if same, err := equal(within(a, values[i]), within(b, v), depth+1); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// less is Python's < for numbers, strings, and lists of one kind.
func less(a, b types.Value, depth int) (bool, error) {
	for _, v := range []types.Value{a, b} {
		switch v := v.(type) {
		case *Undefined:
			return false, v.err()
		case *types.Unknown:
			return false, ErrUnknown
		case types.Reference:
			return false, later(v)
		}
	}
	if isNumber(a) && isNumber(b) {
		return types.Compare("<", a, b)
	}
	if x, ok := stringOf(a); ok {
		if y, ok := stringOf(b); ok {
			return x < y, nil
		}
	}
	x, kind := sequence(a)
	y, other := sequence(b)
	if kind == 0 || kind != other || depth > maxDepth {
		return false, failf("%s and %s have no order", kindOf(a), kindOf(b))
	}
	for i := range min(len(x), len(y)) {
		same, err := equal(within(a, x[i]), within(b, y[i]), depth+1)
		if err != nil {
			return false, err
		}
		if !same {
			return less(x[i], y[i], depth+1)
		}
	}
	return len(x) < len(y), nil
}

// compare evaluates a comparison operator.
func (s *state) compare(op string, a, b types.Value) (bool, error) {
	switch op {
	case "==", "!=":
		same, err := equal(a, b, 0)
		return same == (op == "=="), err
	case "in", "not in":
		in, err := s.contains(b, a)
		return in == (op == "in"), err
	case "<":
		return less(a, b, 0)
	case ">":
		return less(b, a, 0)
	}
	if nan(a) || nan(b) {
		return false, nil
	}
	if op == "<=" {
		a, b = b, a
	}
	l, err := less(a, b, 0) // a >= b
	return !l, err
}

func nan(v types.Value) bool {
	f, ok := v.(float64)
	return ok && math.IsNaN(f)
}

// contains reports whether a list, a dictionary or a string contains a value.
func (s *state) contains(in, v types.Value) (bool, error) {
	if u, ok := v.(*Undefined); ok {
		return false, u.err()
	}
	if text, ok := stringOf(in); ok {
		part, ok := stringOf(v)
		if !ok {
			return false, failf("%s cannot be part of a string", kindOf(v))
		}
		return strings.Contains(text, part), nil
	}
	if _, _, ok := entries(in); ok {
		_, ok, err := lookup(in, v)
		return ok, err
	}
	items, err := s.unread(in)
	if err != nil {
		return false, err
	}
	for _, item := range items {
		if same, err := equal(item, v, 0); same || err != nil {
			return same, err
		}
	}
	return false, nil
}
