package jinja

import "southbound/shared/lang/types"

// Passed is a Host whose variables are values that the call passed, instead of what the place of
// the call sees. Dictionaries of a model look different then, as in the reference, which wraps the
// one kind otherwise than the other.
//
// In what the place of the call sees, a name has its value also where another template has set it:
// a part that does not set a name asks the host first, as the reference does.
type Passed interface {
	Passed() bool
}

// bareNull is the null of a model where items() of a dictionary gives it. It is not none: only
// where the reference wraps a value does it turn null into None.
type bareNull struct{}

// models is how values of a model look in a rendering.
type models struct {
	// passed says that they were passed to the template; see Passed.
	passed bool
	// seen says that they are what the place of the call sees.
	seen bool
	// bare are the lists and dictionaries that were made bare, each once however often it is read.
	bare map[types.Value]types.Value
	// known are the names of the host that were found to have a known value, or none.
	known map[string]bool
}

func modelsOf(host Host) *models {
	m := &models{bare: map[types.Value]types.Value{}, known: map[string]bool{}}
	if p, ok := host.(Passed); ok {
		m.passed = p.Passed()
		m.seen = !m.passed
	}
	return m
}

// pairs returns the entries of a dictionary as items() of Python does: one of a model gives its
// values bare, so that they are lists, dictionaries and nulls without what the reference wraps
// around them elsewhere.
func (s *state) pairs(d types.Value) ([]types.Value, error) {
	keys, values, _ := entries(d)
	_, model := d.(*types.Dict)
	if model && s.models.passed {
		if err := allKnown(values); err != nil {
			return nil, err
		}
	}
	out := make([]types.Value, len(keys))
	for i, v := range values {
		if model && !s.models.passed {
			var err error
			if v, err = s.bare(v); err != nil {
				return nil, err
			}
		}
		out[i] = &Tuple{items: []types.Value{keys[i], v}}
	}
	return out, nil
}

// bare returns a value of a model without what is wrapped around it. It cannot be changed either.
func (s *state) bare(v types.Value) (types.Value, error) {
	switch v := v.(type) {
	case types.Null:
		return bareNull{}, nil
	case *types.List:
		if made, ok := s.models.bare[v]; ok {
			return made, nil
		}
		items, err := s.allBare(v.Items)
		made := &List{items: items, fixed: true}
		s.models.bare[v] = made
		return made, err
	case *types.Dict:
		if made, ok := s.models.bare[v]; ok {
			return made, nil
		}
		keys, values, _ := entries(v)
		values, err := s.allBare(values)
		made := newDict()
		for i, k := range keys {
			_ = made.set(k, values[i]) // a string is a key
		}
		made.fixed = true
		s.models.bare[v] = made
		return made, err
	}
	return v, nil
}

func (s *state) allBare(values []types.Value) ([]types.Value, error) {
	if err := s.spendItems(len(values)); err != nil {
		return make([]types.Value, len(values)), err
	}
	out := make([]types.Value, len(values))
	for i, v := range values {
		var err error
		if out[i], err = s.bare(v); err != nil {
			return out, err
		}
	}
	return out, nil
}

// allKnown refuses a list or dictionary of a model in which something is unknown.
func allKnown(values []types.Value) error {
	for _, v := range values {
		if err := known(v); err != nil {
			return err
		}
	}
	return nil
}

// known refuses an unknown value, as soon as a template reads it from a model: what the text says
// must not depend on whether it goes on to use it.
func known(v types.Value) error {
	if _, ok := v.(*types.Unknown); ok {
		return ErrUnknown
	}
	return nil
}

// within returns an item of a list or dictionary as it is compared: null in a model is never None.
func within(of, item types.Value) types.Value {
	if _, null := item.(types.Null); null && ofModel(of) {
		return bareNull{}
	}
	return item
}

// ofModel reports whether a value is a list or a dictionary of a model.
func ofModel(v types.Value) bool {
	switch v.(type) {
	case *types.List, *types.Dict:
		return true
	}
	return false
}
