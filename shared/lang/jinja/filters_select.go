package jinja

import (
	"southbound/shared/lang/types"
)

func selectFilters() map[string]builtin {
	return map[string]builtin{
		"map":        {params: "value, *args, **kwargs", call: mapFilter},
		"select":     {params: "value, *args, **kwargs", call: selecting(false, true)},
		"reject":     {params: "value, *args, **kwargs", call: selecting(false, false)},
		"selectattr": {params: "value, *args, **kwargs", call: selecting(true, true)},
		"rejectattr": {params: "value, *args, **kwargs", call: selecting(true, false)},
	}
}

// some returns the items of a value; none for any value that is falsy.
func (s *state) some(v types.Value) ([]types.Value, error) {
	if ok, err := s.truth(v); !ok || err != nil {
		return nil, err
	}
	return s.items(v)
}

// mapFilter applies a filter to each item, or reads an attribute of each.
func mapFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.some(a[0])
	if err != nil {
		return nil, err
	}
	args, named := a[1].(*Tuple).items, a[2].(*Dict)
	path, byAttribute, _ := named.get("attribute")
	if len(args) == 0 && byAttribute {
		otherwise, given, _ := named.get("default")
		if n := len(named.keys); n > 2 || n == 2 && !given {
			return nil, failf("map takes attribute and default, nothing else")
		}
		out, err := s.each(items, path, otherwise)
		return &iterator{items: out, what: "map"}, err
	}
	if len(args) == 0 {
		return nil, failf("map needs the name of a filter, or attribute=")
	}
	name, err := s.str(args[0])
	if err != nil {
		return nil, err
	}
	out := make([]types.Value, len(items))
	for i, item := range items {
		if out[i], err = s.filter(name, append([]types.Value{item}, args[1:]...),
			namedOf(named)); err != nil {
			return nil, err
		}
	}
	return &iterator{items: out, what: "map"}, nil
}

func namedOf(d *Dict) []namedValue {
	var out []namedValue
	for i, k := range d.keys {
		out = append(out, namedValue{k.(string), d.vals[i]})
	}
	return out
}

// selecting keeps or drops the items for which a test holds. Without the name of a test, it tests
// their truth.
func selecting(byAttribute, keep bool) func(*state, []types.Value) (types.Value, error) {
	return func(s *state, a []types.Value) (types.Value, error) {
		items, err := s.some(a[0])
		if err != nil {
			return nil, err
		}
		args, named := a[1].(*Tuple).items, namedOf(a[2].(*Dict))
		tested := items
		if byAttribute {
			if len(args) == 0 {
				return nil, failf("selectattr and rejectattr need the name of an attribute")
			}
			if tested, err = s.each(items, args[0], nil); err != nil {
				return nil, err
			}
			args = args[1:]
		}
		var out []types.Value
		for i, item := range items {
			ok, err := s.holds(tested[i], args, named)
			if err != nil {
				return nil, err
			}
			if ok == keep {
				out = append(out, item)
			}
		}
		return &iterator{items: out, what: "select"}, nil
	}
}

// holds applies the test that the arguments of select name.
func (s *state) holds(v types.Value, args []types.Value, named []namedValue) (bool, error) {
	if len(args) == 0 {
		return s.truth(v)
	}
	name, err := s.str(args[0])
	if err != nil {
		return false, err
	}
	r, err := s.is(name, append([]types.Value{v}, args[1:]...), named)
	if err != nil {
		return false, err
	}
	return s.truth(r)
}
