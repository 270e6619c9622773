package std

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"unicode/utf8"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

func listPlugins() []eval.Plugin {
	list := func(name string) eval.Param { return eval.Param{Name: name, Type: "list"} }
	return []eval.Plugin{
		{
			Name: "std::count", Result: "int", Params: []eval.Param{list("item_list")},
			Doc:  "Returns the number of items of item_list; unknown ones count as well.",
			Call: count,
		},
		{
			Name: "std::len", Result: "int", Params: []eval.Param{list("item_list")}, Call: length,
			Doc: "Returns the number of items of item_list; it is unknown if one of them is.",
		},
		{
			Name: "std::sequence", Doc: "Returns i numbers from start.", Result: "list",
			Params: []eval.Param{
				{Name: "i", Type: "int"},
				{Name: "start", Type: "int", Default: int64(0)},
			}, Call: sequence,
		},
		{
			Name: "std::at", Result: "any | reference", Call: at,
			Doc:    "Returns the item of objects at index; -1 is the last one.",
			Params: []eval.Param{list("objects"), {Name: "index", Type: "int"}},
		},
		{
			Name: "std::dict_keys", Doc: "Returns the keys of dct, in its order.",
			Result: "string[]", Params: []eval.Param{{Name: "dct", Type: "dict"}}, Call: dictKeys,
		},
		{
			Name: "std::item", Doc: "Returns the item at index of each of objects.",
			Result: "list", Call: item,
			Params: []eval.Param{list("objects"), {Name: "index", Type: "int"}},
		},
		{
			Name: "std::key_sort", Doc: "Returns items in the order of their attribute key.",
			Result: "list", Call: keySort,
			Params: []eval.Param{list("items"), {Name: "key", Type: "any"}},
		},
		{
			Name: "std::unique", Doc: "Reports whether no two items of item_list are equal.",
			Result: "bool", Call: unique, Params: []eval.Param{list("item_list")},
		},
		{
			Name: "std::flatten", Result: "list", Call: flatten,
			Doc:    "Returns the items of the items of item_list.",
			Params: []eval.Param{list("item_list")},
		},
		{
			Name: "std::inlineif", Doc: "Returns a if conditional is true, else b.", Result: "any",
			Params: []eval.Param{
				{Name: "conditional", Type: "bool"},
				{Name: "a", Type: "any"},
				{Name: "b", Type: "any"},
			},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				if a.Bool(0) {
					return a.Values[1], nil
				}
				return a.Values[2], nil
			},
		},
	}
}

