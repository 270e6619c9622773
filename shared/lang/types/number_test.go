package types_test

import (
	"math"
	"testing"

	"southbound/shared/lang/types"
)

// TestArithmetic pins numbers as Python computes them.
func TestArithmetic(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a    types.Value
		op   string
		b    types.Value
		want string
	}{
		{int64(0), "/", int64(-1), "-0.0"},
		{int64(0), "/", int64(1), "0.0"},
		{false, "/", int64(-3), "-0.0"},
		{int64(7), "/", int64(2), "3.5"},
		{int64(-7), "%", int64(2), "1"},
		{math.Copysign(0, -1), "+", int64(0), "0.0"},
		{int64(2), "**", int64(-1), "0.5"},
		{true, "+", true, "2"},
		{3.5, "**", 0.1, "1.1334615816706974"},
		{2.0, "**", 0.5, "1.4142135623730951"},
		{1.1, "**", int64(100), "13780.61233982238"},
		{10.0, "**", -0.5, "0.31622776601683794"},
		{int64(2), "**", -1.5, "0.3535533905932738"},
		{0.1, "**", 70.5, "3.1622776601683917e-71"},
		{4.0, "**", 0.5, "2.0"},
		{-1.5, "**", int64(101), "-6.098417663028229e+17"},
		{1.0, "**", 1e300, "1.0"},
		{0.0, "**", 2.5, "0.0"},
		{5e-324, "**", 0.5, "2.2227587494850775e-162"},
		{1e300, "**", -1.07, "1e-321"},
		{math.Inf(1), "**", 0.5, "inf"},
	} {
		v, err := types.Arithmetic(c.op, c.a, c.b)
		if got := types.Repr(v); err != nil || got != c.want {
			t.Errorf("%v %s %v is %s, %v instead of %s", c.a, c.op, c.b, got, err, c.want)
		}
	}
}
