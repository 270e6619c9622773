package jinja

import (
	"southbound/shared/lang/types"
)

type call = func(s *state, args []types.Value, named []namedValue) (types.Value, error)

// makeGlobals returns the functions that every template has.
func makeGlobals() map[string]call {
	return map[string]call{
		"range": rangeFunction,
		"dict":  dictFunction,
		"namespace": func(s *state, a []types.Value, n []namedValue) (types.Value, error) {
			return newNamespace(s, a, n)
		},
		"cycler": newCycle,
		"joiner": newJoiner,
		"lipsum": func(*state, []types.Value, []namedValue) (types.Value, error) {
			return nil, failf("the function lipsum is not supported: its text is random")
		},
	}
}

func rangeFunction(_ *state, args []types.Value, named []namedValue) (types.Value, error) {
	if len(args) == 0 || len(args) > 3 || len(named) > 0 {
		return nil, failf("range takes one to three numbers")
	}
	var n [3]int64
	for i, a := range args {
		if u, ok := a.(*Undefined); ok {
			return nil, u.err()
		}
		c, ok := count(a)
		if !ok {
			return nil, failf("range takes whole numbers, not %s", kindOf(a))
		}
		n[i] = int64(c)
	}
	r := &rangeValue{n[0], n[1], 1}
	switch len(args) {
	case 1:
		r.from, r.to = 0, n[0]
	case 3:
		r.step = n[2]
	}
	if r.step == 0 {
		return nil, failf("the step of a range is zero")
	}
	const far = 1 << 60
	if max(r.from, r.to) > far || min(r.from, r.to) < -far || r.len() > maxItems {
		return nil, failf("a range has more than %d items", maxItems)
	}
	return r, nil
}

func dictFunction(s *state, args []types.Value, named []namedValue) (types.Value, error) {
	d := newDict()
	if len(args) > 1 {
		return nil, failf("dict takes one value and named ones")
	}
	for _, a := range args {
		if err := s.update(d, a); err != nil {
			return nil, err
		}
	}
	for _, n := range named {
		_ = d.set(n.name, n.value) // a string is always a valid key
	}
	return d, nil
}

// update adds the entries of a dictionary, or of a list of pairs.
func (s *state) update(d *Dict, from types.Value) error {
	if keys, values, ok := entries(from); ok {
		if err := s.readAll(from, values); err != nil {
			return err
		}
		for i := range keys {
			if err := d.set(keys[i], values[i]); err != nil {
				return err
			}
		}
		return nil
	}
	items, err := s.items(from)
	if err != nil {
		return err
	}
	for _, item := range items {
		pair, err := s.items(item)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return failf("a dict is made of pairs, not of %d values", len(pair))
		}
		if err := d.set(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func newNamespace(s *state, args []types.Value, named []namedValue) (types.Value, error) {
	d, err := dictFunction(s, args, named)
	if err != nil {
		return nil, err
	}
	return &namespace{d.(*Dict)}, nil
}

// cycle is the result of cycler.
type cycle struct {
	items []types.Value
	at    int
}

func newCycle(_ *state, args []types.Value, named []namedValue) (types.Value, error) {
	if len(args) == 0 || len(named) > 0 {
		return nil, failf("cycler needs values to go through")
	}
	return &cycle{items: args}, nil
}

func (c *cycle) attribute(name string) (types.Value, bool, error) {
	switch name {
	case "current":
		return c.items[c.at], true, nil
	case "next":
		return &function{"next", func(*state, []types.Value, []namedValue) (types.Value, error) {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v, nil
		}}, true, nil
	case "reset":
		return &function{"reset", func(*state, []types.Value, []namedValue) (types.Value, error) {
			c.at = 0
			return types.Null{}, nil
		}}, true, nil
	}
	return nil, false, nil
}

func newJoiner(_ *state, args []types.Value, named []namedValue) (types.Value, error) {
	a, err := bind(parseParams("sep=none"), args, named)
	if err != nil {
		return nil, failf("joiner %s", err)
	}
	if a[0] == (types.Null{}) {
		a[0] = ", "
	}
	used := false
	return &function{"joiner", func(*state, []types.Value, []namedValue) (types.Value, error) {
		if !used {
			used = true
			return "", nil
		}
		return a[0], nil
	}}, nil
}
