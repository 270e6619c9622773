package types

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// MaxBits is the largest size of an integer: about 30,000 digits.
const MaxBits = 100_000

var (
	errDivision = errors.New("a number is divided by zero")
	errTooLarge = errors.New("the number becomes too large")
)

// isNumber reports whether a value supports arithmetic. A bool counts as 0 or 1.
func isNumber(v Value) bool {
	switch v.(type) {
	case int64, float64, bool, *big.Int:
		return true
	}
	return false
}

// whole returns a value as an integer, and whether it is one.
func whole(v Value) (*big.Int, bool) {
	switch v := v.(type) {
	case int64:
		return big.NewInt(v), true
	case *big.Int:
		return v, true
	case bool:
		if v {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return nil, false
}

// small returns an integer that fits an int64.
func small(v Value) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// toFloat returns a number as a float; false if the number is too large.
func toFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, !math.IsInf(f, 0)
	}
	n, _ := small(v)
	return float64(n), true
}

// compare compares two numbers exactly; 2 if one of them is NaN.
func compare(a, b Value) int {
	x, okX := small(a)
	y, okY := small(b)
	if okX && okY {
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	}
	f, isF := a.(float64)
	g, isG := b.(float64)
	if isF && math.IsNaN(f) || isG && math.IsNaN(g) {
		return 2
	}
	return exact(a).Cmp(exact(b))
}

// exact returns a number without loss of precision.
func exact(v Value) *big.Float {
	if f, ok := v.(float64); ok {
		return new(big.Float).SetFloat64(f)
	}
	n, _ := whole(v)
	return new(big.Float).SetPrec(uint(max(64, n.BitLen()))).SetInt(n)
}

