package jinja

import (
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

func listFilters() map[string]builtin {
	return map[string]builtin{
		"attr":    {params: "obj, name", call: attrFilter},
		"batch":   {params: "value, linecount, fill_with=none", call: batchFilter},
		"default": {params: "value, default_value='', boolean=false", call: defaultFilter},
		"dictsort": {
			params: "value, case_sensitive=false, by='key', reverse=false",
			call:   dictsortFilter,
		},
		"first": {
			params: "seq",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.end(a[0], "first")
			},
		},
		"last": {
			params: "seq",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.end(a[0], "last")
			},
		},
		"items":  {params: "value", call: itemsFilter},
		"join":   {params: "value, d='', attribute=none", call: joinFilter},
		"length": {params: "obj", call: lengthFilter},
		"list":   {params: "value", call: listFilter},
		"max": {
			params: "value, case_sensitive=false, attribute=none",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.extreme(a, true)
			},
		},
		"min": {
			params: "value, case_sensitive=false, attribute=none",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.extreme(a, false)
			},
		},
		"reverse": {params: "value", call: reverseFilter},
		"slice":   {params: "value, slices, fill_with=none", call: sliceFilter},
		"sort": {
			params: "value, reverse=false, case_sensitive=false, attribute=none",
			call:   sortFilter,
		},
		"sum":    {params: "iterable, attribute=none, start=0", call: sumFilter},
		"unique": {params: "value, case_sensitive=false, attribute=none", call: uniqueFilter},
		"groupby": {
			params: "value, attribute, default=none, case_sensitive=false",
			call:   groupbyFilter,
		},
	}
}

func attrFilter(s *state, a []types.Value) (types.Value, error) {
	name, err := s.str(a[1])
	if err != nil {
		return nil, err
	}
	v, ok, err := s.attribute(a[0], name)
	if err != nil || ok {
		return v, err
	}
	return s.noAttribute(a[0], name), nil
}

func batchFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	n, err := whole("the number of items", a[1])
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxItems {
		return nil, failf("a batch has 1 to %d items, not %d", maxItems, n)
	}
	var out []types.Value
	for chunk := range slices.Chunk(items, n) {
		row := slices.Clone(chunk)
		for a[2] != (types.Null{}) && len(row) < n {
			row = append(row, a[2])
		}
		out = append(out, newList(row))
	}
	return &iterator{items: out, what: "batch"}, nil
}

func sliceFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	n, err := whole("the number of slices", a[1])
	if err != nil {
		return nil, err
	}
	if n < 1 || n > maxItems {
		return nil, failf("there are 1 to %d slices, not %d", maxItems, n)
	}
	each, more := len(items)/n, len(items)%n
	var out []types.Value
	for i, at := 0, 0; i < n; i++ {
		size := each
		if i < more {
			size++
		}
		row := slices.Clone(items[at : at+size])
		if a[2] != (types.Null{}) && i >= more {
			row = append(row, a[2])
		}
		out, at = append(out, newList(row)), at+size
	}
	return &iterator{items: out, what: "slice"}, nil
}

func defaultFilter(s *state, a []types.Value) (types.Value, error) {
	if _, ok := a[0].(*Undefined); ok {
		return a[1], nil
	}
	if empty, err := s.truth(a[2]); !empty || err != nil {
		return a[0], err
	}
	ok, err := s.truth(a[0])
	if ok || err != nil {
		return a[0], err
	}
	return a[1], nil
}

func (s *state) end(v types.Value, which string) (types.Value, error) {
	items, err := s.unread(v)
	if it, ok := v.(*iterator); ok && which == "first" && len(items) > 0 {
		it.next -= len(items) - 1 // only one item was consumed
	}
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return &Undefined{
			name:   which,
			reason: "there is no " + which + " item: the list is empty",
		}, nil
	case which == "first":
		return s.read(v, items[0], nil)
	}
	return s.read(v, items[len(items)-1], nil)
}

func itemsFilter(s *state, a []types.Value) (types.Value, error) {
	if _, ok := a[0].(*Undefined); ok {
		return &iterator{what: "do_items"}, nil
	}
	if _, _, ok := entries(a[0]); !ok {
		return &iterator{
			what: "do_items",
			err:  failf("%s has no items: it is not a dict", kindOf(a[0])),
		}, nil
	}
	items, err := s.pairs(a[0])
	return &iterator{items: items, what: "do_items", err: err}, nil
}

func joinFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	if a[2] != (types.Null{}) {
		if items, err = s.each(items, a[2], nil); err != nil {
			return nil, err
		}
	}
	between, err := s.written(a[1], s.escaping)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for i, item := range items {
		if i > 0 {
			b.WriteString(between)
		}
		text, err := s.written(item, s.escaping)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
		if b.Len() > maxOutput {
			return nil, limitf("a string becomes longer than %d bytes", maxOutput)
		}
	}
	return s.markup(b.String()), nil
}

func lengthFilter(_ *state, a []types.Value) (types.Value, error) {
	switch v := a[0].(type) {
	case *Undefined:
		return int64(0), v.used()
	case *types.Unknown:
		return nil, ErrUnknown
	case types.Reference:
		return nil, later(v)
	}
	n, ok := lengthOf(a[0])
	if !ok {
		return nil, failf("%s has no length", kindOf(a[0]))
	}
	return int64(n), nil
}

func listFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	return newList(slices.Clone(items)), err
}

func reverseFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := stringOf(a[0]); !ok {
		return &iterator{items: items, what: "reversed"}, nil
	}
	var b strings.Builder
	for _, c := range items {
		b.WriteString(c.(string))
	}
	return like(a[0], b.String()), nil
}
