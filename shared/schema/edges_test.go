package schema

import (
	"math"
	"slices"
	"testing"

	"southbound/shared/resource"
)

func TestEdges(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string][]any{
		"Boolean":                   {false, true},
		"Boolean[false]":            {false},
		"Enum[b, a]":                {"a", "b"},
		"Integer[0, 65535]":         {int64(0), int64(65535), int64(65534)},
		"Integer":                   {int64(math.MaxInt64), int64(math.MinInt64)},
		"Optional[String[3, 5]]":    {"aaa", "üüü", "aaaaa", "€€€€€"},
		"String[1]":                 {"a", " ", "-v"},
		`Pattern[/\A[0-7]{3,4}\z/]`: {"000", "777", "7777"},
		`Pattern[/\A(on|off)\z/]`:   {"on", "off"},
		"Array[Integer[1, 2], 2, 3]": {[]any{int64(1), int64(2)},
			[]any{int64(1), int64(2), int64(1)}},
		"Hash[String[1], Boolean]": {map[string]any{}, map[string]any{"a": false}},
		"Struct[{a => Boolean, Optional[b] => Integer[1, 1]}]": {map[string]any{"a": false},
			map[string]any{"a": false, "b": int64(1)}},
		"Tuple[Boolean, Enum[x]]":               {[]any{false, "x"}},
		"Sensitive[Enum[s]]":                    {"s"},
		"Float[0.0, 1.0]":                       {0.0, 0.1, 1.0},
		"Variant[Boolean[true], Integer[4, 4]]": {true, int64(4)},
	} {
		d, err := ParseDataType(expr)
		if err != nil {
			t.Fatal(expr, err)
		}
		got := d.Edges()
		for _, w := range want {
			if !slices.ContainsFunc(got, func(v any) bool { return resource.Equal(v, w) }) {
				t.Errorf("%s: %v is not among %v", expr, w, got)
			}
		}
		for _, v := range got {
			if err := d.Check(v); err != nil {
				t.Errorf("%s: %v", expr, err)
			}
		}
	}
}
