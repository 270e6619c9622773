package types

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Cast converts a value to a primitive type, like int("1") in a model.
func Cast(to *Primitive, v Value) (Value, error) {
	if IsUnknown(v) {
		return v, nil
	}
	out, ok := Value(nil), false
	switch to.name {
	case "string":
		return castText(v), nil
	case "bool":
		return Truth(v), nil
	case "int":
		out, ok = castInt(v)
	case "float", "number":
		if _, isInt := whole(v); isInt && to.name == "number" {
			return castInt0(v), nil
		}
		out, ok = castFloat(v)
	}
	if !ok {
		return nil, fmt.Errorf("%s cannot be made %s", shown(v), article(to.name))
	}
	return out, nil
}

func article(name string) string {
	if strings.IndexByte("aeiou", name[0]) >= 0 {
		return "an " + name
	}
	return "a " + name
}

func castText(v Value) string {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v)
	case *List, *Dict, float64:
		return Repr(v)
	}
	return Text(v)
}

// Truth returns the truth value of v, like bool() in Python.
func Truth(v Value) bool {
	switch v := v.(type) {
	case Null:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case *List:
		return len(v.Items) > 0
	case *Dict:
		return v.Len() > 0
	}
	return true
}

func castInt0(v Value) Value {
	n, _ := whole(v)
	return Integer(n)
}

func castInt(v Value) (Value, bool) {
	switch v := v.(type) {
	case int64, *big.Int, bool:
		return castInt0(v), true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		n, _ := new(big.Float).SetFloat64(v).Int(nil)
		return Integer(n), true
	case string:
		text, ok := numeral(v)
		if !ok || len(text) > 4300 {
			return nil, false
		}
		n, ok := new(big.Int).SetString(text, 10)
		if !ok {
			return nil, false
		}
		return Integer(n), true
	}
	return nil, false
}

// numeral normalizes a numeral: it removes surrounding white space and the _ between digits, as
// Python does. It returns false if a _ is misplaced or the text is empty.
func numeral(s string) (string, bool) {
	s = strings.TrimSpace(s)
	for i := range len(s) {
		if s[i] != '_' {
			continue
		}
		if i == 0 || i == len(s)-1 || s[i-1] < '0' || s[i-1] > '9' || s[i+1] < '0' || s[i+1] > '9' {
			return "", false
		}
	}
	return strings.ReplaceAll(s, "_", ""), s != ""
}

func castFloat(v Value) (Value, bool) {
	if s, ok := v.(string); ok {
		text, ok := numeral(s)
		if !ok || strings.ContainsAny(text, "xXpP") {
			return nil, false
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, false
		}
		return f, true
	}
	if !isNumber(v) {
		return nil, false
	}
	return toFloat(v)
}
