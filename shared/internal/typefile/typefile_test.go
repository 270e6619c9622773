package typefile

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

const vlan = `southbound_type: 1
name: net::Vlan
description: A VLAN of a switch.
attributes:
  - {name: switch, type: "String[1]", behaviour: namevar, description: the switch it is on}
  - {name: tag, type: "Net::Tag", behaviour: namevar, description: its number}
  - {name: label, type: "Optional[String[1, 32]]", description: what it is for}
  - {name: number, type: "Optional[Integer]", default: 0x10}
  - {name: password, type: String, sensitive: true, one_line: true}
  - {name: mode, type: "Enum[access, trunk]", default: access}
titles:
  - {pattern: '\A(?<switch>.+)/(?<tag>\d+)\z', description: switch/tag}
relations:
  - {kind: require, type: "net::Switch", title: $switch}
  - {kind: notify, type: "net::Rule", keys: {name: "$label"}, agent: $switch}
rules:
  - {exactly_one_of: [label, password]}
  - {all_of: [label], if: mode, is: [trunk], message: a trunk has a label}
aliases: {"Net::Tag": "Integer[1, 4094]"}
features: [batch]
timeout: 1m30s
assigned: true
machine: true
code: [validate]
metadata: {owner: net, file: x, value: {value: [1, 2.0, null, "5"]}}
`

func vlanType() schema.Type {
	return schema.Type{
		Name: "net::Vlan", Description: "A VLAN of a switch.",
		Attributes: []schema.Attribute{
			{Name: "switch", Type: "String[1]", Behaviour: schema.Namevar,
				Description: "the switch it is on"},
			{Name: "tag", Type: "Net::Tag", Behaviour: schema.Namevar, Description: "its number"},
			{Name: "label", Type: "Optional[String[1, 32]]", Description: "what it is for"},
			{Name: "number", Type: "Optional[Integer]", Default: int64(16)},
			{Name: "password", Type: "String", Sensitive: true, OneLine: true},
			{Name: "mode", Type: "Enum[access, trunk]", Default: "access"},
		},
		Titles: []schema.TitlePattern{{Pattern: `\A(?<switch>.+)/(?<tag>\d+)\z`,
			Description: "switch/tag"}},
		Relations: []schema.Relation{
			{Kind: schema.Require, Type: "net::Switch", Titles: []string{"$switch"}},
			{Kind: schema.Notify, Type: "net::Rule", Keys: map[string]string{"name": "$label"},
				Agent: "$switch"},
		},
		Rules: []schema.Rule{
			{Kind: schema.ExactlyOneOf, Attributes: []string{"label", "password"}},
			{Kind: schema.AllOf, Attributes: []string{"label"}, If: "mode", Is: []any{"trunk"},
				Message: "a trunk has a label"},
		},
		Aliases: map[string]string{"Net::Tag": "Integer[1, 4094]"}, Features: []string{"batch"},
		Timeout: 90 * time.Second, Assigned: true, Machine: true,
		Code: []string{"validate"},
		Metadata: map[string]any{"owner": "net", "file": "x",
			"value": map[string]any{"value": []any{int64(1), 2.0, nil, "5"}}},
	}
}

// same compares declarations; what is code is left out.
func same() cmp.Options {
	return cmp.Options{
		cmpopts.IgnoreFields(schema.Type{}, "Validate", "Relations", "Gather", "Gathers", "At"),
		cmpopts.EquateEmpty(),
		cmp.Comparer(func(a, b *big.Int) bool { return a.Cmp(b) == 0 }),
	}
}

func TestParse(t *testing.T) {
	got := One("vlan.yaml", []byte(vlan))
	if d := cmp.Diff(vlanType(), got, same()); d != "" {
		t.Error(d)
	}
	if _, err := schema.NewRegistry(got); err != nil {
		t.Error(err)
	}
	if at := got.At("tag").String(); at != "vlan.yaml:6:5" {
		t.Errorf("tag stands at %s", at)
	}
}

