package schema

import (
	"errors"
	"math"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/resource"
)

// Coerce parses a value of this type from the text of a title, a flag or an environment variable.
// It accepts integers (decimal, or with the prefix 0x, 0o or 0b), numbers, true and false, JSON for
// lists and maps, and plain text. If the type accepts several of these, any other reading has
// priority over plain text. If two such readings differ, Coerce returns an error. Errors are
// fault.Invalid, and show no value of a Sensitive type.
func (d *DataType) Coerce(text string) (any, error) {
	readings := readingsOf(d, text)
	switch {
	case len(readings) > 1:
		return nil,
			fault.New(fault.Invalid, "", "the text%s can be read in more than one way: expected %s",
				hidden(!d.secret, " "+strconv.Quote(shorten(text, 40)), ""), d.Describe())
	case len(readings) == 1:
		return readings[0], nil
	case d.accepts(text, observed):
		return text, nil
	}
	shown, hint := d.explain(text, observed).render(!d.secret)
	e := fault.New(fault.Invalid, "", "%s", shown)
	if wantsNumber(d) && leadingZero(text) {
		hint = "a number with a leading zero is octal in YAML 1.1 and decimal in YAML 1.2; " +
			"write 0o before it, or no zero"
	}
	if hint != "" && !strings.Contains(hint, "without quotes") {
		e = e.WithHint("%s", hint)
	}
	return nil, e
}

// wantsNumber reports whether the type accepts any integer.
func wantsNumber(d *DataType) bool {
	switch d.kind {
	case kindInteger, kindNumeric, kindFloat:
		return true
	case kindOptional, kindSensitive, kindVariant:
		for _, o := range d.of {
			if wantsNumber(o) {
				return true
			}
		}
	}
	return false
}

// readingsOf returns the different values of the type, other than the text itself, as which a text
// can be parsed.
func readingsOf(d *DataType, text string) []any {
	var out []any
	add := func(v any, ok bool) {
		if !ok || !d.accepts(v, observed) {
			return
		}
		for i, known := range out {
			if resource.Equal(known, v) { // 1 and 1.0 are equal: the integer is kept
				if _, isFloat := known.(float64); isFloat {
					out[i] = v
				}
				return
			}
		}
		out = append(out, v)
	}
	switch d.kind {
	case kindOptional, kindSensitive, kindVariant:
		for _, o := range d.of {
			for _, v := range readingsOf(o, text) {
				add(v, true)
			}
		}
	case kindInteger:
		add(integerText(text))
	case kindFloat:
		add(floatText(text))
	case kindNumeric:
		if v, ok := integerText(text); ok {
			add(v, true)
		} else {
			add(floatText(text))
		}
	case kindBoolean:
		add(text == "true", text == "true" || text == "false")
	case kindArray, kindTuple, kindHash, kindStruct:
		add(jsonText(text))
	}
	return out
}

var integerForm = pattern.Lazy(`\A[+-]?(0|[1-9][0-9]*|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)\z`)

func trimmed(text string) string { return strings.Trim(text, " \t") }

// integerText parses an integer of any size.
func integerText(text string) (any, bool) {
	text = trimmed(text)
	if len(text) > 1000 || !integerForm().MatchString(text) {
		return nil, false
	}
	n, ok := new(big.Int).SetString(strings.TrimPrefix(text, "+"), 0)
	if !ok {
		return nil, false
	}
	if n.IsInt64() {
		return n.Int64(), true
	}
	return n, true
}

func leadingZero(text string) bool {
	text = strings.TrimLeft(trimmed(text), "+-")
	return len(text) > 1 && text[0] == '0' && strings.Trim(text, "0123456789") == ""
}

var floatForm10 = pattern.Lazy(`\A[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\z`)

func floatText(text string) (any, bool) {
	text = trimmed(text)
	if !floatForm10().MatchString(text) {
		return nil, false
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && !math.IsInf(f, 0)
}

// jsonText parses a list or a map.
func jsonText(text string) (any, bool) {
	if text = strings.TrimSpace(text); text == "" || text[0] != '[' && text[0] != '{' {
		return nil, false
	}
	v, err := resource.DecodeValue([]byte(text))
	return v, err == nil
}

// messageOf returns the message of an error without its operation.
func messageOf(err error) string {
	var fe *fault.Error
	if errors.As(err, &fe) {
		return fe.Message
	}
	return err.Error()
}
