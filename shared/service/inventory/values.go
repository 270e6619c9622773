package inventory

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode/utf8"

	"southbound/shared/internal/pyregexp"
	"southbound/shared/service/definition"
)

// kindOf describes the type of an attribute.
func kindOf(a *definition.Attribute) string {
	out := a.Base()
	if a.List() {
		out = "a list of " + out
	}
	if a.Optional() {
		out += ", or null"
	}
	return out
}

func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}

// value checks a value of an attribute, and returns its stored form.
func (c *checker) value(a *definition.Attribute, at Path, v any) (any, bool) {
	if v == nil && a.Optional() {
		return nil, true
	}
	items, isList := v.([]any)
	if !a.List() {
		return c.one(a, at, v, "")
	}
	if !isList {
		c.bad(at, CodeType, "give "+kindOf(a), "it is %s, and not a list", jsonKind(v))
		return nil, false
	}
	out, good := make([]any, 0, len(items)), true
	for i, item := range items {
		one, ok := c.one(a, at, item, itemOf(i, len(items))+": ")
		out, good = append(out, one), good && ok
	}
	return out, good
}

// itemOf describes the position of a list item, counted from one.
func itemOf(i, n int) string { return fmt.Sprintf("item %d of %d", i+1, n) }

// one checks a value that is not a list. Each message begins with the text what.
func (c *checker) one(a *definition.Attribute, at Path, given any, what string) (any, bool) {
	v := plainNumber(given)
	out, ok := typed(a.Base(), v)
	if n, large := tooLarge(v); large {
		c.bad(at, CodeType, hintNumber(), "%s%s is too large to be stored", what, shownNumber(n))
		return nil, false
	}
	if !ok {
		why, hint := mistyped(a, given)
		c.bad(at, CodeType, hint, "%s%s", what, why)
		return nil, false
	}
	if why := invalid(a, out); why != "" {
		c.bad(at, CodeValue, "", "%s%s", what, why)
		return nil, false
	}
	return out, true
}

// mistyped returns why a value does not have the type of an attribute, and a hint.
func mistyped(a *definition.Attribute, given any) (why, hint string) {
	hint = "give " + kindOf(a)
	n, base := numberOf(given), a.Base()
	if n == nil || base != "int" {
		return fmt.Sprintf("it is %s, and not %s", jsonKind(given), base), hint
	}
	least, most := big.NewInt(math.MinInt64), big.NewInt(math.MaxInt64)
	switch {
	case !n.IsInt():
		return fmt.Sprintf("%s is not a whole number", shownNumber(given)), hint
	case n.Num().Cmp(least) < 0 || n.Num().Cmp(most) > 0:
		return fmt.Sprintf("%s is too large to be stored", shownNumber(given)),
			fmt.Sprintf("give a whole number from %d to %d", least, most)
	}
	return fmt.Sprintf("%s may not be exact", shownNumber(given)),
		"write all of its digits, without a fraction or an exponent"
}

// shownNumber returns a number as it was given, truncated to maxShown bytes.
func shownNumber(v any) string {
	text := fmt.Sprint(v)
	if len(text) > maxShown {
		return text[:maxShown] + "…"
	}
	return text
}

const maxShown = 40

// hintNumber returns a hint with the range of numbers that can be stored.
func hintNumber() string {
	return fmt.Sprintf("give a number from -%g to %g", math.MaxFloat64, math.MaxFloat64)
}

// typed converts a value to a type. It reports whether the value has the type.
func typed(base string, v any) (any, bool) {
	ok := false
	switch base {
	case "string":
		_, ok = v.(string)
	case "bool":
		_, ok = v.(bool)
	case "dict":
		_, ok = v.(map[string]any)
	case "list":
		_, ok = v.([]any)
	case "int":
		if f, is := v.(float64); is && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), true
		}
		_, ok = v.(int64)
	case "float":
		return float(v)
	case "number":
		_, ok = number(v)
	default:
		ok = true
	}
	return v, ok
}

// invalid returns why a value of the right type violates the validation of its attribute; "" if it
// is valid. Unknown validation types are checked when the model is compiled.
func invalid(a *definition.Attribute, v any) string {
	if a.ValidationType == nil {
		return ""
	}
	p := a.ValidationParam
	if values, ok := p["values"].([]any); ok {
		var all []string
		for _, one := range values {
			if equal(one, v) {
				return ""
			}
			all = append(all, fmt.Sprint(one))
		}
		return fmt.Sprintf("%v is none of %s", v, strings.Join(all, ", "))
	}
	if s, ok := v.(string); ok {
		return invalidText(p, s)
	}
	return invalidNumber(p, v)
}

func invalidText(p map[string]any, s string) string {
	n := new(big.Rat).SetInt64(int64(utf8.RuneCountInString(s)))
	if least, ok := number(plainNumber(p["min_length"])); ok && n.Cmp(least) < 0 {
		return fmt.Sprintf("it has less than %v characters", p["min_length"])
	}
	if limit, ok := number(plainNumber(p["max_length"])); ok && n.Cmp(limit) > 0 {
		return fmt.Sprintf("it has more than %v characters", p["max_length"])
	}
	text, ok := p["regex"].(string)
	if !ok {
		return ""
	}
	re, err := pyregexp.Compile(text)
	if err != nil {
		return "" // the compile of the model reports it
	}
	switch good, err := re.Match(s); {
	case err != nil:
		return err.Error()
	case !good:
		return fmt.Sprintf("it does not match /%s/", text)
	}
	return ""
}

func invalidNumber(p map[string]any, v any) string {
	n, ok := number(v)
	if !ok {
		return ""
	}
	for _, b := range []struct {
		name, says string
		good       func(int) bool
	}{
		{"ge", "at least", func(c int) bool { return c >= 0 }},
		{"gt", "greater than", func(c int) bool { return c > 0 }},
		{"le", "at most", func(c int) bool { return c <= 0 }},
		{"lt", "less than", func(c int) bool { return c < 0 }},
	} {
		if limit, ok := number(plainNumber(p[b.name])); ok && !b.good(n.Cmp(limit)) {
			return fmt.Sprintf("%v is not %s %v", v, b.says, p[b.name])
		}
	}
	of, ok := number(plainNumber(p["multiple_of"]))
	if ok && of.Sign() != 0 && !new(big.Rat).Quo(n, of).IsInt() {
		return fmt.Sprintf("%v is not a multiple of %v", v, p["multiple_of"])
	}
	return ""
}
