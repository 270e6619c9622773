package jinja

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"southbound/shared/lang/types"
)

// The values that only templates have. Values of models are in package types; lists and
// dictionaries of models are immutable.
type (
	// Markup is text that needs no escaping.
	Markup string
	// List is a mutable list that a template created.
	List struct {
		items []types.Value
		fixed bool // it is part of a model, and immutable
	}
	// Tuple is an immutable list. The tuples of groupby have names.
	Tuple struct {
		items []types.Value
		names []string
	}
	// Dict is a dictionary that a template created. Its keys are values of any kind that is
	// hashable in Python.
	Dict struct {
		keys  []types.Value
		index map[any]int // by hashKey: the indexes in keys and vals
		vals  []types.Value
		fixed bool // it is part of a model, and immutable
	}
	// Undefined is the value of an undefined name. Only `is defined`, default and similar tests
	// accept it.
	Undefined struct {
		name, reason string
		// empty allows use as an empty text or list: for "x if y" with a false y, and for a
		// relation that is not set.
		empty bool
	}
	// iterator can be iterated once.
	iterator struct {
		items []types.Value
		next  int
		what  string
		err   error // returned to the consumer
	}
	// view is the result of keys(), values() or items() of a dictionary.
	view struct {
		of   types.Value
		what string
	}
	rangeValue struct{ from, to, step int64 }
	namespace  struct{ attrs *Dict }
	function   struct {
		name string
		call func(s *state, args []types.Value, named []namedValue) (types.Value, error)
	}
)

type namedValue struct {
	name  string
	value types.Value
}

func newList(items []types.Value) *List { return &List{items: items} }

func newDict() *Dict { return &Dict{index: map[any]int{}} }

func (d *Dict) get(key types.Value) (types.Value, bool, error) {
	h, err := hashKey(key)
	if err != nil {
		return nil, false, err
	}
	i, ok := d.index[h]
	if !ok {
		return nil, false, nil
	}
	return d.vals[i], true, nil
}

func (d *Dict) set(key, value types.Value) error {
	h, err := hashKey(key)
	if err != nil {
		return err
	}
	if i, ok := d.index[h]; ok {
		d.vals[i] = value
		return nil
	}
	d.index[h] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, value)
	return nil
}

func (d *Dict) remove(key types.Value) {
	h, _ := hashKey(key)
	at, ok := d.index[h]
	if !ok {
		return
	}
	d.keys = append(d.keys[:at:at], d.keys[at+1:]...)
	d.vals = append(d.vals[:at:at], d.vals[at+1:]...)
	delete(d.index, h)
	for k, i := range d.index {
		if i > at {
			d.index[k] = i - 1
		}
	}
}

type (
	bigKey   string
	tupleKey string
)

// hashKey returns the same result for equal keys: 1, 1.0 and true are equal.
func hashKey(v types.Value) (any, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case Markup:
		return string(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	case *big.Int:
		return bigKey(v.String()), nil
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v), nil
		}
		return v, nil
	case *Tuple:
		var b strings.Builder
		for _, item := range v.items {
			h, err := hashKey(item)
			if err != nil {
				return nil, err
			}
			fmt.Fprintf(&b, "%T:%v,", h, h)
		}
		return tupleKey(b.String()), nil
	case *List, *Dict, *types.List, *types.Dict:
		return nil, failf("%s cannot be a key", kindOf(v))
	case *Undefined:
		return nil, v.err()
	}
	return v, nil
}

// Unset is the value that a host returns for an attribute that exists but is not set. If empty is
// true, it may be used as an empty text, list or condition.
func Unset(name, reason string, empty bool) types.Value {
	return &Undefined{name: name, reason: reason, empty: empty}
}

// err returns the error for a use of the value.
func (u *Undefined) err() error { return &undefinedError{u.name, u.reason} }

// used returns the error for a use as a text, a list or a condition; nil if it is empty.
func (u *Undefined) used() error {
	if u.empty {
		return nil
	}
	return u.err()
}

// kindOf names the kind of a value for messages.
func kindOf(v types.Value) string {
	switch v.(type) {
	case types.Null, bareNull:
		return "none"
	case Markup:
		return "a string"
	case *List:
		return "a list"
	case *Tuple:
		return "a tuple"
	case *Dict:
		return "a dict"
	case *Undefined:
		return "an undefined value"
	case *iterator:
		return "an iterator"
	case *view:
		return "a view of a dict"
	case *rangeValue:
		return "a range"
	case *namespace:
		return "a namespace"
	case *function, *macroValue:
		return "a function"
	case *loop:
		return "a loop"
	case *module:
		return "an imported template"
	case *self:
		return "the template itself"
	case *cycle:
		return "a cycler"
	}
	return types.Kind(v)
}

// stringOf returns the string in a string or markup value.
func stringOf(v types.Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case Markup:
		return string(v), true
	}
	return "", false
}

