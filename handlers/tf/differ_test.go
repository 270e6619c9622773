package tf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diff"
	"southbound/shared/tf/value"
)

const differSchema = `{"resources":{"x_y":{"block":{"attributes":[
	{"name":"id","type":"string","computed":true},
	{"name":"name","type":"string","required":true},
	{"name":"size","type":"number","optional":true,"computed":true},
	{"name":"tags","type":["map","string"],"optional":true},
	{"name":"pin","type":"string","optional":true,"write_only":true}],
	"blocks":[{"name":"rule","nesting":2,"block":{"attributes":[
		{"name":"port","type":"number","required":true},
		{"name":"no","type":"string","computed":true}]}}]}}}}`

// differing is the type of differSchema.
func differing(t testing.TB) (*value.Type, *meta) {
	t.Helper()
	s := schemas(t, differSchema).Resources["x_y"]
	ty, err := value.Compile(&s)
	if err != nil {
		t.Fatal(err)
	}
	return ty, &meta{ours: map[string]string{"id": "id_"}, schema: map[string]string{"id_": "id"}}
}

// with returns an object with other attributes.
func with(v cty.Value, attributes map[string]cty.Value) cty.Value {
	all := v.AsValueMap()
	for name, a := range attributes {
		all[name] = a
	}
	return cty.ObjectVal(all)
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	ty, m := differing(t)
	prior, err := ty.FromJSON([]byte(`{"id":"a","name":"n","size":1,"tags":{"k":"v"},"rule":[{"port":80,"no":"1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	config, err := ty.FromAttributes(map[string]any{"name": "n", "tags": map[string]any{"k": "v"},
		"rule": []any{map[string]any{"port": int64(80)}}})
	if err != nil {
		t.Fatal(err)
	}
	text, number := cty.UnknownVal(cty.String), cty.UnknownVal(cty.Number)
	rule := func(no cty.Value) cty.Value {
		return cty.ListVal([]cty.Value{cty.ObjectVal(map[string]cty.Value{
			"port": cty.NumberIntVal(80), "no": no})})
	}
	for name, x := range map[string]struct {
		planned map[string]cty.Value
		want    map[string]diff.Diff
		after   string
	}{
		"as it is": {nil, nil, ""},
		"a text": {map[string]cty.Value{"name": cty.StringVal("m")},
			map[string]diff.Diff{"name": {Current: "n", Desired: "m"}}, ""},
		"removed": {map[string]cty.Value{"tags": cty.NullVal(cty.Map(cty.String))},
			map[string]diff.Diff{"tags": {Current: map[string]any{"k": "v"}}}, ""},
		"computed beside a change": {map[string]cty.Value{"name": cty.StringVal("m"), "id": text},
			map[string]diff.Diff{"name": {Current: "n", Desired: "m"}}, "id_"},
		"computed alone": {map[string]cty.Value{"size": number, "id": text},
			map[string]diff.Diff{"size": {Current: int64(1), Desired: afterApply},
				"id_": {Current: "a", Desired: afterApply}}, "id_, size"},
		"computed in a block": {map[string]cty.Value{"rule": rule(text)},
			map[string]diff.Diff{"rule": {
				Current: []any{map[string]any{"port": int64(80), "no": "1"}}, Desired: afterApply}},
			"rule/0/no"},
	} {
		got, computed := differences(ty, m, prior,
			&plan{config: config, planned: with(prior, x.planned)})
		if len(got) == 0 {
			got = afterwards(ty, m, prior, computed)
		}
		if d := cmp.Diff(x.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if after := m.places(computed); after != x.after {
			t.Errorf("%s: known after apply: %s", name, after)
		}
	}
}

func TestReplacing(t *testing.T) {
	t.Parallel()
	_, m := differing(t)
	name := map[string]diff.Diff{"name": {Current: "n", Desired: "m"}, "tags": {Current: "a"}}
	for what, x := range map[string]struct {
		diffs    map[string]diff.Diff
		replaced []cty.Path
		tainted  bool
		want     map[string]diff.Diff
	}{
		"an attribute": {name, []cty.Path{cty.GetAttrPath("name")}, false, map[string]diff.Diff{
			"name": {Current: "n", Desired: "m", Replace: true}, "tags": {Current: "a"}}},
		"a part of an attribute": {name, []cty.Path{cty.GetAttrPath("tags").IndexString("k")}, false,
			map[string]diff.Diff{"name": {Current: "n", Desired: "m"}, "tags": {Current: "a", Replace: true}}},
		"write-only": {nil, []cty.Path{cty.GetAttrPath("pin")}, false,
			map[string]diff.Diff{"pin": {Replace: true}}},
		"tainted": {nil, nil, true, map[string]diff.Diff{
			attrTainted: {Current: true, Desired: false, Replace: true}}},
	} {
		before := len(x.diffs)
		if d := cmp.Diff(x.want, replacing(m, x.diffs, x.replaced, x.tainted)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if len(x.diffs) != before {
			t.Errorf("%s: the differences were changed", what)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	_, m := differing(t)
	for want, p := range map[string]cty.Path{
		"":          nil,
		"id_":       cty.GetAttrPath("id"),
		"rule/0/no": cty.GetAttrPath("rule").IndexInt(0).GetAttr("no"),
		"rule/0/id": cty.GetAttrPath("rule").IndexInt(0).GetAttr("id"),
		"tags/a~1b": cty.GetAttrPath("tags").IndexString("a/b"),
	} {
		if got := m.place(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	var many []cty.Path
	for range 3 {
		for i := range 30 {
			many = append(many, cty.GetAttrPath("rule").IndexInt(i))
		}
	}
	if got := m.places(many); strings.Count(got, ",") != 19 || !strings.HasSuffix(got, "more") {
		t.Error(got)
	}
}