// TestRoundTrip writes and reads what is awkward to write.
func TestRoundTrip(t *testing.T) {
	huge, _ := new(big.Int).SetString("18446744073709551616", 10)
	types := []schema.Type{vlanType(), {Name: "x::Y"},
		{Name: "x::Odd", Description: "a: b # c\n\n  d\n", Attributes: []schema.Attribute{
			{Name: "yes", Type: "Variant[Enum['no', \"o'n\"],Pattern[/\\A\\/\\n\\Z/]]",
				Behaviour: schema.Namevar, Description: "- x"},
		}}}
	for i, v := range []any{
		"yes", "0644", "", " a ", "null", "~", "a\nb\n", "\x1b\u2028", "1e3", "<<", "=", "!x", "*x",
		int64(-5), huge, 1.5, 5.0, 1e30, 1e-7, math.MaxFloat64, true, false, []any{},
		map[string]any{},
		[]any{"no", nil, []any{int64(1)}}, map[string]any{"file": "x"},
		map[string]any{"value": map[string]any{"value": "x"}},
		map[string]any{"yes": "no", "1": int64(1)},
		resource.Secret{Source: "env:A", Version: "1"}, resource.Parameter{Name: "p"},
		map[string]any{"a": resource.Fact{Name: "f", Of: "x::Y[a,b=c]"}},
		"2024-01-01", "12:30:45", "0o17", "0b1", "1_000", ".5", "+1", "-", "y", "on", "a: b",
		"a #b", "{", "[", "'", `"`, "%", "@", "`", "é🙂", "\t", "\r\n", "line\n  indented\n", "\n",
	} {
		types = append(types, schema.Type{Name: fmt.Sprintf("x::V%d", i),
			Attributes: []schema.Attribute{{Name: "a", Type: "Any", Default: v}},
			Metadata:   map[string]any{"v": []any{"x", fmt.Sprint(v)}}})
	}
	for i := range types {
		for format, write := range map[string]func(*schema.Type) ([]byte, error){"yaml": YAML,
			"json": JSON} {
			text, err := write(&types[i])
			if err != nil {
				t.Errorf("%s as %s: %v", types[i].Name, format, err)
				continue
			}
			if d := cmp.Diff(types[i], One("x", text), same()); d != "" {
				t.Errorf("%s as %s: %s\n%s", types[i].Name, format, d, text)
			}
		}
	}
}

// TestCodeIsNamed says what does not travel.
func TestCodeIsNamed(t *testing.T) {
	typ := schema.Type{Name: "x::Y", Validate: func(map[string]any) []diag.Problem { return nil },
		Relations: []schema.Relation{
			{Kind: schema.Require, Type: "x::Y",
				Names: func(map[string]any) []map[string]any { return nil }}}}
	text, err := YAML(&typ)
	if err != nil || !strings.Contains(string(text), "code: [relations, validate]") {
		t.Errorf("%s, %v", text, err)
	}
}

// head starts a declaration on three lines.
const head = "southbound_type: 1\nname: x::Y\nattributes: [{name: n, type: String, behaviour: " +
	"namevar}]\n"

