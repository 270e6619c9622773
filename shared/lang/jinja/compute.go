package jinja

import (
	"math"
	"math/big"
	"strings"

	"southbound/shared/lang/types"
)

// compute evaluates Python's + - * / // % **.
func (s *state) compute(op string, a, b types.Value) (types.Value, error) {
	if text, ok := stringOf(a); ok && op == "%" && isUndefined(b) != nil &&
		!strings.Contains(text, "%") {
		return a, nil // as in Python: the format needs no value
	}
	for _, v := range []types.Value{a, b} {
		switch v := v.(type) {
		case *Undefined:
			return nil, v.err()
		case *types.Unknown:
			return nil, ErrUnknown
		case types.Reference:
			return nil, later(v)
		}
	}
	if isNumber(a) && isNumber(b) {
		return numbers(op, a, b)
	}
	switch op {
	case "+":
		return s.join(a, b)
	case "*":
		if n, ok := count(b); ok {
			return s.repeat(a, n)
		}
		if n, ok := count(a); ok {
			return s.repeat(b, n)
		}
	case "%":
		if m, ok := a.(Markup); ok {
			text, err := s.percent(string(m), b, true)
			return Markup(text), err
		}
		if text, ok := a.(string); ok {
			return s.percent(text, b, false)
		}
	}
	return nil, failf("%s cannot be computed with %s and %s", op, kindOf(a), kindOf(b))
}

func numbers(op string, a, b types.Value) (types.Value, error) {
	if op != "//" {
		v, err := types.Arithmetic(op, a, b)
		if err != nil {
			return nil, failure(err.Error())
		}
		return v, nil
	}
	_, f := a.(float64)
	_, g := b.(float64)
	if f || g {
		x, y := toFloat(a), toFloat(b)
		if y == 0 {
			return nil, failf("a number is divided by zero")
		}
		m := math.Mod(x, y)
		q := (x - m) / y
		if m != 0 && (m < 0) != (y < 0) {
			q--
		}
		return math.Round(q), nil
	}
	x, y := toInt(a), toInt(b)
	if y.Sign() == 0 {
		return nil, failf("a number is divided by zero")
	}
	q, m := new(big.Int).QuoRem(x, y, new(big.Int))
	if m.Sign() != 0 && m.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
	}
	return types.Integer(q), nil
}

func toInt(v types.Value) *big.Int {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v)
	case *big.Int:
		return v
	case bool:
		if v {
			return big.NewInt(1)
		}
	}
	return new(big.Int)
}

func toFloat(v types.Value) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	f, _ := new(big.Float).SetInt(toInt(v)).Float64()
	return f
}

// count returns an integer that fits an int.
func count(v types.Value) (int, bool) {
	switch v := v.(type) {
	case int64:
		return int(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// join is + of strings and of lists.
func (s *state) join(a, b types.Value) (types.Value, error) {
	x, okX := stringOf(a)
	y, okY := stringOf(b)
	if okX && okY {
		if err := s.spend((len(x) + len(y)) / 64); err != nil {
			return nil, err
		}
		_, m := a.(Markup)
		_, n := b.(Markup)
		switch {
		case !m && !n:
			return checked(x + y)
		case !m:
			x = escaper.Replace(x)
		case !n:
			y = escaper.Replace(y)
		}
		return Markup(x + y), nil
	}
	l, kind := sequence(a)
	r, other := sequence(b)
	if kind == 0 || kind != other {
		return nil, failf("+ cannot be computed with %s and %s", kindOf(a), kindOf(b))
	}
	if err := s.spendItems(len(l) + len(r)); err != nil {
		return nil, err
	}
	items := append(append(make([]types.Value, 0, len(l)+len(r)), l...), r...)
	if kind == 't' {
		return &Tuple{items: items}, nil
	}
	return newList(items), nil
}

func checked(text string) (types.Value, error) {
	if len(text) > maxOutput {
		return nil, limitf("a string becomes longer than %d bytes", maxOutput)
	}
	return text, nil
}

// repeat is * of a string or a list.
func (s *state) repeat(v types.Value, n int) (types.Value, error) {
	n = max(n, 0)
	if text, ok := stringOf(v); ok {
		if len(text) > 0 && n > maxOutput/len(text) {
			return nil, limitf("a string becomes longer than %d bytes", maxOutput)
		}
		text = strings.Repeat(text, n)
		if _, ok := v.(Markup); ok {
			return Markup(text), nil
		}
		return text, nil
	}
	items, kind := sequence(v)
	if kind == 0 {
		return nil, failf("* cannot be computed with %s and a number", kindOf(v))
	}
	if len(items) > 0 && n > maxItems/len(items) {
		return nil, limitf("a list becomes longer than %d items", maxItems)
	}
	if err := s.spendItems(len(items) * n); err != nil {
		return nil, err
	}
	out := make([]types.Value, 0, len(items)*n)
	for range n {
		out = append(out, items...)
	}
	if kind == 't' {
		return &Tuple{items: out}, nil
	}
	return newList(out), nil
}
