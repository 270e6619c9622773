package tf

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
)

func TestHiddenAt(t *testing.T) {
	t.Parallel()
	list := func() any {
		return []any{map[string]any{"pin": "s", "no": int64(1)}, map[string]any{"no": int64(2)}}
	}
	for _, tt := range []struct {
		name string
		v    any
		path cty.Path
		want any
	}{
		{"the whole value", "s", nil, provider.Hidden{}},
		{"in a list", list(), cty.IndexIntPath(0).GetAttr("pin"), []any{
			map[string]any{"pin": provider.Hidden{}, "no": int64(1)}, map[string]any{"no": int64(2)}}},
		{"in a map", map[string]any{"a": map[string]any{"pin": "s"}, "b": "x"},
			cty.IndexStringPath("a").GetAttr("pin"),
			map[string]any{"a": map[string]any{"pin": provider.Hidden{}}, "b": "x"}},
		{"another form than the path: all of it", list(), cty.GetAttrPath("pin"), provider.Hidden{}},
		{"no such member", map[string]any{"b": "x"}, cty.GetAttrPath("a"), provider.Hidden{}},
		{"no such element", []any{"x"}, cty.IndexIntPath(3), provider.Hidden{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if d := cmp.Diff(tt.want, hiddenAt(tt.v, tt.path)); d != "" {
				t.Error(d)
			}
		})
	}
}
