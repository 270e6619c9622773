package std

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// constrained are the types of std::validate_type that have parameters.
var constrained = map[string]func(types.Value, *types.Dict) (types.Value, error){
	"pydantic.constr":     checkString,
	"pydantic.conint":     checkInt,
	"pydantic.confloat":   checkFloat,
	"pydantic.condecimal": checkFloat,
}

// known rejects parameters that a type does not have.
func known(params *types.Dict, names ...string) error {
	for _, k := range params.Keys() {
		if !slices.Contains(names, k) {
			return fmt.Errorf(
				"%q is not a validation parameter here; there are %s", k, strings.Join(names, ", "),
			)
		}
	}
	return nil
}

// flag reports whether a parameter is true.
func flag(params *types.Dict, name string) bool {
	v, _ := params.Get(name)
	return v == true
}

func checkString(v types.Value, params *types.Dict) (types.Value, error) {
	if err := known(params, "regex", "pattern", "strict", "min_length", "max_length",
		"strip_whitespace", "to_upper", "to_lower"); err != nil {
		return nil, err
	}
	for _, name := range params.Keys() {
		x, _ := params.Get(name)
		if want := wantOf(name, x); want != "" {
			return nil, fmt.Errorf("the validation parameter %s is %s", name, want)
		}
	}
	s, ok := v.(string)
	if !ok {
		return false, nil
	}
	if flag(params, "strip_whitespace") {
		s = strings.TrimFunc(s, unicode.IsSpace)
	}
	n := int64(len([]rune(s)))
	if least, ok := params.Get("min_length"); ok && less(n, least) {
		return false, nil
	}
	if limit, ok := params.Get("max_length"); ok && less(limit, n) {
		return false, nil
	}
	for _, name := range []string{"regex", "pattern"} {
		x, ok := params.Get(name)
		if !ok {
			continue
		}
		text, ok := x.(string)
		if !ok {
			return false, nil
		}
		if name == "pattern" {
			text = `[\s\S]*?` + text // anywhere in the string
		}
		if ok, err := eval.MatchRegex(text, s); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// less reports whether a is less than b. It returns false if one of them is not a number, such as
// null.
func less(a, b types.Value) bool {
	ok, err := types.Compare("<", a, b)
	return ok && err == nil
}

// within checks a number against gt, ge, lt, le and multiple_of.
func within(v types.Value, params *types.Dict) (types.Value, error) {
	bounds := map[string]func(limit types.Value) bool{
		"gt": func(l types.Value) bool { return less(l, v) },
		"ge": func(l types.Value) bool { return !less(v, l) },
		"lt": func(l types.Value) bool { return less(v, l) },
		"le": func(l types.Value) bool { return !less(l, v) },
		"multiple_of": func(l types.Value) bool {
			m, err := types.Arithmetic("%", v, l)
			return err == nil && types.Equal(m, int64(0))
		},
	}
	for name, holds := range bounds {
		limit, ok := params.Get(name)
		if !ok || limit == (types.Null{}) {
			continue
		}
		if _, err := types.Compare("<", limit, int64(0)); err != nil {
			return nil, fmt.Errorf("the validation parameter %s is a number", name)
		}
		if !holds(limit) {
			return false, nil
		}
	}
	return true, nil
}

func checkInt(v types.Value, params *types.Dict) (types.Value, error) {
	if err := known(params, "gt", "ge", "lt", "le", "multiple_of", "strict"); err != nil {
		return nil, err
	}
	if flag(params, "strict") && !isInt(v) {
		return false, nil
	}
	n, ok := toInt(v)
	if !ok {
		return false, nil
	}
	return within(n, params)
}

func checkFloat(v types.Value, params *types.Dict) (types.Value, error) {
	err := known(params, "gt", "ge", "lt", "le", "multiple_of", "strict", "allow_inf_nan",
		"max_digits", "decimal_places")
	if err != nil {
		return nil, err
	}
	f, ok := toFloat(v)
	if !ok {
		return false, nil
	}
	if x, ok := params.Get("allow_inf_nan"); ok && x == false &&
		(math.IsInf(f, 0) || math.IsNaN(f)) {
		return false, nil
	}
	if ok, err := digits(types.FloatText(f), params); !ok || err != nil {
		return false, err
	}
	return within(f, params)
}

// digits checks the number of digits of a decimal number.
func digits(text string, params *types.Dict) (bool, error) {
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	fraction = strings.TrimRight(fraction, "0")
	sizes := map[string]int{
		"decimal_places": len(fraction),
		"max_digits":     len(strings.TrimLeft(whole, "0")) + len(fraction),
	}
	for name, n := range sizes {
		limit, ok := params.Get(name)
		if !ok || limit == (types.Null{}) {
			continue
		}
		if !isInt(limit) {
			return false, errors.New("the validation parameter " + name + " is a whole number")
		}
		if less(limit, int64(n)) {
			return false, nil
		}
	}
	return true, nil
}

// toInt converts a value to an integer: an integer, a bool, or a float or string with an integer
// value.
func toInt(v types.Value) (types.Value, bool) {
	switch x := v.(type) {
	case float64:
		if x != math.Trunc(x) {
			return nil, false
		}
	case string:
		text := strings.TrimSpace(x)
		if whole, zeros, ok := strings.Cut(text, "."); ok && strings.Trim(zeros, "0") == "" {
			text = whole
		}
		v = text
	}
	n, err := types.Cast(types.Int, v)
	return n, err == nil
}

// toFloat converts a value to a float: a number, a bool, or a string with a number.
func toFloat(v types.Value) (float64, bool) {
	v, err := types.Cast(types.Float, v)
	f, ok := v.(float64)
	return f, ok && err == nil
}
