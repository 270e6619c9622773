package value

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/tf/wire"
)

// role is a schema with each way to nest.
const role = `{"version":2,"block":{"attributes":[
	{"name":"name","type":"string","required":true},
	{"name":"id","type":"string","computed":true},
	{"name":"owner","type":"string","optional":true,"computed":true},
	{"name":"limit","type":"number","optional":true},
	{"name":"password","type":"string","optional":true,"sensitive":true},
	{"name":"token_wo","type":"string","optional":true,"write_only":true},
	{"name":"tags","type":["map","string"],"optional":true},
	{"name":"roles","type":["set","string"],"optional":true},
	{"name":"paths","type":["list","string"],"optional":true},
	{"name":"any","type":"dynamic","optional":true},
	{"name":"pair","type":["tuple",["string","number"]],"optional":true},
	{"name":"parts","optional":true,"nested":{"nesting":2,"attributes":[
		{"name":"x","type":"string","optional":true},
		{"name":"no","type":"number","computed":true}]}},
	{"name":"one","optional":true,"computed":true,"nested":{"nesting":1,"attributes":[
		{"name":"x","type":"string","optional":true},
		{"name":"no","type":"number","computed":true}]}}],
	"blocks":[
	{"name":"timeouts","nesting":1,"block":{"attributes":[
		{"name":"create","type":"string","optional":true}]}},
	{"name":"only","nesting":2,"max_items":1,"block":{"attributes":[
		{"name":"x","type":"string","optional":true},
		{"name":"no","type":"number","computed":true}]}},
	{"name":"rule","nesting":3,"block":{"attributes":[
		{"name":"port","type":"number","required":true},
		{"name":"no","type":"number","computed":true}]}},
	{"name":"by","nesting":4,"block":{"attributes":[
		{"name":"x","type":"string","optional":true},
		{"name":"no","type":"number","optional":true,"computed":true}]}},
	{"name":"group","nesting":5,"block":{"attributes":[
		{"name":"no","type":"number","optional":true,"computed":true}]}}]}}`

