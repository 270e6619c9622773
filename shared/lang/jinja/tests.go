package jinja

import (
	"math/big"
	"strings"

	"southbound/shared/lang/types"
)

// makeTests returns all tests by name.
func makeTests() map[string]builtin {
	t := map[string]builtin{
		"defined":   isDefined(true),
		"undefined": isDefined(false),
		"none":      isKind(func(v types.Value) bool { return v == types.Null{} }),
		"boolean":   isKind(func(v types.Value) bool { _, ok := v.(bool); return ok }),
		"true":      isKind(func(v types.Value) bool { return v == true }),
		"false":     isKind(func(v types.Value) bool { return v == false }),
		"integer":   isKind(isInteger),
		"float":     isKind(func(v types.Value) bool { _, ok := v.(float64); return ok }),
		"number":    isKind(isNumber),
		"string":    isKind(func(v types.Value) bool { _, ok := stringOf(v); return ok }),
		"mapping":   {params: "value", call: isMapping},
		"sequence":  {params: "value", call: isSequence},
		"callable":  isKind(isCallable),
		"escaped":   isKind(func(v types.Value) bool { _, ok := v.(Markup); return ok }),
		"iterable":  {params: "value", call: isIterable},
		"filter":    {params: "name", call: isFilter},
		"test":      {params: "name", call: isTest},
		"sameas": {
			params: "value, other",
			call: func(_ *state, a []types.Value) (types.Value, error) {
				return same(a[0], a[1]), nil
			},
		},
		"in": {params: "value, seq", call: func(s *state, a []types.Value) (types.Value, error) {
			return s.contains(a[1], a[0])
		}},
		"odd": {
			params: "value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.remainder(a[0], int64(2), 1)
			},
		},
		"even": {
			params: "value",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.remainder(a[0], int64(2), 0)
			},
		},
		"divisibleby": {
			params: "value, num",
			call: func(s *state, a []types.Value) (types.Value, error) {
				return s.remainder(a[0], a[1], 0)
			},
		},
		"lower": {params: "value", call: func(s *state, a []types.Value) (types.Value, error) {
			return s.cased(a[0], strings.ToUpper, strings.ToLower)
		}},
		"upper": {params: "value", call: func(s *state, a []types.Value) (types.Value, error) {
			return s.cased(a[0], strings.ToLower, strings.ToUpper)
		}},
	}
	for op, names := range map[string][]string{
		"==": {"==", "eq", "equalto"}, "!=": {"!=", "ne"}, "<": {"<", "lt", "lessthan"},
		"<=": {"<=", "le"}, ">": {">", "gt", "greaterthan"}, ">=": {">=", "ge"},
	} {
		for _, name := range names {
			t[name] = builtin{
				params: "a, b",
				call: func(s *state, a []types.Value) (types.Value, error) {
					return s.compare(op, a[0], a[1])
				},
			}
		}
	}
	return t
}

// isDefined is a test that also accepts references, which are defined.
func isDefined(want bool) builtin {
	return builtin{params: "value", call: func(_ *state, a []types.Value) (types.Value, error) {
		_, un := a[0].(*Undefined)
		return un != want, known(a[0])
	}}
}

func isKind(f func(types.Value) bool) builtin {
	return builtin{params: "value", call: func(_ *state, a []types.Value) (types.Value, error) {
		switch v := a[0].(type) {
		case *types.Unknown:
			return nil, ErrUnknown
		case types.Reference:
			return nil, later(v)
		}
		return f(a[0]), nil
	}}
}

func isInteger(v types.Value) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}

// isMapping reports whether a value is a dict. A dictionary of a model is not, unless it was
// passed: its proxy in Python is not registered as a Mapping.
func isMapping(s *state, a []types.Value) (types.Value, error) {
	switch a[0].(type) {
	case *Dict:
		return true, nil
	case *types.Dict:
		return s.models.passed, nil
	}
	return false, decidable(a[0])
}

func isSequence(s *state, a []types.Value) (types.Value, error) {
	switch v := a[0].(type) {
	case *view:
		return ofModel(v.of) && !s.models.passed, nil
	case *loop:
		return false, nil
	}
	_, ok := lengthOf(a[0])
	return ok, decidable(a[0])
}

// decidable rejects each unknown value.
func decidable(v types.Value) error {
	if types.IsUnknown(v) {
		return ErrUnknown
	}
	return nil
}

func isCallable(v types.Value) bool {
	switch v.(type) {
	case *function, *macroValue, *loop, *Undefined:
		return true
	}
	return false
}

func isIterable(_ *state, a []types.Value) (types.Value, error) {
	switch v := a[0].(type) {
	case *Undefined:
		return nil, v.err()
	case *types.Unknown:
		return nil, ErrUnknown
	case types.Reference:
		return nil, later(v)
	case *iterator:
		return true, nil
	}
	_, ok := lengthOf(a[0])
	return ok, nil
}

func isFilter(s *state, a []types.Value) (types.Value, error) {
	name, _ := stringOf(a[0])
	return s.lib.hasFilter(name) || s.host.HasFilter(name), nil
}

func isTest(s *state, a []types.Value) (types.Value, error) {
	name, _ := stringOf(a[0])
	return s.lib.tests[name].call != nil, nil
}

// same is Python's "is": equal numbers and strings of one type, and identical lists and dicts.
func same(a, b types.Value) bool {
	switch a.(type) {
	case bool, types.Null, int64, string:
		return a == b
	}
	return a == b
}

// remainder reports whether a number has a given remainder.
func (s *state) remainder(v, by types.Value, want int64) (types.Value, error) {
	m, err := s.compute("%", v, by)
	if err != nil {
		return nil, err
	}
	return equal(m, want, 0)
}

// cased reports whether a text has letters, all of one case.
func (s *state) cased(v types.Value, away, to func(string) string) (types.Value, error) {
	text, err := s.text(v)
	return text == to(text) && text != away(text), err
}
