package jinja

import (
	"slices"

	"southbound/shared/lang/types"
)

// method returns a method of a value, bound to it.
func (s *state) method(of types.Value, name string) (types.Value, bool) {
	table := s.lib.methodsOf(of)
	m, ok := table[name]
	if !ok {
		return nil, false
	}
	return &function{
		name,
		func(s *state, args []types.Value, named []namedValue) (types.Value, error) {
			return m.bound(s, "the method", name, append([]types.Value{of}, args...), named)
		},
	}, true
}

func (l *library) methodsOf(v types.Value) map[string]builtin {
	switch v := v.(type) {
	case string, Markup:
		return l.stringMethods
	case *List:
		if v.fixed {
			return l.fixedListMethods
		}
		return l.listMethods
	case *types.List, *Tuple, *rangeValue:
		return l.tupleMethods
	case *Dict:
		if v.fixed {
			return l.modelDictMethods
		}
		return l.dictMethods
	case *types.Dict:
		return l.modelDictMethods
	}
	return nil
}

// makeTupleMethods returns the methods of immutable lists.
func makeTupleMethods() map[string]builtin {
	return map[string]builtin{
		"count": {
			params: "self, value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				places, err := s.places(a[0], a[1])
				return int64(len(places)), err
			},
		},
		"index": {
			params: "self, value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				places, err := s.places(a[0], a[1])
				if err != nil {
					return nil, err
				}
				if len(places) == 0 {
					return nil, failf("the value is not in the list")
				}
				return int64(places[0]), nil
			},
		},
	}
}

func (s *state) places(list, v types.Value) ([]int, error) {
	items, err := s.items(list)
	var out []int
	for i, item := range items {
		same, err := equal(item, v, 0)
		if err != nil {
			return nil, err
		}
		if same {
			out = append(out, i)
		}
	}
	return out, err
}

// makeListMethods returns the methods of lists that the template created.
func makeListMethods(read map[string]builtin) map[string]builtin {
	return map[string]builtin{
		"count": read["count"],
		"index": read["index"],
		"append": {
			params: "self, value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return types.Null{}, s.grow(a[0].(*List), a[1])
			},
		},
		"extend": {params: "self, values", call: extendMethod},
		"insert": {params: "self, index, value", call: insertMethod},
		"pop":    {params: "self, index=-1", call: popMethod},
		"remove": {params: "self, value", call: removeMethod},
		"clear": {params: "self", call: func(_ *state, a []types.Value) (types.Value, error) {
			a[0].(*List).items = nil
			return types.Null{}, nil
		}},
		"copy": {params: "self", call: func(_ *state, a []types.Value) (types.Value, error) {
			return newList(slices.Clone(a[0].(*List).items)), nil
		}},
		"reverse": {params: "self", call: func(_ *state, a []types.Value) (types.Value, error) {
			slices.Reverse(a[0].(*List).items)
			return types.Null{}, nil
		}},
		"sort": {params: "self, reverse=false", call: sortMethod},
	}
}

func (s *state) grow(l *List, more ...types.Value) error {
	if len(l.items)+len(more) > maxItems {
		return limitf("a list becomes longer than %d items", maxItems)
	}
	l.items = append(slices.Clip(l.items), more...)
	return s.spendItems(len(more))
}

func extendMethod(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[1])
	if err != nil {
		return nil, err
	}
	return types.Null{}, s.grow(a[0].(*List), items...)
}

func insertMethod(s *state, a []types.Value) (types.Value, error) {
	l := a[0].(*List)
	i, err := whole("the index", a[1])
	if err != nil {
		return nil, err
	}
	if i < 0 {
		i += len(l.items)
	}
	i = max(0, min(i, len(l.items)))
	if err := s.grow(l, types.Null{}); err != nil {
		return nil, err
	}
	copy(l.items[i+1:], l.items[i:])
	l.items[i] = a[2]
	return types.Null{}, nil
}

func popMethod(_ *state, a []types.Value) (types.Value, error) {
	l := a[0].(*List)
	i, err := whole("the index", a[1])
	if err != nil {
		return nil, err
	}
	if i < 0 {
		i += len(l.items)
	}
	if i < 0 || i >= len(l.items) {
		return nil, failf("the list has no item to pop there: it has %d", len(l.items))
	}
	v := l.items[i]
	l.items = append(l.items[:i:i], l.items[i+1:]...)
	return v, nil
}