func TestMistakes(t *testing.T) {
	for _, tc := range []struct{ why, text, want, hint string }{
		{"nothing", "", "x.yaml: there is no declaration in the text",
			"a declaration starts with `southbound_type: 1`"},
		{"no YAML", "a: [", "x.yaml:2:1: this is not valid YAML", "check this line"},
		{"not a map", "[a]", "x.yaml:1:1: a declaration is a map", ""},
		{"no format", strings.TrimPrefix(head, "southbound_type: 1\n"),
			"x::Y: the declaration lacks its format", "add `southbound_type: 1`"},
		{"another format", strings.Replace(head, "1", "2", 1),
			"x.yaml:1:18: x::Y: the format is not known", "format 1"},
		{"no name", "southbound_type: 1\nattributes: []\n", "the type has no name", "net::Vlan"},
		{"no attributes", "southbound_type: 1\nname: x::Y\n", "x::Y: the type has no attributes",
			"namevar"},
		{"attributes as text", "southbound_type: 1\nname: x::Y\nattributes: a\n",
			"x.yaml:3:13: x::Y: attributes is a list, or a map by name", "write it such as"},
		{"an attribute as text", "southbound_type: 1\nname: x::Y\nattributes: {n: String}\n",
			"x.yaml:3:17: x::Y: n: an attribute is a map", ""},
		{"no type", head + "x: 1\nattributes2: 1\n",
			`x.yaml:4:1: x::Y: a declaration has no member "x"`, "there are southbound_type"},
		{"an attribute without a type",
			"southbound_type: 1\nname: x::Y\nattributes: {n: {behaviour: namevar}}\n",
			"x.yaml:3:17: x::Y: n: the attribute has no type", "String"},
		{"a null type",
			"southbound_type: 1\nname: x::Y\nattributes: {n: {type: , behaviour: namevar}}\n",
			"the type of an attribute is empty", ""},
		{"a name of another system", head + "desc: x\n", `a declaration has no member "desc"`,
			"it is called description"},
		{"a misspelt relation", head + "autorequires: {file: $n}\n", `no member "autorequires"`,
			"write it under relations, with kind: require"},
		{"a misspelt member", head + "feature: []\n", `no member "feature"`,
			`did you mean "features"?`},
		{"twice", head + "name: x::Z\n", `x.yaml:4:1: x::Y: "name" is there twice`, ""},
		{"features as text", head + "features: batch\n", "features is a list", "[a, b]"},
		{"titles as text", head + "titles: a\n", "titles is a list", ""},
		{"a title of no pattern", head + "titles: [{description: a}]\n", "the title has no pattern",
			""},
		{"a rule of two kinds", head + "rules: [{exactly_one_of: [a, b], none_of: [c]}]\n",
			"a rule demands one thing", "two rules"},
		{"a rule of none", head + "rules: [{if: a}]\n", "the rule demands nothing",
			"there are exactly_one_of"},
		{"a timeout", head + "timeout: 5\n", "the timeout is a duration", ""},
		{"a flag", head + "assigned: yes\n", "assigned is true or false", ""},
		{"behaviour as a number",
			"southbound_type: 1\nname: x::Y\nattributes: {n: {type: String, behaviour: 1}}\n",
			"n: the behaviour is text", "quotes"},
		{"a default in octal",
			"southbound_type: 1\nname: x::Y\nattributes: {n: {type: Integer, default: 010}}\n",
			"can be read in more than one way", "quotes"},
		{"what is wrong with what it declares has its place",
			head + "titles: [{pattern: '(?<m>a)'}]\n",
			`x.yaml:4:10: x::Y: title pattern 1: the group "m" is not an attribute`, ""},
		{"and so has an attribute",
			"southbound_type: 1\nname: x::Y\nattributes:\n" +
				"  - {name: n, type: Strin, behaviour: namevar}\n",
			`x.yaml:4:5: x::Y: n: read data type: "Strin" is neither`, `did you mean "String"?`},
		{"an alias of YAML", head + "metadata: {a: &a 1, b: *a}\n", "aliases are not read here",
			"write it out"},
		{"two where one is expected", head + "---\n" + head, "expected one declaration", ""},
	} {
		t.Run(tc.why, func(t *testing.T) {
			_, err := schema.NewRegistry(One("x.yaml", []byte(tc.text)))
			problems, ok := err.(diag.Problems)
			if !ok {
				t.Fatalf("error %v", err)
			}
			hints := ""
			for _, p := range problems {
				hints += p.Hint + "\n"
			}
			if !strings.Contains(problems.Error(), tc.want) || !strings.Contains(hints, tc.hint) {
				t.Errorf("%v\n%s\nwant %s (%s)", problems, hints, tc.want, tc.hint)
			}
		})
	}
}

func TestAllAtOnce(t *testing.T) {
	types := Parse("x.yaml",
		[]byte(
			head+
				"---\nsouthbound_type: 1\nname: x::Z\n"+
				"attributes: {a: {type: Strng}, b: {type: Integer, default: a}}\n"))
	if len(types) != 2 {
		t.Fatalf("%d types", len(types))
	}
	_, err := schema.NewRegistry(types...)
	if problems, ok := err.(diag.Problems); !ok || len(problems) != 3 {
		t.Errorf("problems: %v", err)
	}
	if got := One("x.json",
		[]byte(
			`{"southbound_type":1,"name":"x::Y","relations":{"require":{"x::Z":["$a","b"]},"before":{"x::Q":"c"}}}`)).
		Relations; !reflect.DeepEqual(got, []schema.Relation{
		{Kind: "require", Type: "x::Z", Titles: []string{"$a", "b"}},
		{Kind: "before", Type: "x::Q", Titles: []string{"c"}},
	}) {
		t.Errorf("relations: %+v", got)
	}
}

