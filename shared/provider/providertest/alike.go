package providertest

import (
	"maps"
	"reflect"
	"slices"

	"southbound/shared/provider"
)

// alike reports what reflect.DeepEqual does. What handlers get and report is compared after each of
// their calls, and is of a few forms, for which this takes a fraction of the time.
func alike(a, b any) bool {
	switch a := a.(type) {
	case string:
		b, ok := b.(string)
		return ok && a == b
	case int64:
		b, ok := b.(int64)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case []any:
		b, ok := b.([]any)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b, alike)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && (a == nil) == (b == nil) && maps.EqualFunc(a, b, alike)
	case []provider.Found:
		b, ok := b.([]provider.Found)
		return ok && (a == nil) == (b == nil) && slices.EqualFunc(a, b,
			func(a, b provider.Found) bool { return alike(a.Attributes, b.Attributes) })
	}
	return reflect.DeepEqual(a, b)
}