// Compare compares two numbers with <, <=, > or >=.
func Compare(op string, a, b Value) (bool, error) {
	if !isNumber(a) || !isNumber(b) {
		return false, fmt.Errorf(
			"only numbers can be compared with %s; these are %s and %s",
			op,
			shown(a),
			shown(b),
		)
	}
	c := compare(a, b)
	if c == 2 {
		return false, nil
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// Arithmetic computes a op b for + - * / % ** with the arithmetic of Python. + also concatenates
// two strings.
func Arithmetic(op string, a, b Value) (Value, error) {
	if s, ok := a.(string); ok && op == "+" {
		t, ok := b.(string)
		if !ok {
			return nil, &OperandError{
				"only a string can be joined to a string, and the other one is " + shown(b),
				toText,
			}
		}
		return s + t, nil
	}
	if !isNumber(a) || !isNumber(b) {
		return nil, notNumbers(op, a, b)
	}
	_, f := a.(float64)
	_, g := b.(float64)
	if f || g || op == "/" {
		return floats(op, a, b)
	}
	if v, ok := quick(op, a, b); ok {
		return v, nil
	}
	x, _ := whole(a)
	y, _ := whole(b)
	return wholes(op, x, y)
}

// quick computes the result for small integers, which cannot overflow.
func quick(op string, a, b Value) (Value, bool) {
	const limit = 1 << 31
	x, okX := small(a)
	y, okY := small(b)
	if !okX || !okY || x <= -limit || x >= limit || y <= -limit || y >= limit {
		return nil, false
	}
	switch op {
	case "+":
		return x + y, true
	case "-":
		return x - y, true
	case "*":
		return x * y, true
	}
	return nil, false
}

func wholes(op string, x, y *big.Int) (Value, error) {
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "%":
		if y.Sign() == 0 {
			return nil, errDivision
		}
		if z.Rem(x, y); z.Sign() != 0 && z.Sign() != y.Sign() {
			z.Add(z, y)
		}
	case "**":
		return power(x, y)
	}
	if z.BitLen() > MaxBits {
		return nil, errTooLarge
	}
	return Integer(z), nil
}

func power(x, y *big.Int) (Value, error) {
	if y.Sign() < 0 {
		if x.Sign() == 0 {
			return nil, errDivision
		}
		return floats("**", Integer(x), Integer(y))
	}
	if x.CmpAbs(big.NewInt(1)) <= 0 {
		if x.Sign() < 0 && y.Bit(0) == 0 {
			return int64(1), nil
		}
		if x.Sign() == 0 && y.Sign() == 0 {
			return int64(1), nil
		}
		return Integer(x), nil
	}
	if !y.IsInt64() || y.Int64() > MaxBits || int64(x.BitLen()-1)*y.Int64() > MaxBits {
		return nil, errTooLarge
	}
	return Integer(new(big.Int).Exp(x, y, nil)), nil
}

// floats computes operations with a float operand or a float result.
func floats(op string, a, b Value) (Value, error) {
	if op == "/" {
		x, okX := whole(a)
		y, okY := whole(b)
		if okX && okY {
			return quotient(x, y)
		}
	}
	x, okX := toFloat(a)
	y, okY := toFloat(b)
	if !okX || !okY {
		return nil, errTooLarge
	}
	switch op {
	case "+":
		return x + y, nil
	case "-":
		return x - y, nil
	case "*":
		return x * y, nil
	case "/":
		if y == 0 {
			return nil, errDivision
		}
		return x / y, nil
	case "%":
		return floatModulo(x, y)
	}
	return floatPower(x, y)
}

// quotient divides integers, with a single rounding.
func quotient(x, y *big.Int) (Value, error) {
	if y.Sign() == 0 {
		return nil, errDivision
	}
	if x.Sign() == 0 && y.Sign() < 0 {
		return math.Copysign(0, -1), nil
	}
	f, _ := new(big.Rat).SetFrac(x, y).Float64()
	if math.IsInf(f, 0) {
		return nil, errTooLarge
	}
	return f, nil
}

func floatModulo(x, y float64) (Value, error) {
	if y == 0 {
		return nil, errDivision
	}
	m := math.Mod(x, y)
	switch {
	case m == 0:
		m = math.Copysign(0, y)
	case math.Signbit(m) != math.Signbit(y):
		m += y
	}
	return m, nil
}

func floatPower(x, y float64) (Value, error) {
	if x == 0 && y < 0 {
		return nil, errDivision
	}
	if x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0) {
		return nil, errors.New("the power of a negative number with a fraction is not a number")
	}
	z := math.Pow(x, y)
	switch {
	case math.IsInf(z, 0) || math.IsNaN(z) || z == 0 || math.Abs(x) == 1 || math.IsInf(y, 0):
	case y == math.Trunc(y) && math.Abs(y) <= maxExact:
		z = exactPower(x, int(y))
	default:
		z = roundedPower(x, y)
	}
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return nil, errTooLarge
	}
	return z, nil
}

// maxExact is the largest exponent for which powers of floats are computed exactly.
const maxExact = 64

// exactPower returns a power of a float. The products are exact. The conversion to float64 rounds
// the result like the C library, except for ties.
func exactPower(x float64, n int) float64 {
	const bits = 53
	abs := max(n, -n)
	z := new(big.Float).SetPrec(uint(bits * (abs + 2))).SetInt64(1) // abs is small
	for range abs {
		z.Mul(z, new(big.Float).SetFloat64(x))
	}
	if n < 0 {
		z.Quo(new(big.Float).SetPrec(z.Prec()).SetInt64(1), z)
	}
	f, _ := z.Float64()
	return f
}

// OperandError is the error of an operation that does not support its operands.
type OperandError struct {
	Message string
	Hint    string // "" if there is none
}

// Error implements error.
func (e *OperandError) Error() string { return e.Message }

// toText is the hint for texts that are joined to other values.
const toText = "write string(...) around the other value, or put it into the text: " +
	"\"... {{ name }} ...\""

// notNumbers returns the error for operands that do not support an operation.
func notNumbers(op string, a, b Value) error {
	out := &OperandError{
		Message: fmt.Sprintf("%s cannot be computed with %s and %s", op, shown(a), shown(b)),
	}
	_, list := a.(*List)
	_, text := b.(string)
	switch {
	case list && op == "+":
		out.Hint = "write [a, b] for a list of both"
	case text && op == "+" && isNumber(a):
		out.Hint = toText
	}
	return out
}
