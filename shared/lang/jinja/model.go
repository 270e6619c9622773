package jinja

import "southbound/shared/lang/types"

// Passed is a Host whose variables are arguments of the call, instead of the variables in the scope
// of the call. Dictionaries of a model differ between the two cases, since the reference wraps them
// differently.
//
// For variables in the scope of the call, a name keeps its value even if another template has set
// it: a part that does not set a name looks it up in the host first, as the reference does.
type Passed interface {
	Passed() bool
}

// bareNull is a null of a model that items() of a dictionary returned. It differs from none: the
// reference converts null to None only where it wraps a value.
type bareNull struct{}

// models controls the appearance of a model's values in a rendering.
type models struct {
	// passed reports that the values were passed to the template; see Passed.
	passed bool
	// seen reports that the values are in the scope of the call.
	seen bool
	// bare caches the bare lists and dictionaries, so that repeated reads return the same value.
	bare map[types.Value]types.Value
	// known are the names that were looked up in the host, and are either missing or have a known
	// value.
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

// pairs returns the entries of a dictionary as Python's items() does. A dictionary of a model
// returns bare values: lists, dictionaries and nulls without the wrappers of the reference.
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

// bare returns a value of a model without its wrapper. The result is immutable, too.
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
			_ = made.set(k, values[i]) // a string is always a valid key
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

// allKnown rejects a list or dictionary of a model that contains an unknown value.
func allKnown(values []types.Value) error {
	for _, v := range values {
		if err := known(v); err != nil {
			return err
		}
	}
	return nil
}

// known rejects an unknown value as soon as a template reads it from a model. The output must not
// depend on whether the template then uses the value. A fact can become a part of the output, as a
// reference can.
func known(v types.Value) error {
	if types.IsUnknown(v) && !types.InText(v) {
		return ErrUnknown
	}
	return nil
}

// within returns an item of a list or dictionary for a comparison: null in a model never equals
// None.
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