// deprecatedPlugins returns the plugins that expressions of the language replace.
func deprecatedPlugins() []eval.Plugin {
	return []eval.Plugin{
		{
			Name: "std::equals", Doc: "Fails unless arg1 and arg2 are equal.", Result: "any",
			Deprecated: true, ReplacedBy: "the operator ==", Call: equals,
			Params: []eval.Param{
				{Name: "arg1", Type: "any"},
				{Name: "arg2", Type: "any"},
				{Name: "desc", Type: "string?", Default: types.Null{}},
			},
		},
		{
			Name: "std::select", Doc: "Returns the attribute attr of each of objects.",
			Result: "list", Deprecated: true, ReplacedBy: "a list comprehension", Call: selected,
			Params: []eval.Param{{Name: "objects", Type: "list"}, {Name: "attr", Type: "string"}},
		},
		{
			Name: "std::filter", Doc: "Returns values without not_item.", Result: "list",
			Deprecated: true, ReplacedBy: "a list comprehension", Call: without,
			Params: []eval.Param{
				{Name: "values", Type: "list"},
				{Name: "not_item", Type: "std::Entity"},
			},
		},
		{
			Name: "std::dict_get", Doc: "Returns the entry of dct for key.", Result: "string",
			Deprecated: true, ReplacedBy: "dict[key]", Call: dictGet,
			Params: []eval.Param{{Name: "dct", Type: "dict"}, {Name: "key", Type: "string"}},
		},
		{
			Name: "std::contains", Doc: "Reports whether dct has an entry for key.", Result: "bool",
			Deprecated: true, ReplacedBy: "the operator in",
			Params: []eval.Param{{Name: "dct", Type: "dict"}, {Name: "key", Type: "string"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				_, ok := a.Dict(0).Get(a.Text(1))
				return ok, nil
			},
		},
		{
			Name: "std::invert", Doc: "Returns true for false, and false for true.", Result: "bool",
			Deprecated: true, ReplacedBy: "the operator not",
			Params: []eval.Param{{Name: "value", Type: "bool"}},
			Call: func(_ *eval.Context, a eval.Args) (types.Value, error) {
				return !a.Bool(0), nil
			},
		},
	}
}

func count(_ *eval.Context, a eval.Args) (types.Value, error) {
	return int64(len(a.List(0).Items)), nil
}

func length(_ *eval.Context, a eval.Args) (types.Value, error) {
	items := a.List(0).Items
	if i := slices.IndexFunc(items, types.IsUnknown); i >= 0 {
		return items[i], nil
	}
	return int64(len(items)), nil
}

// maxSequence is the largest length of a sequence.
const maxSequence = 1_000_000

func sequence(_ *eval.Context, a eval.Args) (types.Value, error) {
	n := a.Int(0)
	if n > maxSequence {
		const text = "a sequence has at most %d numbers, not %d"
		return nil, eval.OverLimit(text, maxSequence, a.Number(0))
	}
	out := &types.List{Items: make([]types.Value, 0, max(n, 0))}
	start, end := a.Number(1), a.Number(1)
	if end.Add(end, big.NewInt(n)); start.IsInt64() && end.IsInt64() {
		for i := range n {
			out.Items = append(out.Items, start.Int64()+i)
		}
		return out, nil
	}
	for i := range n {
		item := big.NewInt(i)
		out.Items = append(out.Items, types.Integer(item.Add(item, start)))
	}
	return out, nil
}

// indexed returns the item at an index. A negative index counts from the end.
func indexed(items []types.Value, a eval.Args, index int) (types.Value, error) {
	i, n := a.Int(index), int64(len(items))
	if i < -n || i >= n {
		return nil, fmt.Errorf("there is no item %d: the list has %d", a.Number(index), n)
	}
	if i < 0 {
		i += n
	}
	return items[i], nil
}

func dictKeys(_ *eval.Context, a eval.Args) (types.Value, error) {
	keys := a.Dict(0).Keys()
	out := &types.List{Items: make([]types.Value, len(keys))}
	for i, k := range keys {
		out.Items[i] = k
	}
	return out, nil
}

func at(_ *eval.Context, a eval.Args) (types.Value, error) {
	return indexed(a.List(0).Items, a, 1)
}

// parts returns the items of a list, the characters of a string, or the keys of a dict.
func parts(c *eval.Context, v types.Value) ([]types.Value, error) {
	var out []types.Value
	switch v := v.(type) {
	case *types.Unknown:
		return nil, eval.ErrUnknown
	case *types.List:
		return v.Items, nil
	case string:
		n := utf8.RuneCountInString(v)
		if err := c.Fits(2*n, len(v)); err != nil { // each character is an item and a string
			return nil, err
		}
		out = make([]types.Value, 0, n)
		for _, r := range v {
			out = append(out, string(r))
		}
		return out, nil
	case *types.Dict:
		for _, k := range v.Keys() {
			out = append(out, k)
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s has no items", types.Kind(v))
}

func item(c *eval.Context, a eval.Args) (types.Value, error) {
	out := &types.List{}
	for _, o := range a.List(0).Items {
		if _, ok := o.(*types.Dict); ok {
			return nil, errors.New("a dict has no items at an index")
		}
		items, err := parts(c, o)
		if err != nil {
			return nil, err
		}
		v, err := indexed(items, a, 1)
		if err != nil {
			return nil, err
		}
		if types.IsUnknown(v) {
			return nil, eval.ErrUnknown
		}
		out.Items = append(out.Items, v)
	}
	return out, nil
}

func flatten(c *eval.Context, a eval.Args) (types.Value, error) {
	out := &types.List{}
	for _, v := range a.List(0).Items {
		items, err := parts(c, v)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(items, types.IsUnknown) {
			return nil, eval.ErrUnknown
		}
		if err := c.Fits(len(out.Items)+len(items), 0); err != nil {
			return nil, err
		}
		out.Items = append(out.Items, items...)
	}
	return out, nil
}

func unique(_ *eval.Context, a eval.Args) (types.Value, error) {
	items := a.List(0).Items
	seen := make(map[any]bool, len(items))
	for _, v := range items {
		switch v.(type) {
		case *types.Unknown:
			return false, eval.ErrUnknown
		case *types.Dict, *types.List:
			return nil, fmt.Errorf("unique cannot compare %s", types.Kind(v))
		}
		k := equalKey(v)
		if seen[k] {
			return false, nil
		}
		seen[k] = true
	}
	return true, nil
}

// equalKey returns a map key that is the same for equal values.
func equalKey(v types.Value) any {
	type text string // a string; differs from all other keys
	type large string
	switch v := v.(type) {
	case string:
		return text(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case float64:
		if v == math.Trunc(v) && !math.IsInf(v, 0) {
			n, _ := big.NewFloat(v).Int(nil)
			return equalKey(types.Integer(n))
		}
	case *big.Int:
		return large(v.String())
	}
	return v
}

func keySort(c *eval.Context, a eval.Args) (types.Value, error) {
	name, ok := a.Values[1].(string)
	if !ok {
		return nil, errors.New("key is the name of an attribute")
	}
	items := slices.Clone(a.List(0).Items)
	keys := map[types.Value]types.Value{}
	for _, v := range items {
		k, err := attributeOf(c, v, name)
		if err != nil {
			return nil, err
		}
		keys[v] = k
	}
	var failed error
	slices.SortStableFunc(items, func(x, y types.Value) int {
		n, err := order(keys[x], keys[y])
		if err != nil {
			failed = err
		}
		return n
	})
	return &types.List{Items: items}, failed
}

// attributeOf returns an attribute of an instance. It returns eval.ErrUnknown if the instance or
// the attribute is unknown.
func attributeOf(c *eval.Context, of types.Value, name string) (types.Value, error) {
	if types.IsUnknown(of) {
		return nil, eval.ErrUnknown
	}
	o, ok := of.(types.Object)
	if !ok {
		return nil, fmt.Errorf("%s has no attribute %s", types.Kind(of), name)
	}
	v, err := c.Attribute(o, name)
	if types.IsUnknown(v) {
		return nil, eval.ErrUnknown
	}
	return v, err
}

// order compares two strings or two numbers.
func order(a, b types.Value) (int, error) {
	s, ok := a.(string)
	t, both := b.(string)
	if ok != both {
		return 0, fmt.Errorf("%s and %s have no order", types.Kind(a), types.Kind(b))
	}
	if ok {
		if s < t {
			return -1, nil
		} else if s > t {
			return 1, nil
		}
		return 0, nil
	}
	less, err := types.Compare("<", a, b)
	if err != nil || less {
		return -1, err
	}
	if types.Equal(a, b) {
		return 0, nil
	}
	return 1, nil
}

func equals(_ *eval.Context, a eval.Args) (types.Value, error) {
	if types.Equal(a.Values[0], a.Values[1]) {
		return types.Null{}, nil
	}
	message := types.Short(a.Values[0]) + " != " + types.Short(a.Values[1])
	if !a.Null(2) {
		message += ": " + a.Text(2)
	}
	return nil, errors.New(message)
}

func selected(c *eval.Context, a eval.Args) (types.Value, error) {
	out := &types.List{}
	for _, v := range a.List(0).Items {
		x, err := attributeOf(c, v, a.Text(1))
		if err != nil {
			return nil, err
		}
		out.Items = append(out.Items, x)
	}
	return out, nil
}

func without(_ *eval.Context, a eval.Args) (types.Value, error) {
	out := &types.List{}
	for _, v := range a.List(0).Items {
		if types.IsUnknown(v) {
			return nil, eval.ErrUnknown
		}
		if !types.Equal(v, a.Values[1]) {
			out.Items = append(out.Items, v)
		}
	}
	return out, nil
}

func dictGet(_ *eval.Context, a eval.Args) (types.Value, error) {
	v, ok := a.Dict(0).Get(a.Text(1))
	if !ok {
		return nil, fmt.Errorf("the dict has no entry %q", a.Text(1))
	}
	return v, nil
}
