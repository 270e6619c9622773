package resource

import (
	"math/big"
	"slices"
)

// Equal reports whether two values are the same; numbers are compared by value.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case bool, string, File, Parameter, Fact, Secret:
		return a == b
	case int64, float64, *big.Int:
		x, ok := number(a)
		y, ok2 := number(b)
		return ok && ok2 && x.Cmp(y) == 0
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
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

func number(v any) (*big.Float, bool) {
	switch v := v.(type) {
	case int64:
		return new(big.Float).SetPrec(256).SetInt64(v), true
	case float64:
		return new(big.Float).SetPrec(256).SetFloat64(v), true
	case *big.Int:
		return new(big.Float).SetPrec(uint(max(256, v.BitLen()))).SetInt(v), true
	}
	return nil, false
}

// References returns every reference inside v; those of maps in order of their keys.
func References(v any) []any {
	switch v := v.(type) {
	case File, Secret, Parameter, Fact:
		return []any{v}
	case []any:
		var out []any
		for _, e := range v {
			out = append(out, References(e)...)
		}
		return out
	case map[string]any:
		var out []any
		for _, k := range sortedKeys(v) {
			switch v[k].(type) {
			case string, bool, int64, nil:
			default:
				out = append(out, References(v[k])...)
			}
		}
		return out
	}
	return nil
}

// Walk returns v with every reference replaced by what f makes of it; v is not changed. The first error ends it.
func Walk(v any, f func(any) (any, error)) (any, error) {
	switch v := v.(type) {
	case File, Secret, Parameter, Fact:
		return f(v)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			w, err := Walk(e, f)
			if err != nil {
				return nil, err
			}
			out[i] = w
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			w, err := Walk(e, f)
			if err != nil {
				return nil, err
			}
			out[k] = w
		}
		return out, nil
	}
	return v, nil
}
