package schema

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	"southbound/shared/resource"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validator makes a schema ready to be used.
func validator(t *testing.T, s any) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", asJSON(t, s)); err != nil {
		t.Fatal(err)
	}
	out, err := c.Compile("s.json")
	if err != nil {
		text, _ := json.Marshal(s)
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

func asJSON(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// unsaid reports whether JSON Schema cannot tell some values of a type from others of their kind.
func (d *DataType) unsaid() bool {
	switch d.kind {
	case kindTimestamp, kindSensitive:
		return true
	}
	for _, o := range d.of {
		if o.unsaid() {
			return true
		}
	}
	for i := range d.members {
		if d.members[i].typ.unsaid() {
			return true
		}
	}
	return false
}

// plain reports whether a value reads the same in JSON: numbers with and without a fraction are
// told apart there by nobody.
func plain(v any) bool {
	switch v := v.(type) {
	case float64:
		return v != math.Trunc(v)
	case int64, *big.Int:
		return false
	case []any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !plain(e) {
				return false
			}
		}
	}
	return true
}

func numbers(d *DataType) bool {
	text := d.expansion()
	return strings.Contains(text, "Float") || strings.Contains(text, "Integer")
}

// What Check accepts the schema accepts, and what JSON Schema can tell it refuses like Check.
func TestSchemaAgreesOnValues(t *testing.T) {
	t.Parallel()
	exprs := []string{
		"Any", "String[2, 3]", "Enum['a', 'B']", "Integer[-5, 18446744073709551615]",
		"Float[-0.5, 1.5]", "Numeric", "Boolean", "Boolean[true]", "Data",
		"Array", "Array[Integer, 1, 2]", "Tuple[String, Integer]", "Tuple[String, Boolean, 1, 3]",
		"Hash[String[1, 1], Boolean]", "Hash[Enum[a, b], String, 1, 1]", "Hash[Pattern[/^a/], Any]",
		"Struct[{a => String, Optional[b] => Boolean, c => Any}]",
		"Variant[Boolean, Enum[a], Array[String]]", "Optional[Struct[{'value' => String}]]",
		"Timestamp", "Array[Array[Array[Boolean]]]",
		`Pattern[/\A[0-7]{3,4}\z/]`, "Pattern[/^a.b$/]", `Pattern[/\Aa\Z/]`, `Pattern[/^(a|^b)$/]`,
		"Pattern[/^$/]", "Pattern[/(?i)a-b|\\/[x\\-z\\]]/]", `Pattern[/\A[^[:space:]]+\z/]`,
		`Pattern[/\b\w+\b \B/]`, `Pattern[/\A(?:[^\/\0]+\/)*\z/]`,
		`Pattern[/(?m)a.b/, /\$[.^]{2,}?/]`,
		`Pattern[/\A[[:alpha:]]+\z/]`, `Pattern[/\A\h+[\s\S]?\z/]`, `Pattern[/^a{2,1200}$/]`,
		`Pattern[/é+|[à-ü]/]`, `Pattern[/(?i)straße|K/]`, `Pattern[/\A(?:a\Z|b)/]`,
		`Pattern[/x|\n^y/]`,
	}
	for i, pair := range samples(t) {
		if i%10 == 3 {
			exprs = append(exprs, pair[0])
		}
	}
	values := []any{
		nil, true, false, "", "a", "A", "b", "B", "ab", "a-b", "A.B", "STRASSE", "straße", "KİI",
		"kii", "\u212a", "aa", "aaa", strings.Repeat("a", 1300), "a\n", "a\nb", "x\na.b\ny", "aXb",
		"a b", "a/b/", "0644", "\x00", "\n", "/y", "/]", "$.^", "é", "x\ny", "10.0.0.1", "present",
		"word word ",
		int64(0), int64(1), int64(-6), int64(math.MaxInt64), new(big.Int).Lsh(big.NewInt(1), 64),
		0.5, -0.7, 1e300, "1", "true",
		[]any{}, []any{"a"}, []any{"a", int64(1)}, []any{"a", true, false},
		[]any{"a", true, true, true}, []any{int64(1), int64(2), int64(3)},
		[]any{[]any{[]any{true}}}, []any{nil},
		map[string]any{}, map[string]any{"a": "x"}, map[string]any{"a": "x", "b": true},
		map[string]any{"a": "x", "b": nil}, map[string]any{"a": true}, map[string]any{"b": true},
		map[string]any{"a": "x", "c": nil, "d": "e"}, map[string]any{"ab": true},
		map[string]any{"": true},
	}
	checked := 0
	for _, expr := range exprs {
		d := parse(t, expr)
		literal, document := validator(t, d.JSONSchema()), validator(t, d.inDocument())
		edges := d.Edges()
		all := append(append([]any{}, values...), edges[:min(len(edges), 8)]...)
		for _, v := range all {
			if holds(v, "value", "secret") {
				continue // the document wraps it, below
			}
			accepted, json := d.accepts(v, authored), asJSON(t, v)
			for name, s := range map[string]*jsonschema.Schema{"the schema": literal,
				"the schema in documents": document} {
				err := s.Validate(json)
				checked++
				switch {
				case accepted && err != nil:
					t.Errorf("%s: %v is accepted, and %s refuses it: %v", expr,
						describeValue(v, true), name, err)
				case !accepted && err == nil && !d.unsaid() && (plain(v) || !numbers(d)) &&
					!multiline(d, v):
					t.Errorf("%s: %v is refused, and %s accepts it", expr, describeValue(v, true),
						name)
				}
			}
			if err := document.Validate(asJSON(t, map[string]any{"value": v})); accepted &&
				err != nil {
				t.Errorf("%s: {value: %v} is refused: %v", expr, describeValue(v, true), err)
			}
		}
		for _, reference := range []map[string]any{{"secret": "env:A"},
			{"secret": "env:A", "version": int64(1)}, {"parameter": "p"},
			{"fact": "f", "of": "a::B[c,d=e]"}} {
			if err := document.Validate(asJSON(t, reference)); err != nil {
				t.Errorf("%s: %v is refused: %v", expr, reference, err)
			}
		}
	}
	if checked < 5000 {
		t.Errorf("only %d values were checked", checked)
	}
}

// holds reports whether a map has one of the members.
func holds(v any, names ...string) bool {
	m, _ := v.(map[string]any)
	for _, n := range names {
		if _, ok := m[n]; ok {
			return true
		}
	}
	return false
}

// multiline reports whether a text of several lines is held against a pattern, for which the schema
// accepts more.
func multiline(d *DataType, v any) bool {
	text, _ := json.Marshal(v)
	return strings.Contains(d.expansion(), "Pattern") && bytes.Contains(text, []byte(`\n`))
}

func TestJSONSchema(t *testing.T) {
	tests := map[string]string{
		"String[1,5]":                            `{"maxLength":5,"minLength":1,"type":"string"}`,
		"Integer[0, 18446744073709551615]":       `{"maximum":18446744073709551615,"minimum":0,"type":"integer"}`,
		"Enum[b,a]":                              `{"enum":["a","b"]}`,
		"Pattern[/^a\\/b$/]":                     `{"pattern":"(^|\\n)a\\/b($|\\n)","type":"string"}`,
		"Pattern[/\\Aa/, 'b*']":                  `{"anyOf":[{"pattern":"^a"},{"pattern":"b*"}],"type":"string"}`,
		"Boolean[true]":                          `{"const":true}`,
		"Optional[Boolean]":                      `{"anyOf":[{"type":"boolean"},{"type":"null"}]}`,
		"Float[0.5]":                             `{"minimum":0.5,"type":"number"}`,
		"Struct[{a => Any, Optional[b] => Any}]": `{"additionalProperties":false,"properties":{"a":{},"b":{}},"required":[],"type":"object"}`,
		"Tuple[Any]":                             `{"items":{},"maxItems":1,"minItems":1,"prefixItems":[{}],"type":"array"}`,
		"Hash[String,Any]":                       `{"additionalProperties":{},"propertyNames":{"type":"string"},"type":"object"}`,
		"Array[Any,1]":                           `{"minItems":1,"type":"array"}`,
		"Any":                                    `{}`,
	}
	for expr, want := range tests {
		if got, err := json.Marshal(parse(t, expr).JSONSchema()); err != nil ||
			string(got) != want {
			t.Errorf("%s: %s, %v\nwant %s", expr, got, err, want)
		}
	}
	got := compiled(t, fileType()).JSONSchema()
	if want := []any{"path", "content"}; !slices.Equal(got["required"].([]any), want) {
		t.Errorf("required are %v, want %v", got["required"], want)
	}
	properties := got["properties"].(map[string]any)
	if _, ok := properties["size"]; ok || len(properties) != 8 {
		t.Errorf("properties are %v", properties)
	}
	if p := properties["path"].(map[string]any); p["description"] != "Where it is." {
		t.Errorf("path is %v", p)
	}
	if text, err := json.Marshal(properties["content"]); err != nil ||
		!strings.Contains(string(text), `"file"`) {
		t.Errorf("content takes no file: %s, %v", text, err)
	}
}

func BenchmarkCheck(b *testing.B) {
	c := compiled(b, fileType())
	attrs := map[string]any{"path": "/srv/site/index.html", "content": resource.File{Hash: "x"},
		"mode": "0644", "owner": "www"}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := c.Check(attrs); len(problems) > 0 {
			b.Fatal(problems)
		}
	}
}

func BenchmarkParseDataType(b *testing.B) {
	all := samples(b)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := ParseDataType(all[i%len(all)][0]); err != nil {
			b.Fatal(err)
		}
	}
}
