package providertest

import (
	"math"
	"reflect"
	"testing"

	"southbound/shared/provider"
)

// TestAlike holds that what is compared often is compared as reflect does it.
func TestAlike(t *testing.T) {
	found := func(attrs map[string]any) []provider.Found {
		return []provider.Found{{Attributes: attrs}}
	}
	values := []any{nil, "", "a", int64(0), int64(1), 0, 1.5, math.NaN(), true, false,
		[]any(nil), []any{}, []any{nil}, []any{"a", int64(1)}, []any{int64(1), "a"},
		map[string]any(nil), map[string]any{}, map[string]any{"a": nil}, map[string]any{"b": nil},
		map[string]any{"a": []any{}}, map[string]any{"a": []any(nil)}, []string{"a"},
		[]provider.Found(nil), []provider.Found{}, found(nil), found(map[string]any{}),
		found(map[string]any{"a": "b"}), append(found(nil), found(nil)...)}
	for _, a := range values {
		for _, b := range values {
			if got, want := alike(a, b), reflect.DeepEqual(a, b); got != want {
				t.Errorf("%#v and %#v: %t, and by reflect %t", a, b, got, want)
			}
		}
	}
}

// TestSameVariables holds that the variable that each call has for itself does not count, wherever
// it stands.
func TestSameVariables(t *testing.T) {
	for _, tc := range []struct {
		a, b []string
		same bool
	}{
		{nil, []string{tempVar + "=a"}, true},
		{[]string{"A=1", tempVar + "=a", "B=2"}, []string{"A=1", "B=2", tempVar + "=b"}, true},
		{[]string{"A=1", tempVar + "=a"}, []string{tempVar + "=a", "A=2"}, false},
		{[]string{"A=1"}, []string{"A=1", "B=2"}, false},
		{[]string{"A=1", tempVar + "X=1"}, []string{"A=1"}, false},
	} {
		if got := sameVariables(tc.a, tc.b); got != tc.same {
			t.Errorf("%q and %q: %t", tc.a, tc.b, got)
		}
	}
}
