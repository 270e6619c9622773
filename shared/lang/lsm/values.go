package lsm

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

// Value converts a JSON value to a value of a model. Members of objects are sorted by name.
func Value(v any) (types.Value, error) {
	switch v := v.(type) {
	case nil:
		return types.Null{}, nil
	case bool, string, int64, float64:
		return v, nil
	case int:
		return int64(v), nil
	case *big.Int:
		return types.Integer(v), nil
	case json.Number:
		return number(v)
	case []any:
		return list(v)
	case map[string]any:
		d := types.NewDict(len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			item, err := Value(v[k])
			if err != nil {
				return nil, err
			}
			d.Set(k, item)
		}
		return d, nil
	}
	return nil, fmt.Errorf("%T is not a value of JSON", v)
}

// list converts a JSON array. It flattens nested arrays, because lists of models hold no lists.
func list(v []any) (types.Value, error) {
	out := &types.List{Items: make([]types.Value, 0, len(v))}
	for _, one := range v {
		item, err := Value(one)
		if err != nil {
			return nil, err
		}
		if inner, ok := item.(*types.List); ok {
			out.Items = append(out.Items, inner.Items...)
			continue
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

func number(n json.Number) (types.Value, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		if i, ok := new(big.Int).SetString(n.String(), 10); ok {
			return types.Integer(i), nil
		}
	}
	f, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("%s is not a number that a model can have", n)
	}
	return f, nil
}

// Plain converts a value of a model to a JSON value. It returns an error for values that JSON
// cannot represent.
func Plain(v types.Value) (any, error) {
	switch v := v.(type) {
	case types.Null:
		return nil, nil // null
	case bool, string, int64, float64, *big.Int:
		return v, nil
	case *types.List:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			var err error
			if out[i], err = Plain(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case *types.Dict:
		out := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			p, err := Plain(item)
			if err != nil {
				return nil, err
			}
			out[k] = p
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s cannot be stored", types.Kind(v))
}
