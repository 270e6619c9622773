package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/lang/types"
)

func numberFilters() map[string]builtin {
	return map[string]builtin{
		"abs":            {params: "x", call: absFilter},
		"float":          {params: "value, default=0.0", call: floatFilter},
		"int":            {params: "value, default=0, base=10", call: intFilter},
		"round":          {params: "value, precision=0, method='common'", call: roundFilter},
		"filesizeformat": {params: "value, binary=false", call: filesizeFilter},
	}
}

func absFilter(s *state, a []types.Value) (types.Value, error) {
	if u, ok := a[0].(*Undefined); ok {
		return nil, u.err()
	}
	if f, ok := a[0].(float64); ok {
		return math.Abs(f), nil
	}
	if !isNumber(a[0]) {
		return nil, failf("%s has no absolute value", kindOf(a[0]))
	}
	return types.Integer(new(big.Int).Abs(toInt(a[0]))), nil
}

// parseFloat parses a float as Python's float() does.
func parseFloat(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "xXpP") || strings.HasPrefix(text, "_") ||
		strings.HasSuffix(text, "_") ||
		strings.Contains(text, "__") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(text, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// parseInt parses an integer as Python's int() does.
func parseInt(text string, base int) (types.Value, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	sign := strings.HasPrefix(text, "-")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	for prefix, b := range map[string]int{"0x": 16, "0o": 8, "0b": 2} {
		if strings.HasPrefix(text, prefix) && (base == b || base == 0) {
			text, base = strings.TrimPrefix(text[2:], "_"), b
		}
	}
	if base == 0 {
		base = 10
	}
	if text == "" || len(text) > 4300 || base < 2 || base > 36 || strings.HasPrefix(text, "_") ||
		strings.HasSuffix(text, "_") ||
		strings.Contains(text, "__") ||
		strings.HasPrefix(text, "-") ||
		strings.HasPrefix(text, "+") {
		return nil, false
	}
	n, ok := new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), base)
	if !ok {
		return nil, false
	}
	if sign {
		n.Neg(n)
	}
	return types.Integer(n), true
}

// truncated returns a float without its fraction, as an integer.
func truncated(f float64) types.Value {
	n, _ := big.NewFloat(math.Trunc(f)).Int(nil)
	return types.Integer(n)
}

func floatFilter(_ *state, a []types.Value) (types.Value, error) {
	if u, ok := a[0].(*Undefined); ok {
		return nil, u.err()
	}
	if isNumber(a[0]) {
		return toFloat(a[0]), nil
	}
	if text, ok := stringOf(a[0]); ok {
		if f, ok := parseFloat(text); ok {
			return f, nil
		}
	}
	return a[1], nil
}

func intFilter(_ *state, a []types.Value) (types.Value, error) {
	switch v := a[0].(type) {
	case *Undefined:
		return nil, v.err()
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return a[1], nil
		}
		return truncated(v), nil
	case int64, *big.Int, bool:
		return types.Integer(toInt(v)), nil
	}
	text, ok := stringOf(a[0])
	if !ok {
		return a[1], nil
	}
	base, err := whole("the base", a[2])
	if err != nil {
		return nil, err
	}
	if n, ok := parseInt(text, base); ok {
		return n, nil
	}
	if f, ok := parseFloat(text); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return truncated(f), nil
	}
	return a[1], nil
}

func roundFilter(_ *state, a []types.Value) (types.Value, error) {
	if u, ok := a[0].(*Undefined); ok {
		return nil, u.err()
	}
	n, err := whole("the precision", a[1])
	if err != nil {
		return nil, err
	}
	if !isNumber(a[0]) {
		return nil, failf("%s cannot be rounded", kindOf(a[0]))
	}
	if n > 300 || n < -300 {
		return nil, failf("the precision of round is between -300 and 300, not %d", n)
	}
	method, _ := stringOf(a[2])
	var towards func(float64) float64
	switch method {
	case "common":
		return rounded(a[0], n), nil
	case "floor":
		towards = math.Floor
	case "ceil":
		towards = math.Ceil
	default:
		return nil, failf("the method of round is common, ceil or floor")
	}
	scale := math.Pow(10, float64(n))
	return towards(toFloat(a[0])*scale) / scale, nil
}

// rounded rounds to the nearest value, and ties to even.
func rounded(v types.Value, n int) types.Value {
	f, ok := v.(float64)
	if ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
		return f
	}
	if ok && n >= 0 {
		f, _ = strconv.ParseFloat(strconv.FormatFloat(f, 'f', n, 64), 64)
		return f
	}
	if !ok && n >= 0 {
		return types.Integer(toInt(v))
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-n)), nil)
	exact := new(big.Rat)
	if ok {
		exact.SetFloat64(f)
	} else {
		exact.SetInt(toInt(v))
	}
	exact.Quo(exact, new(big.Rat).SetInt(unit))
	whole, rest := new(big.Int).DivMod(exact.Num(), exact.Denom(), new(big.Int))
	half := new(big.Rat).SetFrac(rest, exact.Denom()).Cmp(big.NewRat(1, 2))
	if half > 0 || half == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	whole.Mul(whole, unit)
	if !ok {
		return types.Integer(whole)
	}
	f, _ = new(big.Float).SetInt(whole).Float64()
	return f
}

func filesizeFilter(s *state, a []types.Value) (types.Value, error) {
	v, err := floatFilter(s, []types.Value{a[0], types.Null{}})
	if err != nil {
		return nil, err
	}
	n, ok := v.(float64)
	if !ok {
		return nil, failf("the size of a file is a number, not %s", kindOf(a[0]))
	}
	binary, err := s.truth(a[1])
	if err != nil {
		return nil, err
	}
	base, suffix := 1000.0, "B"
	if binary {
		base, suffix = 1024, "iB"
	}
	switch {
	case n == 1:
		return "1 Byte", nil
	case n < base:
		return strconv.FormatInt(int64(n), 10) + " Bytes", nil
	}
	prefix, unit := "", base
	for _, p := range "kMGTPEZY" {
		prefix, unit = string(p), unit*base
		if n < unit {
			break
		}
	}
	if binary && prefix == "k" {
		prefix = "K"
	}
	return strconv.FormatFloat(base*n/unit, 'f', 1, 64) + " " + prefix + suffix, nil
}
