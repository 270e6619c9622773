package types

import (
	"math"
	"math/big"
)

// powerBits is the precision of powers before they are rounded to a float64. Together with the 11
// bits of the exponent of the result it is far more than the 53 bits of a float64, so that the
// result is correctly rounded, as that of the C library is in nearly all cases.
const powerBits = 128

// roundedPower returns x**y, rounded once. The result must be finite and not 0.
func roundedPower(x, y float64) float64 {
	t := logarithm(math.Abs(x))
	out, _ := exponential(t.Mul(t, precise(y))).Float64()
	if x < 0 && math.Mod(y, 2) != 0 { // y is a whole number
		return -out
	}
	return out
}

func precise(v float64) *big.Float {
	return new(big.Float).SetPrec(powerBits).SetFloat64(v)
}

// logarithm returns the natural logarithm of a positive number.
func logarithm(x float64) *big.Float {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	v := precise(m)
	one := precise(1)
	z := new(big.Float).Sub(v, one)
	out := artanh(z.Quo(z, new(big.Float).Add(v, one)))
	out.Add(out, out)
	return out.Add(out, new(big.Float).Mul(precise(float64(e)), logarithmOf2()))
}

// logarithmOf2 returns the natural logarithm of 2.
func logarithmOf2() *big.Float {
	const digits = "0.693147180559945309417232121458176568075500134360255254120680"
	out, _ := new(big.Float).SetPrec(powerBits).SetString(digits) // a constant
	return out
}

// artanh returns the inverse hyperbolic tangent of a number whose absolute value is at most 1/3:
// z + z^3/3 + z^5/5 + ...
func artanh(z *big.Float) *big.Float {
	sum, power := new(big.Float).Set(z), new(big.Float).Set(z)
	square, term := new(big.Float).Mul(z, z), new(big.Float)
	for n := 3.0; power.Sign() != 0 && power.MantExp(nil) > z.MantExp(nil)-powerBits; n += 2 {
		power.Mul(power, square)
		sum.Add(sum, term.Quo(power, precise(n)))
	}
	return sum
}

// exponential returns e**t.
func exponential(t *big.Float) *big.Float {
	ln2 := logarithmOf2()
	n, _ := new(big.Float).Quo(t, ln2).Float64()
	n = math.Round(n)
	r := new(big.Float).Sub(t, new(big.Float).Mul(precise(n), ln2))
	sum, term := precise(1), precise(1)
	for k := 1.0; term.Sign() != 0 && term.MantExp(nil) > -powerBits; k++ {
		term.Mul(term, r)
		term.Quo(term, precise(k))
		sum.Add(sum, term)
	}
	return sum.SetMantExp(sum, int(n))
}
