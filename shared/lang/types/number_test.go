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
	} {
		v, err := types.Arithmetic(c.op, c.a, c.b)
		if got := types.Repr(v); err != nil || got != c.want {
			t.Errorf("%v %s %v is %s, %v instead of %s", c.a, c.op, c.b, got, err, c.want)
		}
	}
}