func compiled(t testing.TB, text string) *Type {
	t.Helper()
	var s wire.Schema
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	typ, err := Compile(&s)
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

// read makes a state of JSON, in which all that is absent is null.
func read(t testing.TB, typ *Type, text string) cty.Value {
	t.Helper()
	v, err := typ.FromJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return typ.Normalize(v)
}

// TestProposed has one row for each rule.
func TestProposed(t *testing.T) {
	t.Parallel()
	typ := compiled(t, role)
	for rule, x := range map[string]struct{ prior, config, want string }{
		"computed and not configured: the prior value": {
			`{"name":"a","id":"7","owner":"o"}`, `{"name":"b"}`, `{"name":"b","id":"7","owner":"o"}`},
		"computed and configured: the configured value": {
			`{"name":"a","id":"7","owner":"o"}`, `{"name":"a","owner":"p"}`,
			`{"name":"a","id":"7","owner":"p"}`},
		"on create computed values are null, not unknown": {
			`null`, `{"name":"a"}`, `{"name":"a"}`},
		"not computed: the configured value, even if it is null": {
			`{"name":"a","limit":5}`, `{"name":"a"}`, `{"name":"a"}`},
		"lists correspond by position": {
			`{"name":"a","parts":[{"x":"u","no":1},{"x":"v","no":2}]}`,
			`{"name":"a","parts":[{"x":"v"},{"x":"w"},{"x":"z"}]}`,
			`{"name":"a","parts":[{"x":"v","no":1},{"x":"w","no":2},{"x":"z"}]}`},
		"maps correspond by key": {
			`{"name":"a","by":{"k":{"x":"u","no":1},"l":{"no":2}}}`,
			`{"name":"a","by":{"l":{"x":"v"},"m":{"x":"u"}}}`,
			`{"name":"a","by":{"l":{"x":"v","no":2},"m":{"x":"u"}}}`},
		"sets correspond by all that is configured": {
			`{"name":"a","rule":[{"port":1,"no":11},{"port":2,"no":12}]}`,
			`{"name":"a","rule":[{"port":2},{"port":3}]}`,
			`{"name":"a","rule":[{"port":2,"no":12},{"port":3}]}`},
		"an element of a set that two could have come from goes to the first": {
			`{"name":"a","rule":[{"port":1,"no":11},{"port":1,"no":12}]}`,
			`{"name":"a","rule":[{"port":1}]}`, `{"name":"a","rule":[{"port":1,"no":11}]}`},
		"a single block is completed, and is null if it is not configured": {
			`{"name":"a","timeouts":{"create":"1m"}}`, `{"name":"a"}`, `{"name":"a"}`},
		"a group keeps computed values": {
			`{"name":"a","group":{"no":3}}`, `{"name":"a"}`, `{"name":"a","group":{"no":3}}`},
		"a computed object of only computed values is kept": {
			`{"name":"a","one":{"no":3}}`, `{"name":"a"}`, `{"name":"a","one":{"no":3}}`},
		"a computed object that an author wrote goes with the configuration": {
			`{"name":"a","one":{"x":"u","no":3}}`, `{"name":"a"}`, `{"name":"a"}`},
	} {
		want := read(t, typ, x.want)
		if got := typ.Proposed(read(t, typ, x.prior), read(t, typ, x.config)); !got.RawEquals(want) {
			t.Errorf("%s: got\n%#v\nwant\n%#v", rule, got, want)
		}
	}
	prior := read(t, typ, `{"name":"a"}`)
	if got := typ.Proposed(prior, typ.Null()); !got.RawEquals(prior) {
		t.Error("without a configuration the prior state is not proposed")
	}
}

func pointers(paths []cty.Path) string {
	out := make([]string, len(paths))
	for i, p := range paths {
		out[i] = Pointer(p)
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestChanges(t *testing.T) {
	t.Parallel()
	typ := compiled(t, role)
	config := read(t, typ, `{"name":"b","parts":[{"x":"u"},{"x":"w"}],"tags":{"a/b":"2"}}`)
	prior := read(t, typ, `{"name":"a","id":"7","limit":1,"parts":[{"x":"u","no":1}],
		"tags":{"a/b":"1","c":"3"},"rule":[{"port":1}]}`)
	planned, err := cty.Transform(typ.Proposed(prior, config),
		func(p cty.Path, v cty.Value) (cty.Value, error) {
			if at := Pointer(p); at == "id" || at == "parts/0/no" {
				return cty.UnknownVal(v.Type()), nil
			}
			return v, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	c := typ.Changes(prior, planned, config)
	if got := pointers(c.Changed); got != "limit name parts/1 rule tags/a~1b tags/c" {
		t.Errorf("changed: %s", got)
	}
	if got := pointers(c.Computed); got != "id parts/0/no" {
		t.Errorf("known after the apply: %s", got)
	}
	path := func(names ...string) cty.Path {
		var p cty.Path
		for _, n := range names {
			p = p.GetAttr(n)
		}
		return p
	}
	requires := []cty.Path{path("id"), path("name"), path("owner"), path("token_wo"), path("none"),
		path("parts").IndexInt(0).GetAttr("x"), path("parts").IndexInt(1).GetAttr("x"),
		path("parts").IndexInt(5).GetAttr("x"), path("timeouts", "create")}
	if got := pointers(typ.Replacements(requires, prior, planned)); got !=
		"id name parts/1/x token_wo" {
		t.Errorf("replaced because of: %s", got)
	}
	if got := typ.Replacements(requires, typ.Null(), planned); got != nil {
		t.Errorf("an object that does not exist is replaced because of %s", pointers(got))
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	typ := compiled(t, `{"block":{"attributes":[
		{"name":"p","type":"string","optional":true,"sensitive":true},
		{"name":"w","type":"string","optional":true,"write_only":true}],
		"blocks":[{"name":"l","nesting":2,"block":{"attributes":[
			{"name":"p","type":"string","optional":true,"sensitive":true}]}},
		{"name":"s","nesting":3,"block":{"attributes":[
			{"name":"p","type":"string","optional":true,"sensitive":true}]}}]}}`)
	v := read(t, typ, `{"p":"x","w":"y","l":[{},{"p":"z"}],"s":[{"p":"1"},{"p":"2"}]}`)
	if got := pointers(typ.Sensitive(v)); got != "l/1/p p s" {
		t.Errorf("sensitive: %s", got)
	}
	if got := pointers(typ.WriteOnly(v)); got != "w" {
		t.Errorf("write-only: %s", got)
	}
}

func TestFromAttributes(t *testing.T) {
	t.Parallel()
	typ := compiled(t, role)
	huge, _ := new(big.Int).SetString("36893488147419103233", 10)
	v, err := typ.FromAttributes(map[string]any{"name": "e\u0301", "limit": huge,
		"only": map[string]any{"x": "u"}, "tags": map[string]any{"a": "b"},
		"roles": []any{"r", "s"}, "pair": []any{"x", 0.1},
		"any": map[string]any{"a": []any{int64(1), "x", nil}},
		"by":  map[string]any{"k": map[string]any{"no": int64(3)}}, "password": resource.Fact{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	if name := v.GetAttr("name").AsString(); name != "\u00e9" {
		t.Errorf("the text is not normalized: %q", name)
	}
	if v.GetAttr("password").IsKnown() || v.GetAttr("only").LengthInt() != 1 ||
		!v.GetAttr("owner").IsNull() || v.GetAttr("rule").LengthInt() != 0 {
		t.Errorf("got %#v", v)
	}
	b, err := typ.Msgpack(v)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := typ.FromMsgpack(b); err != nil || !back.RawEquals(v) {
		t.Errorf("%v\n%#v\n%#v", err, v, back)
	}
	want := map[string]any{"name": "\u00e9", "limit": huge, "tags": map[string]any{"a": "b"},
		"only": []any{map[string]any{"x": "u"}}, "roles": []any{"r", "s"}, "pair": []any{"x", 0.1},
		"any": map[string]any{"a": []any{int64(1), "x", nil}}, "group": map[string]any{},
		"by": map[string]any{"k": map[string]any{"no": int64(3)}}}
	if d := cmp.Diff(want, typ.Attributes(v),
		cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 })); d != "" {
		t.Error(d)
	}
}

func TestFromAttributesRejects(t *testing.T) {
	t.Parallel()
	typ := compiled(t, role)
	for want, attributes := range map[string]map[string]any{
		"name: the attribute is required":                                           {},
		"nam: there is no such attribute|did you mean name?":                        {"name": "a", "nam": "b"},
		"id: the provider computes the attribute":                                   {"name": "a", "id": "b"},
		"limit: expected a number, found a text":                                    {"name": "a", "limit": "1"},
		"paths: 1: expected a text, found a number":                                 {"name": "a", "paths": []any{"x", int64(1)}},
		"timeouts: expected an object, found a list of one|write {...} without [ ]": {"name": "a", "timeouts": []any{map[string]any{}}},
		"one: expected an object, found a list of one|write {...} without [ ]":      {"name": "a", "one": []any{map[string]any{}}},
		"parts: expected a list of objects, found a map|write [{...}]":              {"name": "a", "parts": map[string]any{}},
		"parts: 0/y: there is no such attribute":                                    {"name": "a", "parts": []any{map[string]any{"y": "z"}}},
		"only: at most 1 blocks are allowed, found 2":                               {"name": "a", "only": []any{map[string]any{}, map[string]any{}}},
		"roles: 1: the element equals element 0":                                    {"name": "a", "roles": []any{"x", "x"}},
		"roles: 1: the element equals element 0, and the order":                     {"name": "a", "roles": []any{"\u00e9", "e\u0301"}},
		"rule: 1: the element equals element 0":                                     {"name": "a", "rule": []any{map[string]any{"port": int64(1)}, map[string]any{"port": 1.0}}},
		"tags: two keys are the same text":                                          {"name": "a", "tags": map[string]any{"\u00e9": "", "e\u0301": ""}},
		"pair: expected 2 items, found 1":                                           {"name": "a", "pair": []any{"x"}},
		"by: k: expected an object, found a text":                                   {"name": "a", "by": map[string]any{"k": "x"}},
		"any: a file cannot be passed to a provider":                                {"name": "a", "any": resource.File{}},
		"password: expected a text, found a list|":                                  {"name": "a", "password": []any{"s3cret", "x"}},
	} {
		_, err := typ.FromAttributes(attributes)
		problems, _ := diag.Of(err)
		message, hint, _ := strings.Cut(want, "|")
		if len(problems) == 0 || !strings.HasPrefix(problems[0].String(), message) ||
			!strings.Contains(problems[0].Hint, hint) {
			t.Errorf("%s: got %v", want, problems)
		}
		if strings.Contains(problems[0].String(), "s3cret") {
			t.Errorf("a value is in the message: %v", problems)
		}
	}
}

func TestCompileRejects(t *testing.T) {
	t.Parallel()
	attribute := func(more string) string {
		return `{"block":{"attributes":[{"name":"a",` + more + `}]}}`
	}
	for want, text := range map[string]string{
		"/a: \"\\\"text\\\"\" is not a type": attribute(`"type":"text"`),
		"/a: \"\" is not a type":             attribute(`"optional":true`),
		"collection of values of any type":   attribute(`"type":["list","dynamic"]`),
		"more than 48 levels":                attribute(`"type":` + strings.Repeat(`["list",`, 200) + `"string"` + strings.Repeat(`]`, 200)),
		"/a: the nesting 5 is not known":     attribute(`"nested":{"nesting":5}`),
		"/: the name is not valid":           `{"block":{"attributes":[{"type":"string"}]}}`,
		"/a: the name occurs twice":          `{"block":{"attributes":[{"name":"a","type":"string"},{"name":"a","type":"string"}]}}`,
		"/b: it is a collection of objects":  `{"block":{"blocks":[{"name":"b","nesting":2,"block":{"attributes":[{"name":"a","type":"dynamic"}]}}]}}`,
	} {
		var s wire.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := Compile(&s); !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestBadAnswers(t *testing.T) {
	t.Parallel()
	typ := compiled(t, `{"block":{"attributes":[{"name":"n","type":"number","optional":true},
		{"name":"d","type":"dynamic","optional":true}]}}`)
	for name, b := range map[string]string{
		"nothing":                        "",
		"an object without attributes":   "\x80",
		"another attribute":              "\x82\xa1x\xc0\xa1d\xc0",
		"an attribute twice":             "\x82\xa1n\xc0\xa1n\xc0",
		"a text for a number":            "\x82\xa1n\xa1x\xa1d\xc0",
		"not a number":                   "\x82\xa1n\xcb\x7f\xf8\x00\x00\x00\x00\x00\x01\xa1d\xc0",
		"an infinite number":             "\x82\xa1n\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00\xa1d\xc0",
		"a number of a billion digits":   "\x82\xa1n\xab1e999999999\xa1d\xc0",
		"four billion elements":          "\x82\xa1n\xdd\xff\xff\xff\xff\xa1d\xc0",
		"bytes behind the value":         "\x82\xa1n\xc0\xa1d\xc0\xc0",
		"lists in lists without end":     strings.Repeat("\x91", 1<<16),
		"a dynamic value without a type": "\x82\xa1n\xc0\xa1d\x91\xc0",
	} {
		if v, err := typ.FromMsgpack([]byte(b)); !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: got %#v, %v", name, v, err)
		}
	}
	for _, text := range []string{"", "[]", `{"x":1}`, `{"n":"x"}`, `{"n":1e999999999}`,
		`{"d":{"value":1}}`} {
		if v, err := typ.FromJSON([]byte(text)); !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: got %#v, %v", text, v, err)
		}
	}
}

func TestViolations(t *testing.T) {
	t.Parallel()
	typ := compiled(t, role)
	state := func(text string) cty.Value { return read(t, typ, text) }
	for want, x := range map[string]struct{ prior, config, planned string }{
		"":                                        {`null`, `{"name":"a"}`, `{"name":"a","id":"1"}`},
		"name: the planned value is not":          {`null`, `{"name":"a"}`, `{"name":"A"}`},
		"limit: the plan has a value":             {`null`, `{"name":"a"}`, `{"name":"a","limit":1}`},
		"token_wo: the plan has a value":          {`null`, `{"name":"a","token_wo":"x"}`, `{"name":"a","token_wo":"x"}`},
		"parts: the plan does not have as many":   {`null`, `{"name":"a","parts":[{}]}`, `{"name":"a","parts":[]}`},
		"by/k/x: the planned value":               {`null`, `{"name":"a","by":{"k":{"x":"u"}}}`, `{"name":"a","by":{"k":{"x":"v"}}}`},
		"the plan has no object":                  {`null`, `{"name":"a"}`, `null`},
		"the plan of a deletion keeps the object": {`{"name":"a"}`, `null`, `{"name":"a"}`},
	} {
		var got []string
		for _, v := range typ.CheckPlan(state(x.prior), state(x.config), state(x.planned)) {
			got = append(got, v.String())
		}
		if text := strings.Join(got, "; "); want == "" && text != "" || !strings.HasPrefix(text, want) {
			t.Errorf("%q: got %q", want, text)
		}
	}
	// A provider may treat two spellings as equal, and keeps the one that is there.
	if bad := typ.CheckPlan(state(`{"name":"A"}`), state(`{"name":"a"}`),
		state(`{"name":"A"}`)); bad != nil {
		t.Error(bad)
	}
	unknown := state(`{"name":"a"}`).AsValueMap()
	unknown["id"] = cty.UnknownVal(cty.String)
	planned := cty.ObjectVal(unknown)
	for want, actual := range map[string]cty.Value{
		"":                                     state(`{"name":"a","id":"1"}`),
		"name: the value is not the planned":   state(`{"name":"b","id":"1"}`),
		"id: the value is unknown after":       planned,
		"the object does not exist":            typ.Null(),
		"rule: the number of elements is not ": state(`{"name":"a","id":"1","rule":[{"port":1}]}`),
	} {
		bad := typ.CheckApply(planned, actual)
		if want == "" && bad != nil || want != "" &&
			(len(bad) != 1 || !strings.HasPrefix(bad[0].String(), want)) {
			t.Errorf("%q: got %v", want, bad)
		}
	}
}
