package jinja

import (
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

// each returns an attribute of each item. The path is a name, a number, or several separated by
// dots.
func (s *state) each(items []types.Value, path, otherwise types.Value) ([]types.Value, error) {
	parts := pathParts(path)
	out := make([]types.Value, len(items))
	for i, item := range items {
		var err error
		for _, p := range parts {
			if item, err = s.item(item, p); err != nil {
				return nil, err
			}
			if _, ok := item.(*Undefined); ok && otherwise != nil {
				item = otherwise
			}
		}
		out[i] = item
	}
	return out, nil
}

func pathParts(path types.Value) []types.Value {
	text, ok := stringOf(path)
	if !ok {
		if path == (types.Null{}) {
			return nil
		}
		return []types.Value{path}
	}
	var out []types.Value
	for _, p := range strings.Split(text, ".") {
		if n, ok := parseInt(p, 10); ok && strings.Trim(p, "0123456789") == "" {
			out = append(out, n)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// folded returns the key of a string for a comparison that ignores case.
func folded(v types.Value) types.Value {
	if text, ok := stringOf(v); ok {
		return lower(text)
	}
	return v
}

// keys returns the sort keys of items.
func (s *state) keys(items []types.Value, attribute, sensitive types.Value) ([]types.Value, error) {
	keys, err := s.each(items, attribute, nil)
	if err != nil {
		return nil, err
	}
	exact, err := s.truth(sensitive)
	if err != nil || exact {
		return keys, err
	}
	for i, k := range keys {
		keys[i] = folded(k)
	}
	return keys, nil
}

// ordered returns items sorted by their keys; the sort is stable.
func (s *state) ordered(items, keys []types.Value, reverse bool) ([]types.Value, error) {
	if err := s.spend(4 * len(items)); err != nil {
		return nil, err
	}
	places := make([]int, len(items))
	for i := range places {
		places[i] = i
	}
	var failed error
	slices.SortStableFunc(places, func(i, j int) int {
		a, b := keys[i], keys[j]
		if reverse {
			a, b = b, a
		}
		before, err := less(a, b, 0)
		if err != nil {
			failed = err
		}
		if before {
			return -1
		}
		if after, _ := less(b, a, 0); after {
			return 1
		}
		return 0
	})
	out := make([]types.Value, len(items))
	for i, p := range places {
		out[i] = items[p]
	}
	return out, failed
}

func dictsortFilter(s *state, a []types.Value) (types.Value, error) {
	if _, _, ok := entries(a[0]); !ok {
		return nil, failf("dictsort needs a dict, not %s", kindOf(a[0]))
	}
	items, err := s.pairs(a[0])
	if err != nil {
		return nil, err
	}
	var by types.Value = int64(0)
	switch a[2] {
	case "key":
	case "value":
		by = int64(1)
	default:
		return nil, failf(`dictsort sorts by "key" or "value"`)
	}
	keys, err := s.keys(items, by, a[1])
	if err != nil {
		return nil, err
	}
	reverse, err := s.truth(a[3])
	if err != nil {
		return nil, err
	}
	items, err = s.ordered(items, keys, reverse)
	return newList(items), err
}

func sortFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	paths := []types.Value{a[3]}
	if text, ok := stringOf(a[3]); ok {
		paths = nil
		for _, p := range strings.Split(text, ",") {
			paths = append(paths, p)
		}
	}
	keys := make([]types.Value, len(items))
	for _, p := range paths {
		more, err := s.keys(items, p, a[2])
		if err != nil {
			return nil, err
		}
		for i, k := range more {
			if keys[i] == nil {
				keys[i] = &Tuple{}
			}
			t := keys[i].(*Tuple)
			t.items = append(t.items, k)
		}
	}
	reverse, err := s.truth(a[1])
	if err != nil {
		return nil, err
	}
	items, err = s.ordered(items, keys, reverse)
	return newList(items), err
}

func sumFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	if a[1] != (types.Null{}) {
		if items, err = s.each(items, a[1], nil); err != nil {
			return nil, err
		}
	}
	total := a[2]
	if _, ok := stringOf(total); ok {
		return nil, failf("strings are not summed; use join")
	}
	for _, item := range items {
		if total, err = s.compute("+", total, item); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func (s *state) extreme(a []types.Value, largest bool) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return &Undefined{
			name:   "",
			reason: "the list is empty: it has no smallest or largest item",
		}, nil
	}
	keys, err := s.keys(items, a[2], a[1])
	if err != nil {
		return nil, err
	}
	best := 0
	for i := 1; i < len(items); i++ {
		x, y := keys[i], keys[best]
		if largest {
			x, y = y, x
		}
		better, err := less(x, y, 0)
		if err != nil {
			return nil, err
		}
		if better {
			best = i
		}
	}
	return items[best], nil
}

func uniqueFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	keys, err := s.keys(items, a[2], a[1])
	if err != nil {
		return nil, err
	}
	seen := map[any]bool{}
	var out []types.Value
	for i, k := range keys {
		h, err := hashKey(k)
		if err != nil {
			return nil, err
		}
		if !seen[h] {
			seen[h] = true
			out = append(out, items[i])
		}
	}
	return &iterator{items: out, what: "do_unique"}, nil
}

func groupbyFilter(s *state, a []types.Value) (types.Value, error) {
	items, err := s.items(a[0])
	if err != nil {
		return nil, err
	}
	var otherwise types.Value
	if a[2] != (types.Null{}) {
		otherwise = a[2]
	}
	exact, err := s.each(items, a[1], otherwise)
	if err != nil {
		return nil, err
	}
	keys := exact
	if sensitive, err := s.truth(a[3]); err != nil {
		return nil, err
	} else if !sensitive {
		keys = make([]types.Value, len(exact))
		for i, k := range exact {
			keys[i] = folded(k)
		}
	}
	triples := make([]types.Value, len(items))
	for i := range items {
		triples[i] = &Tuple{items: []types.Value{keys[i], exact[i], items[i]}}
	}
	if triples, err = s.ordered(triples, keys, false); err != nil {
		return nil, err
	}
	return grouped(triples)
}

// grouped groups adjacent items with equal keys. A group has the key of its first item, with its
// original case.
func grouped(triples []types.Value) (types.Value, error) {
	var out []types.Value
	var key types.Value
	for _, t := range triples {
		parts := t.(*Tuple).items
		if len(out) > 0 {
			same, err := equal(key, parts[0], 0)
			if err != nil {
				return nil, err
			}
			if same {
				l := out[len(out)-1].(*Tuple).items[1].(*List)
				l.items = append(l.items, parts[2])
				continue
			}
		}
		key = parts[0]
		out = append(
			out,
			&Tuple{
				items: []types.Value{parts[1], newList([]types.Value{parts[2]})},
				names: []string{"grouper", "list"},
			},
		)
	}
	return newList(out), nil
}
