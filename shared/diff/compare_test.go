package diff

import (
	"math/big"
	"reflect"
	"slices"
	"testing"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

func diskType(t testing.TB) *schema.Compiled {
	t.Helper()
	r, err := schema.NewRegistry(schema.Type{Name: "vm::Disk", Attributes: []schema.Attribute{
		{Name: "name", Type: "String", Behaviour: schema.Namevar},
		{Name: "zone", Type: "Optional[String]", Behaviour: schema.InitOnly},
		{Name: "kind", Type: "Optional[String]", Behaviour: schema.InitOnly},
		{Name: "size", Type: "Optional[Numeric]"},
		{Name: "tags", Type: "Optional[Any]"},
		{Name: "force", Type: "Optional[Boolean]", Behaviour: schema.Parameter},
		{Name: "state", Type: "String", Behaviour: schema.ReadOnly},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := r.Type("vm::Disk")
	return c
}

func TestCompare(t *testing.T) {
	type attrs = map[string]any
	tests := map[string]struct {
		reason           string
		desired, current attrs
		want             map[string][2]any
	}{
		"Same": {"nothing differs", attrs{"size": int64(5), "zone": "a"},
			attrs{"size": int64(5), "zone": "a"}, nil},
		"Differs": {"a property and an init_only attribute",
			attrs{"size": int64(5), "zone": "a"}, attrs{"size": int64(6), "zone": "b"},
			map[string][2]any{"size": {int64(6), int64(5)}, "zone": {"b", "a"}}},
		"NotWanted": {"nil and absent wish for nothing", attrs{"size": nil},
			attrs{"size": int64(6), "zone": "b"}, nil},
		"NotReported": {"what is wanted and not reported differs", attrs{"size": int64(5)}, attrs{},
			map[string][2]any{"size": {nil, int64(5)}}},
		"NoState": {"so it is when nothing is there", attrs{"zone": "a"}, nil,
			map[string][2]any{"zone": {nil, "a"}}},
		"Behaviours": {"names, parameters and what is only reported are not compared",
			attrs{"name": "a", "force": true, "state": "x"},
			attrs{"name": "b", "force": false, "state": "y"}, nil},
		"Numbers": {"numbers by value", attrs{"size": 5.0, "tags": []any{int64(7)}},
			attrs{"size": int64(5), "tags": []any{big.NewInt(7)}}, nil},
		"NotText": {"5 is not \"5\"", attrs{"size": int64(5)}, attrs{"size": "5"},
			map[string][2]any{"size": {"5", int64(5)}}},
		"GoValues": {"what Go has is taken for what it is",
			attrs{"size": int64(5), "tags": []any{"a"}}, attrs{"size": 5, "tags": []string{"a"}},
			nil},
		"GoValuesDo": {"and differs as such", attrs{"size": int64(5)}, attrs{"size": uint8(6)},
			map[string][2]any{"size": {int64(6), int64(5)}}},
		"NoValue": {"what is not a value differs", attrs{"tags": "a"}, attrs{"tags": struct{}{}},
			map[string][2]any{"tags": {struct{}{}, "a"}}},
		"MapOrder": {"maps have no order, lists have", attrs{"tags": attrs{"a": []any{"x", "y"}}},
			attrs{"tags": attrs{"a": []any{"y", "x"}}},
			map[string][2]any{"tags": {attrs{"a": []any{"y", "x"}}, attrs{"a": []any{"x", "y"}}}}},
		"MapMore": {"a map with more in it differs", attrs{"tags": attrs{"a": "x"}},
			attrs{"tags": attrs{"a": "x", "b": "y"}},
			map[string][2]any{"tags": {attrs{"a": "x", "b": "y"}, attrs{"a": "x"}}}},
		"Files": {"a file is its hash", attrs{"tags": resource.File{Hash: "a", Size: 1}},
			attrs{"tags": resource.File{Hash: "a", Size: 1}}, nil},
		"Unknown": {"attributes the type does not have are left out", attrs{"other": "a"},
			attrs{"other": "b"}, nil},
		"EmptyText": {"the empty text is a wish", attrs{"zone": ""}, attrs{"zone": "a"},
			map[string][2]any{"zone": {"a", ""}}},
		"False": {"so is false", attrs{"tags": false}, attrs{"tags": true},
			map[string][2]any{"tags": {true, false}}},
	}
	typ := diskType(t)
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var want map[string]Diff
			for name, d := range tc.want {
				if want == nil {
					want = map[string]Diff{}
				}
				want[name] = Diff{Current: d[0], Desired: d[1]}
			}
			if got := Compare(typ, tc.desired, tc.current); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: Compare = %v, want %v", tc.reason, got, want)
			}
		})
	}
}

func TestInitOnly(t *testing.T) {
	typ := diskType(t)
	if got := InitOnly(typ, map[string]Diff{"kind": {}, "size": {}, "zone": {}}); !slices.Equal(got,
		[]string{"zone", "kind"}) {
		t.Errorf("InitOnly = %v, want them as declared", got)
	}
	if got := InitOnly(typ, map[string]Diff{"size": {}}); got != nil {
		t.Errorf("InitOnly = %v, want none", got)
	}
}

func BenchmarkCompare(b *testing.B) {
	typ := diskType(b)
	state := map[string]any{"name": "a", "zone": "b", "kind": "c", "size": int64(5),
		"tags": map[string]any{"a": "b"}}
	b.ReportAllocs()
	for b.Loop() {
		if Compare(typ, state, state) != nil {
			b.Fatal("differs")
		}
	}
}