func removeMethod(s *state, a []types.Value) (types.Value, error) {
	places, err := s.places(a[0], a[1])
	if err != nil {
		return nil, err
	}
	if len(places) == 0 {
		return nil, failf("the value is not in the list")
	}
	l := a[0].(*List)
	l.items = append(l.items[:places[0]:places[0]], l.items[places[0]+1:]...)
	return types.Null{}, nil
}

func sortMethod(s *state, a []types.Value) (types.Value, error) {
	l := a[0].(*List)
	reverse, err := s.truth(a[1])
	if err != nil {
		return nil, err
	}
	items, err := s.ordered(l.items, l.items, reverse)
	if err == nil {
		l.items = items
	}
	return types.Null{}, err
}

// makeModelDictMethods returns the methods of immutable dictionaries.
func makeModelDictMethods() map[string]builtin {
	return map[string]builtin{
		"get": {params: "self, key, default=none", call: getMethod},
		"keys": {
			params: "self",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return &view{a[0], "dict_keys"}, nil
			},
		},
		"values": {
			params: "self",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return &view{a[0], "dict_values"}, nil
			},
		},
		"items": {
			params: "self",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return &view{a[0], "dict_items"}, nil
			},
		},
		"copy": {
			params: "self",
			call: func(s *state, a []types.Value) (types.Value, error) {
				if ofModel(a[0]) {
					return a[0], nil // immutable, so it serves as its own copy
				}
				return dictFunction(s, a, nil)
			},
		},
	}
}

// makeDictMethods returns the methods of dictionaries that the template created.
func makeDictMethods(read map[string]builtin) map[string]builtin {
	return map[string]builtin{
		"get": read["get"], "keys": read["keys"], "values": read["values"], "items": read["items"],
		"copy":       read["copy"],
		"pop":        {params: "self, key, default=-", call: popKeyMethod},
		"popitem":    {params: "self", call: popitemMethod},
		"setdefault": {params: "self, key, default=none", call: setdefaultMethod},
		"update":     {params: "self, *args, **kwargs", call: updateMethod},
		"clear": {params: "self", call: func(_ *state, a []types.Value) (types.Value, error) {
			*a[0].(*Dict) = *newDict()
			return types.Null{}, nil
		}},
	}
}

func getMethod(s *state, a []types.Value) (types.Value, error) {
	v, ok, err := lookup(a[0], a[1])
	if !ok && err == nil {
		if ofModel(a[0]) && !s.models.passed && isUndefined(a[2]) == nil {
			return s.exported(a[2], 0) // results of its methods look like values of a model
		}
		return a[2], nil
	}
	if err == nil && ofModel(a[0]) {
		err = known(v)
	}
	return v, err
}

func popKeyMethod(s *state, a []types.Value) (types.Value, error) {
	d := a[0].(*Dict)
	v, ok, err := d.get(a[1])
	switch {
	case err != nil:
		return nil, err
	case ok:
		d.remove(a[1])
		return v, nil
	case a[2] != nil:
		return a[2], nil
	}
	key, err := s.repr(a[1])
	if err != nil {
		return nil, err
	}
	return nil, failf("the dict has no key %s", key)
}

func popitemMethod(_ *state, a []types.Value) (types.Value, error) {
	d := a[0].(*Dict)
	n := len(d.keys)
	if n == 0 {
		return nil, failf("the dict is empty")
	}
	k, v := d.keys[n-1], d.vals[n-1]
	d.remove(k)
	return &Tuple{items: []types.Value{k, v}}, nil
}

func setdefaultMethod(_ *state, a []types.Value) (types.Value, error) {
	d := a[0].(*Dict)
	v, ok, err := d.get(a[1])
	if ok || err != nil {
		return v, err
	}
	return a[2], d.set(a[1], a[2])
}

func updateMethod(s *state, a []types.Value) (types.Value, error) {
	d, args := a[0].(*Dict), a[1].(*Tuple).items
	if len(args) > 1 {
		return nil, failf("update takes one value and named ones")
	}
	for _, from := range append(args, a[2]) {
		if err := s.update(d, from); err != nil {
			return nil, err
		}
	}
	return types.Null{}, nil
}