// truth reports whether a value is true in a condition.
func (s *state) truth(v types.Value) (bool, error) {
	switch v := v.(type) {
	case bool:
		return v, nil
	case types.Null:
		return false, nil
	case int64:
		return v != 0, nil
	case *big.Int:
		return v.Sign() != 0, nil
	case float64:
		return v != 0, nil
	case string:
		return v != "", nil
	case Markup:
		return v != "", nil
	case *Undefined:
		return false, v.used()
	case *types.Unknown:
		return false, ErrUnknown
	case types.Reference:
		return false, later(v)
	}
	if n, ok := lengthOf(v); ok {
		return n > 0, nil
	}
	return true, nil
}

// lengthOf returns the number of items or characters; false for a value without a length.
func lengthOf(v types.Value) (int, bool) {
	switch v := v.(type) {
	case string:
		return len([]rune(v)), true
	case Markup:
		return len([]rune(string(v))), true
	case *List:
		return len(v.items), true
	case *types.List:
		return len(v.Items), true
	case *Tuple:
		return len(v.items), true
	case *Dict:
		return len(v.keys), true
	case *types.Dict:
		return v.Len(), true
	case *view:
		return lengthOf(v.of)
	case *rangeValue:
		return v.len(), true
	case *loop:
		return len(v.items), true
	case *Undefined:
		return 0, v.empty
	}
	return 0, false
}

// items returns the items of a for loop over a value. Callers must not modify the slice.
func (s *state) items(v types.Value) ([]types.Value, error) {
	switch v := v.(type) {
	case *List:
		return v.items, nil
	case *types.List:
		return v.Items, allKnown(v.Items)
	case *Tuple:
		return v.items, nil
	case *Dict:
		return v.keys, nil
	case *types.Dict:
		return textsOf(v.Keys()), nil
	case *iterator:
		if v.err != nil {
			return nil, v.err
		}
		rest := v.items[v.next:]
		v.next = len(v.items)
		return rest, nil
	case *view:
		return v.items(s)
	case *rangeValue:
		return v.items(s)
	case *Undefined:
		return nil, v.used()
	case *types.Unknown:
		return nil, ErrUnknown
	case types.Reference:
		return nil, later(v)
	case *loop:
		return v.items[min(v.at+1, len(v.items)):], nil
	}
	if text, ok := stringOf(v); ok {
		runes := []rune(text)
		out := make([]types.Value, len(runes))
		for i, r := range runes {
			out[i] = string(r)
		}
		return out, nil
	}
	return nil, failf("%s cannot be gone through: it has no items", kindOf(v))
}

// unread returns the items of a value that may be read only in part. An unknown item matters only
// when it is reached.
func (s *state) unread(v types.Value) ([]types.Value, error) {
	if l, ok := v.(*types.List); ok {
		return l.Items, nil
	}
	return s.items(v)
}

func textsOf(keys []string) []types.Value {
	out := make([]types.Value, len(keys))
	for i, k := range keys {
		out[i] = k
	}
	return out
}

// entries returns the keys and values of a dictionary; false for another value.
func entries(v types.Value) (keys, values []types.Value, ok bool) {
	switch v := v.(type) {
	case *Dict:
		return v.keys, v.vals, true
	case *types.Dict:
		for _, k := range v.Keys() {
			x, _ := v.Get(k)
			keys, values = append(keys, k), append(values, x)
		}
		return keys, values, true
	}
	return nil, nil, false
}

func (v *view) items(s *state) ([]types.Value, error) {
	if v.what == "dict_items" {
		return s.pairs(v.of)
	}
	keys, values, _ := entries(v.of)
	if v.what == "dict_keys" {
		return keys, nil
	}
	return values, s.readAll(v.of, values)
}

func (r *rangeValue) len() int {
	if r.step > 0 && r.from < r.to {
		return int((r.to - r.from + r.step - 1) / r.step)
	}
	if r.step < 0 && r.from > r.to {
		return int((r.from - r.to - r.step - 1) / -r.step)
	}
	return 0
}

func (r *rangeValue) items(s *state) ([]types.Value, error) {
	n := r.len()
	if err := s.spend(n); err != nil {
		return nil, err
	}
	out := make([]types.Value, n)
	for i := range out {
		out[i] = r.from + int64(i)*r.step
	}
	return out, nil
}

// lookup finds a key in a dictionary.
func lookup(d, key types.Value) (types.Value, bool, error) {
	switch d := d.(type) {
	case *Dict:
		return d.get(key)
	case *types.Dict:
		if _, err := hashKey(key); err != nil {
			return nil, false, err
		}
		text, ok := stringOf(key)
		if !ok {
			return nil, false, nil
		}
		v, ok := d.Get(text)
		return v, ok, nil
	}
	return nil, false, nil
}
