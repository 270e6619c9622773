package definition

import (
	"encoding/json"
	"math"
	"strconv"
)

// maxWhole is the bound below which JSON encoders write floats without an exponent.
const maxWhole = 1e21

// Number returns a float in a JSON form that stays a float: 2 would be read as a whole number.
func Number(f float64) any {
	if f != math.Trunc(f) || math.Abs(f) >= maxWhole {
		return f
	}
	return json.Number(strconv.FormatFloat(f, 'f', 1, 64))
}

// Written returns a value whose floats stay floats in JSON.
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
