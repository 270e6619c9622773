package inventory

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"reflect"
	"strconv"
	"strings"

	"southbound/shared/resource"
	"southbound/shared/service/definition"
)

// Typed returns attributes of a service or an embedded entity with numbers in their declared types.
// A whole float stays a float in JSON, because models read 2 as an int.
func Typed(p *definition.Part, set map[string]any) map[string]any {
	out := maps.Clone(set)
	for i := range p.Attributes {
		a := &p.Attributes[i]
		if v, has := out[a.Name]; has {
			out[a.Name] = typedNumbers(a, v)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		switch v := out[e.Name].(type) {
		case map[string]any:
			out[e.Name] = Typed(&e.Part, v)
		case []any:
			out[e.Name] = typedMembers(e, v)
		}
	}
	return out
}

func typedMembers(e *definition.Embedded, list []any) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
		if m, ok := v.(map[string]any); ok {
			out[i] = Typed(&e.Part, m)
		}
	}
	return out
}

// typedNumbers returns a value of an attribute with numbers of its type.
func typedNumbers(a *definition.Attribute, v any) any {
	v = plainNumber(v)
	if a.Base() != "float" {
		return definition.Written(v)
	}
	if items, ok := v.([]any); ok {
		for i := range items {
			items[i], _ = float(items[i])
		}
		return definition.Written(v)
	}
	v, _ = float(v)
	return definition.Written(v)
}

// float converts a number to a float, and returns any other value unchanged.
func float(v any) (any, bool) {
	switch n := v.(type) {
	case float64:
		return n, true
	case int64:
		return float64(n), true
	case json.Number:
		if f, err := n.Float64(); err == nil {
			return f, true
		}
	}
	return v, false
}

// Text returns a value as text for keys and filters: 2.0 becomes 2.
func Text(v any) string {
	if v == nil {
		return "null"
	}
	return identity(v)
}

// Called reports whether text names a value: both 2.0 and 2 name 2.0.
func Called(v any, text string) bool {
	if Text(v) == text {
		return true
	}
	f, is := plainNumber(v).(float64)
	n, err := strconv.ParseFloat(text, 64)
	return is && err == nil && n == f
}

// identity returns the value of the identity attribute as text.
func identity(v any) string { return fmt.Sprint(plainNumber(v)) }

// whole reports whether a number is written without a fraction or an exponent.
func whole(n json.Number) bool { return !strings.ContainsAny(n.String(), ".eE") }

// tooLarge returns a number in a value that exceeds the range of a float.
func tooLarge(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		_, err := v.Float64()
		return v, err != nil
	case []any:
		for i := range v {
			if n, is := tooLarge(v[i]); is {
				return n, true
			}
		}
	case map[string]any:
		for k := range v {
			if n, is := tooLarge(v[k]); is {
				return n, true
			}
		}
	}
	return "", false
}

// maxDigits is the number of characters of a number that is compared exactly. maxExponent is an
// exponent of ten beyond all numbers that can be stored.
const (
	maxDigits   = 400
	maxExponent = 1000
)

// numberOf returns the value of a number, nil for any other value. A number with an exponent or
// with more than maxDigits characters is only as exact as a float. If it exceeds the range of a
// float, the result exceeds it too.
func numberOf(v any) *big.Rat {
	text, is := v.(json.Number)
	if is && len(text) <= maxDigits && !strings.ContainsAny(text.String(), "eE") {
		n, _ := new(big.Rat).SetString(text.String())
		return n
	}
	if is {
		if _, err := text.Float64(); err != nil {
			ten := big.NewInt(10)
			return new(big.Rat).SetInt(ten.Exp(ten, big.NewInt(maxExponent), nil))
		}
	}
	n, _ := number(plainNumber(v))
	return n
}

// plainNumber returns a JSON value with int64 and float64 for numbers, for any decoder. Whole
// numbers that need more than 64 bits stay as they were written.
func plainNumber(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case *big.Int: // from a model
		return plainNumber(json.Number(v.String()))
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil && !whole(v) {
			return f
		}
		return v // more digits than a float keeps, or too large
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plainNumber(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plainNumber(v[k])
		}
		return out
	}
	return v
}

// Equal reports whether two values are equal. It compares numbers by value.
func Equal(a, b any) bool { return equal(a, b) }

// equal reports whether two values are equal. It compares numbers by value.
func equal(a, b any) bool { return equalPlain(plainNumber(a), plainNumber(b)) }

// equalPlain is equal for values whose numbers are plain at every level.
func equalPlain(a, b any) bool {
	if x, ok := number(a); ok {
		y, also := number(b)
		return also && x.Cmp(y) == 0
	}
	switch a := a.(type) {
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalPlain(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k := range a {
			if v, there := b[k]; !there || !equalPlain(a[k], v) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

// number returns the exact value of a number.
func number(v any) (*big.Rat, bool) {
	// The exact value of a whole number needs no bound: it is as long as its text.
	if text, is := v.(json.Number); is && whole(text) {
		return new(big.Rat).SetString(text.String())
	}
	return resource.Number(v)
}