// FuzzParse reads anything, and what is right comes back as it was.
func FuzzParse(f *testing.F) {
	f.Add([]byte(vlan))
	f.Add([]byte(head))
	f.Add(
		[]byte(
			`{"southbound_type":1,"name":"x::Y","attributes":{"a":{"type":"String","behaviour":"namevar","default":"yes"}}}`))
	f.Add(
		[]byte(
			"southbound_type: 1\nname: \"a\\x85\\u2028\"\nmetadata: {a: ~, ? b : !!binary aGk=}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, typ := range Parse("x", text) {
			if _, err := schema.NewRegistry(typ); err != nil {
				continue
			}
			for _, write := range []func(*schema.Type) ([]byte, error){YAML, JSON} {
				out, err := write(&typ)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(typ, One("x", out), same()); d != "" {
					t.Fatalf("%s\n%s", d, out)
				}
			}
		}
	})
}

// Whatever part of a declaration is wrong, the problem says where it stands, and what is misspelt
// is read as what was meant.
func TestPlaces(t *testing.T) {
	text := `southbound_type: 1
name: x::Y
attributes:
  - {name: n, type: String, behaviour: namevar}
  - {name: pоrt, type: String}
  - {name: "n\0l", type: String}
  - {name: c, type: "Strіng"}
  - {typ: Strng}
  - {name: "", type: Integr}
titles: ['\A(?<n>.)\z', '(?<m>.)']
relations:
  require: {x::Y: $n, x::Z: $m}
  before:
    x::Z: $o
rules:
  - {exactly_one_of: [n, q]}
  - {exactly_one_off: [n]}
aliases:
  A::B: String
  A::C: "Array[A::C]"
  lower: String
  A::D: 5
features: [batch, bath, supports_noop]
timeout: 5
`
	want := []string{
		`x.yaml:5:5: x::Y: pоrt: "pоrt" is not a name for an attribute (a letter, then letters, digits and _; "\u043e" is none of these)`,
		`x.yaml:6:5: x::Y: "n\x00l" is not a name for an attribute (a letter, then letters, digits and _; "\x00" is none of these)`,
		`x.yaml:7:5: x::Y: c: read data type: expected nothing more, got "\u0456" at column 4 of "Strіng" ()`,
		`x.yaml:8:5: x::Y: attribute_5: read data type: "Strng" is neither a type nor an alias at column 1 of "Strng" (did you mean "String"?)`,
		`x.yaml:8:5: x::Y: the attribute has no name (add ` + "`name:`" + `)`,
		`x.yaml:8:6: x::Y: an attribute has no member "typ" (did you mean "type"?)`,
		`x.yaml:9:12: x::Y: the name of an attribute is empty (write it)`,
		`x.yaml:9:5: x::Y: attribute_6: read data type: "Integr" is neither a type nor an alias at column 1 of "Integr" (did you mean "Integer"?)`,
		`x.yaml:10:25: x::Y: title pattern 2: the group "m" is not an attribute of the type (naming attributes are n)`,
		`x.yaml:12:23: x::Y: relation 2 (require x::Z): $m is not an attribute of the type, in "$m" (it has n, c, attribute_5, attribute_6)`,
		`x.yaml:14:5: x::Y: relation 3 (before x::Z): $o is not an attribute of the type, in "$o" (it has n, c, attribute_5, attribute_6)`,
		`x.yaml:16:5: x::Y: q: rule 1: the type has no such attribute (the type has n, c, attribute_5, attribute_6)`,
		`x.yaml:17:5: x::Y: rule 2: it needs two or more attributes ()`,
		`x.yaml:17:6: x::Y: a rule has no member "exactly_one_off" (did you mean "exactly_one_of"?)`,
		`x.yaml:20:9: x::Y: the alias A::C: read data type: the alias A::C: it stands for itself: A::C is A::C; at column 7 of "Array[A::C]" ()`,
		`x.yaml:21:10: x::Y: the alias "lower" cannot be a name, or is one of the language (names like Stdlib::Port: capital letters first, joined by ::)`,
		`x.yaml:22:9: x::Y: A::D of aliases is text (put it in quotes)`,
		`x.yaml:23:19: x::Y: unknown feature "bath" (did you mean "batch"?)`,
		`x.yaml:23:25: x::Y: unknown feature "supports_noop" (did you mean "noop"?)`,
		`x.yaml:24:10: x::Y: the timeout is a duration (write a number with its unit, such as 30s or 5m)`,
	}
	_, err := schema.NewRegistry(One("x.yaml", []byte(text)))
	problems, _ := err.(diag.Problems)
	var got []string
	for _, p := range problems {
		got = append(got, p.String()+" ("+p.Hint+")")
	}
	slices.Sort(got)
	slices.Sort(want)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
