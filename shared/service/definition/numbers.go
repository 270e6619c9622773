package definition

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxWhole bounds floats that JSON is written without an exponent.
const maxWhole = 1e21

// Number returns a float as JSON in which it stays one: what is written as 2 is a whole number.
func Number(f float64) any {
	if f != math.Trunc(f) || math.Abs(f) >= maxWhole {
		return f
	}
	return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
}

// Written returns a value with floats that JSON keeps as floats.
func Written(v any) any {
	switch v := v.(type) {
	case float64:
		return Number(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = Written(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = Written(v[k])
		}
		return out
	}
	return v
}
