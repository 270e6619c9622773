package resource

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"

	"southbound/shared/fault"
)

// Equal reports whether two values are equal. It compares numbers exactly by value, whatever their
// Go types, and references by their fields. A Go value of another type equals nothing.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool, string, File, Parameter, Fact, Secret:
		return a == b
	case int64:
		if b, ok := b.(int64); ok {
			return a == b
		}
		return sameNumber(a, b)
	case float64, *big.Int:
		return sameNumber(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case Text:
		b, ok := b.(Text)
		return ok && slices.EqualFunc(a.Parts, b.Parts, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if w, ok := b[k]; !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}

func sameNumber(a, b any) bool {
	x, ok := Number(a)
	y, ok2 := Number(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// Number returns the exact value of a number. It returns false if v is not a number, or not finite.
func Number(v any) (*big.Rat, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Rat).SetInt64(v), true
	case float64:
		r := new(big.Rat).SetFloat64(v)
		return r, r != nil
	case *big.Int:
		if v != nil {
			return new(big.Rat).SetInt(v), true
		}
	}
	return nil, false
}

// References returns every reference inside v, in the order of list items and of map keys. Those of a
// Text are the references among its parts.
func References(v any) []any {
	var out []any
	visit(v, func(leaf any) {
		switch leaf := leaf.(type) {
		case File, Secret, Parameter, Fact:
			out = append(out, leaf)
		case Text:
			for _, p := range leaf.Parts {
				if _, literal := p.(string); !literal {
					out = append(out, p)
				}
			}
		}
	})
	return out
}

// visit calls f with every element of v that is neither a list nor a map, in the order of list items
// and of map keys.
func visit(v any, f func(leaf any)) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			visit(e, f)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			visit(v[k], f)
		}
	default:
		f(v)
	}
}

// Walk returns a copy of v in which f has replaced every reference. It does not change v: lists and
// maps in the result are new. A Text whose references all have values becomes a string. Walk stops
// at the first error.
func Walk(v any, f func(any) (any, error)) (any, error) { return WalkParts(v, f, f) }

// WalkParts is Walk with another function for the references among the parts of a Text.
func WalkParts(v any, f, part func(any) (any, error)) (any, error) {
	switch v := v.(type) {
	case File, Secret, Parameter, Fact:
		return f(v)
	case Text:
		return v.walk(part)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			w, err := WalkParts(e, f, part)
			if err != nil {
				return nil, err
			}
			out[i] = w
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			w, err := WalkParts(e, f, part)
			if err != nil {
				return nil, err
			}
			out[k] = w
		}
		return out, nil
	}
	return v, nil
}

// walk returns the text in which f has replaced every reference.
func (t Text) walk(f func(any) (any, error)) (any, error) {
	parts := make([]any, len(t.Parts))
	for i, p := range t.Parts {
		if _, literal := p.(string); !literal {
			var err error
			if p, err = f(p); err != nil {
				return nil, err
			}
		}
		parts[i] = p
	}
	return NewText(parts...)
}

// Map returns a copy of v in which f has replaced every element that is neither a list nor a map. A
// Text is one element.
// It does not change v: lists and maps in the result are new.
func Map(v any, f func(any) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Map(v[i], f)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = Map(v[k], f)
		}
		return out
	}
	return f(v)
}

// FromGo converts a Go value to a resource value. It accepts integers of every size, float32,
// json.Number, named types, and slices and maps of any of these. It returns a resource value
// unchanged. The error for anything else is fault.Invalid.
func FromGo(v any) (any, error) { return fromGo(v, 0) }

func fromGo(v any, depth int) (any, error) {
	if depth > MaxDepth {
		return nil, tooDeep()
	}
	switch v := v.(type) {
	case nil, bool, string, int64, float64, File, Secret, Parameter, Fact, Text:
		return v, nil
	case int:
		return int64(v), nil
	case *big.Int:
		if v == nil {
			return nil, notValue("a nil number")
		}
		return v, nil
	case json.Number:
		return fromNumber(string(v))
	}
	return fromReflect(reflect.ValueOf(v), depth)
}

// fromNumber parses a number in JSON syntax.
func fromNumber(s string) (any, error) {
	d := &decoder{s: s}
	n := d.number()
	d.end()
	return n, d.err
}

func fromReflect(v reflect.Value, depth int) (any, error) {
	switch {
	case v.CanInt():
		return v.Int(), nil
	case v.CanUint():
		if n := v.Uint(); n > 1<<63-1 {
			return new(big.Int).SetUint64(n), nil
		}
		return int64(v.Uint()), nil // range checked above
	case v.CanFloat():
		return v.Float(), nil
	case v.Kind() == reflect.Bool:
		return v.Bool(), nil
	case v.Kind() == reflect.String:
		return v.String(), nil
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		out := make([]any, v.Len())
		for i := range out {
			e, err := fromGo(v.Index(i).Interface(), depth+1)
			if err != nil {
				return nil, fault.Wrap(fault.Invalid, "in item "+strconv.Itoa(i+1), err)
			}
			out[i] = e
		}
		return out, nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		out := make(map[string]any, v.Len())
		for it := v.MapRange(); it.Next(); {
			e, err := fromGo(it.Value().Interface(), depth+1)
			if err != nil {
				return nil, fault.Wrap(fault.Invalid, "in "+strconv.Quote(it.Key().String()), err)
			}
			out[it.Key().String()] = e
		}
		return out, nil
	}
	return nil, fault.New(fault.Invalid, "", "a %s is not a value", v.Type())
}
