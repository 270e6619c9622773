package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/lang/types"
)

// percentSpec is a conversion of a % format: %(name)#0- +width.precisionK.
type percentSpec struct {
	flags            string
	width, precision int // precision is -1 for none
	kind             byte
}

// percent formats with the % operator of Python's strings.
func (s *state) percent(format string, with types.Value, escaped bool) (string, error) {
	var args []types.Value
	next := 0
	if t, ok := with.(*Tuple); ok {
		args = t.items
	} else {
		args = []types.Value{with}
	}
	_, _, mapping := entries(with)
	take := func() (types.Value, error) {
		if next >= len(args) {
			return nil, failf("the format %q needs more than %d values", format, len(args))
		}
		next++
		return args[next-1], nil
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b.WriteByte(format[i])
			continue
		}
		i++
		named := false
		var v types.Value
		if i < len(format) && format[i] == '(' {
			end := strings.IndexByte(format[i:], ')')
			if end < 0 || !mapping {
				return "", failf("the format %q needs a dict", format)
			}
			x, ok, err := lookup(with, format[i+1:i+end])
			if !ok || err != nil {
				return "", failf("the format %q needs %q", format, format[i+1:i+end])
			}
			v, named, i = x, true, i+end+1
		}
		spec, n, err := s.percentSpec(format, i, take)
		if err != nil {
			return "", err
		}
		i = n
		if spec.kind == '%' {
			b.WriteByte('%')
			continue
		}
		if !named {
			if v, err = take(); err != nil {
				return "", err
			}
		}
		text, err := s.percentOne(spec, v, escaped)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		if b.Len() > maxOutput {
			return "", limitf("a string becomes longer than %d bytes", maxOutput)
		}
	}
	if next < len(args) && !mapping {
		if _, list := sequence(with); next > 0 || list != 'l' {
			return "", failf("the format %q does not use all of its values", format)
		}
	}
	return b.String(), nil
}

// percentSpec parses a conversion from i on, and returns the index of its last byte.
func (s *state) percentSpec(
	format string,
	i int,
	take func() (types.Value, error),
) (percentSpec, int, error) {
	p := percentSpec{precision: -1}
	for i < len(format) && strings.IndexByte("#0- +", format[i]) >= 0 {
		p.flags += string(format[i])
		i++
	}
	number := func() (int, error) {
		if i < len(format) && format[i] == '*' {
			i++
			v, err := take()
			if err != nil {
				return 0, err
			}
			n, ok := count(v)
			if !ok || n > 1<<20 || n < -(1<<20) {
				return 0, failf("* in a format needs a number")
			}
			return n, nil
		}
		start := i
		for i < len(format) && format[i] >= '0' && format[i] <= '9' {
			i++
		}
		n, _ := strconv.Atoi("0" + format[start:i])
		if n > 1<<20 {
			return 0, failf("the format %q is wider than %d", format, 1<<20)
		}
		return n, nil
	}
	var err error
	if p.width, err = number(); err != nil {
		return p, i, err
	}
	if p.width < 0 {
		p.width, p.flags = -p.width, p.flags+"-"
	}
	if i < len(format) && format[i] == '.' {
		i++
		if p.precision, err = number(); err != nil {
			return p, i, err
		}
	}
	for i < len(format) && strings.IndexByte("hlL", format[i]) >= 0 {
		i++
	}
	if i >= len(format) {
		return p, i, failf("the format %q ends behind a %%", format)
	}
	p.kind = format[i]
	return p, i, nil
}

func (s *state) percentOne(p percentSpec, v types.Value, escaped bool) (string, error) {
	if u, ok := v.(*Undefined); ok {
		return "", u.err()
	}
	switch p.kind {
	case 's', 'r', 'a':
		return s.percentText(p, v, escaped)
	case 'c':
		if n, ok := count(v); ok {
			return p.pad("", string(rune(n)), false), nil // as in Python: a code point
		}
		if text, ok := stringOf(v); ok && utf8.RuneCountInString(text) == 1 {
			return p.pad("", text, false), nil
		}
		return "", failf("%%c needs a character, not %s", kindOf(v))
	case 'd', 'i', 'u', 'x', 'X', 'o':
		return p.integer(v)
	case 'e', 'E', 'f', 'F', 'g', 'G':
		if !isNumber(v) {
			return "", failf("%%%c needs a number, not %s", p.kind, kindOf(v))
		}
		return p.float(toFloat(v))
	}
	return "", failf("%%%c is not a format", p.kind)
}

func (s *state) percentText(p percentSpec, v types.Value, escaped bool) (string, error) {
	var text string
	var err error
	if p.kind == 's' {
		text, err = s.written(v, escaped)
	} else {
		text, err = s.repr(v)
	}
	if err != nil {
		return "", err
	}
	if p.kind == 'a' {
		text = types.ASCII(text)
	}
	if r := []rune(text); p.precision >= 0 && len(r) > p.precision {
		text = string(r[:p.precision])
	}
	return p.pad("", text, false), nil
}

func (p percentSpec) has(flag string) bool { return strings.Contains(p.flags, flag) }

// pad pads a text to the width. The sign precedes zeros.
func (p percentSpec) pad(sign, text string, zeros bool) string {
	n := p.width - utf8.RuneCountInString(sign) - utf8.RuneCountInString(text)
	switch {
	case n <= 0:
		return sign + text
	case p.has("-"):
		return sign + text + strings.Repeat(" ", n)
	case zeros && p.has("0"):
		return sign + strings.Repeat("0", n) + text
	}
	return strings.Repeat(" ", n) + sign + text
}

func (p percentSpec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.has("+"):
		return "+"
	case p.has(" "):
		return " "
	}
	return ""
}

func (p percentSpec) integer(v types.Value) (string, error) {
	if f, ok := v.(float64); ok && strings.IndexByte("diu", p.kind) >= 0 && !math.IsNaN(f) &&
		!math.IsInf(f, 0) {
		v = truncated(f)
	}
	if _, ok := v.(float64); ok || !isNumber(v) {
		return "", failf("%%%c needs a whole number, not %s", p.kind, kindOf(v))
	}
	n := toInt(v)
	base := map[byte]int{'x': 16, 'X': 16, 'o': 8}[p.kind]
	if base == 0 {
		base = 10
	}
	text := strings.TrimPrefix(n.Text(base), "-")
	if len(text) < p.precision {
		text = strings.Repeat("0", p.precision-len(text)) + text
	}
	sign := p.sign(n.Sign() < 0)
	if p.has("#") && base != 10 {
		sign += "0" + string(p.kind|0x20)
	}
	if p.kind == 'X' {
		text, sign = strings.ToUpper(text), strings.ToUpper(sign)
	}
	return p.pad(sign, text, true), nil
}

func (p percentSpec) float(f float64) (string, error) {
	spec := string(p.kind)
	if p.precision >= 0 {
		spec = "." + strconv.Itoa(p.precision) + spec
	}
	if p.has("#") {
		spec = "#" + spec
	}
	text, err := types.Format(math.Abs(f), spec)
	if err != nil {
		return "", failure(err.Error())
	}
	return p.pad(p.sign(math.Signbit(f)), text, !math.IsInf(f, 0) && !math.IsNaN(f)), nil
}
