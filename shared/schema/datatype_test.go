package schema

import (
	"encoding/json"
	"math"
	"math/big"
	"os"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// parse is for expressions that are right.
func parse(t testing.TB, expr string) *DataType {
	t.Helper()
	d, err := ParseDataType(expr)
	if err != nil {
		t.Fatalf("ParseDataType(%s): %v", expr, err)
	}
	return d
}

// samples returns the expressions of published Puppet modules with the normal form in which Puppet
// prints them.
func samples(t testing.TB) [][2]string {
	t.Helper()
	text, err := os.ReadFile("testdata/puppet-types.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var out [][2]string
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		fields := strings.Split(line, "\t")
		var pair [2]string
		for i := range pair {
			if err := json.Unmarshal([]byte(fields[2+i]), &pair[i]); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
		}
		out = append(out, pair)
	}
	return out
}

func TestPublishedTypes(t *testing.T) {
	// Puppet forgets what Sensitive holds when it prints an expression. That loses a constraint, so
	// ours does not.
	mended := map[string]string{
		"Optional[Struct[{'user' => String[1], 'password' => Sensitive[String]}]]": "Optional[Struct[{'user' => String[1], 'password' => Sensitive[String[1]]}]]",
	}
	values := []any{nil, true, "present", "", int64(0), 1.5, []any{}, []any{"a", int64(1)},
		map[string]any{}, map[string]any{"user": "a"}, resource.Secret{Source: "env:A"}}
	for _, pair := range samples(t) {
		d, err := ParseDataType(pair[0])
		if err != nil {
			t.Errorf("%s: %v", pair[0], err)
			continue
		}
		want := pair[1]
		if m, ok := mended[want]; ok {
			want = m
		}
		if d.String() != want {
			t.Errorf("%s\nprints %s\n  want %s", pair[0], d, want)
		}
		if again := parse(t, d.String()); again.String() != d.String() {
			t.Errorf("%s reads back as %s", d, again)
		}
		if strings.HasPrefix(want, "Optional[") != d.Optional() {
			t.Errorf("%s: Optional() = %t", want, d.Optional())
		}
		if _, err := json.Marshal(d.JSONSchema()); err != nil || d.Describe() == "" {
			t.Errorf("%s: schema %v, description %q", want, err, d.Describe())
		}
		for _, v := range values {
			if err := d.Check(v); err != nil && !strings.Contains(err.Error(), "expected") &&
				!strings.Contains(err.Error(), "did you mean") {
				t.Errorf("%s: the error for %v does not say what was expected: %v", want, v, err)
			}
		}
	}
}

func TestNormalForm(t *testing.T) {
	tests := map[string]string{
		"String[0]": "String", "String[-3]": "String", "String[default]": "String",
		"String[default, 5]": "String[0, 5]", "String[3]": "String[3]",
		"String[2,default]": "String[2]",
		"Integer[default]":  "Integer", "Integer[default, 5]": "Integer[default, 5]",
		"Integer[5, default]": "Integer[5]", "Integer[0x1F, 0100]": "Integer[31, 64]",
		"Integer[-5,-1]":                   "Integer[-5, -1]",
		"Integer[0, 18446744073709551615]": "Integer[0, 18446744073709551615]",
		"Float[1]":                         "Float[1.0]", "Float[-0.5, 1e3]": "Float[-0.5, 1000.0]",
		"Float[default,2]": "Float[default, 2.0]", "Float[1e-7, 1.5e+30]": "Float[1e-07, 1.5e+30]",
		"Enum[b,a,'b']": "Enum['a', 'b']",
		"Enum['It\\'s', \"a\\nb\", reset-client,]": `Enum['It\'s', "a\nb", 'reset-client']`,
		"Pattern['^a/b$', /c/]":                    `Pattern[/^a\/b$/, /c/]`,
		"Variant[Integer]":                         "Integer",
		"Variant[Integer, String, Integer]":        "Variant[Integer, String]",
		"Optional['x']":                            "Optional['x']",
		"Sensitive":                                "Sensitive",
		"Sensitive[String[1]]":                     "Sensitive[String[1]]",
		"Array[Any]":                               "Array", "Array[1]": "Array[1]", "Array[Any, 1, 2]": "Array[1, 2]",
		"Array[String, 0, default]": "Array[String]", "Array[0,0]": "Array[0, 0]",
		"Hash[String, Any]": "Hash[String, Any]", "Hash[1,2]": "Hash[1, 2]",
		"Hash[String,Integer,1]":    "Hash[String, Integer, 1]",
		"Tuple[String, Integer]":    "Tuple[String, Integer]",
		"Tuple[String, 0, default]": "Tuple[String, 0]", "Tuple[String, 1, 1]": "Tuple[String]",
		"Tuple[String, 1]": "Tuple[String, 1]", "Tuple": "Tuple",
		"Struct[{}]": "Struct[{}]",
		"Struct[{Optional[a] => Any, Optional[d] => String}]": "Struct[{'a' => Any, " +
			"Optional['d'] => String}]",
		"Boolean[true]": "Boolean[true]", "Timestamp": "Timestamp",
		"Optional[\n  Array[\n\tString,\r\n 1]\n]": "Optional[Array[String, 1]]",
		// What follows is how modules write: comments, pairs without braces, words without quotes,
		// signs apart, a line that goes on.
		"Struct[{ # what\n a => /* sort */ String, # of\n}]": "Struct[{'a' => String}]",
		"Struct[a => String, Optional[b] => Integer,]": "Struct[{'a' => String, " +
			"Optional['b'] => Integer}]",
		"Enum[a::b, c-d]": "Enum['a::b', 'c-d']", "Optional[x]": "Optional['x']",
		"Pattern[a]":               "Pattern[/a/]",
		"Integer[- 5, 0XbB]":       "Integer[-5, 187]",
		"Enum[\"a\\\nb\"]":         "Enum['ab']",
		`Enum['a\b', 'c\\', '\'']`: `Enum['\'', 'a\b', 'c\\']`,
		"Variant[Variant[String, Integer], Integer, Optional[Variant[String, Boolean]]]": "Variant[String, Integer, Optional[Variant[String, Boolean]]]",
		"Data": "Data", "Any": "Any", "Numeric": "Numeric",
	}
	for expr, want := range tests {
		t.Run(expr, func(t *testing.T) {
			d := parse(t, expr)
			if d.String() != want {
				t.Errorf("%s prints %s, want %s", expr, d, want)
			}
			if again := parse(t, d.String()); again.String() != d.String() {
				t.Errorf("%s reads back as %s", d, again)
			}
		})
	}
}

func TestParseDataTypeRefuses(t *testing.T) {
	tests := map[string]struct{ expr, want string }{
		"Empty":     {"", "capital letter at column 1"},
		"LowerCase": {"string", "capital letter at column 1"},
		"EmptyBrackets": {"String[]",
			"expected a parameter; without any, leave the brackets out at column 8"},
		"Open":       {"Array[String", "expected , or ] at column 13"},
		"More":       {"String String", "expected nothing more at column 8"},
		"Pipe":       {"Enum[a|b]", "expected , or ] at column 7"},
		"Arithmetic": {"Integer[1+2]", "column 10"},
		"CommaFirst": {"Enum[,a]", "column 6"},
		"Unknown": {"Optional[Strng]",
			`"Strng" is neither a type nor an alias at column 10`},
		"Alias": {"Stdlib::Port", `"Stdlib::Port" is neither a type nor an alias`},
		"CommentOpen": {"Array[String /* a",
			"the comment that starts here has no end, at column 14"},
		"Undef":          {"Enum[a, undef]", "undef is not a word, at column 9"},
		"PairsAndMore":   {"Struct[a => String, Integer]", "expected => and a type at column 28"},
		"Inverted":       {"Integer[5,1]", "5 is above 1"},
		"InvertedFloat":  {"Float[5,1]", "5 is above 1"},
		"InvertedString": {"String[5,1]", "the range is empty"},
		"StringText":     {"String['x']", "expected a number of characters"},
		"StringNegative": {"String[-5,-1]", "a size is not negative"},
		"ThreeNumbers":   {"Integer[1,2,3]", "expected no more parameters at column 13"},
		"IntegerFloat":   {"Integer[1.5]", "expected an integer or default"},
		"Octal":          {"Integer[08]", `"08" is not a valid number`},
		"Underscore":     {"Integer[1_000]", `"1_000" is not a valid number`},
		"FloatPoint":     {"Float[1.]", `"1." is not a valid number`},
		"FloatHuge":      {"Float[1e999]", "is not a valid number"},
		"NumericRange":   {"Numeric[1]", "Numeric has no parameters"},
		"AnyParameter":   {"Any[1]", "Any has no parameters"},
		"EnumBare":       {"Enum", "Enum needs the words"},
		"EnumCapital": {"Enum[Present]",
			"expected a word in lower case or a string in quotes at column 6"},
		"EnumNumber":  {"Enum[1]", "expected a word or a string"},
		"EnumFlag":    {"Enum[a, true]", "expected a word"},
		"EnumDefault": {"Enum[default]", "expected a word"},
		"PatternBare": {"Pattern", "Pattern needs"},
		"PatternType": {"Pattern[String]", "expected a /regular expression/"},
		"PatternOpen": {"Pattern[/ab]", "has no end"},
		"PatternAhead": {"Pattern[/a(?=b)/]",
			"a look ahead (?=…), which cannot be run fast on every text"},
		"PatternBack":    {`Pattern[/(a)\1/]`, "a back reference"},
		"PatternBroken":  {"Pattern[/(/]", "a group has no end"},
		"OptionalBare":   {"Optional", "Optional needs a type"},
		"OptionalTwo":    {"Optional[String,Integer]", "expected no more parameters at column 17"},
		"OptionalWord":   {"Optional[string]", "expected a type"},
		"SensitiveText":  {"Sensitive['x']", "expected a type"},
		"VariantBare":    {"Variant", "Variant needs the types"},
		"VariantText":    {"Variant['a']", "expected a type"},
		"BooleanWord":    {"Boolean[maybe]", "expected true or false"},
		"ArrayTwo":       {"Array[String,String]", "expected a size"},
		"ArrayNegative":  {"Array[String,-1]", "a size is not negative"},
		"HashOne":        {"Hash[String]", "Hash needs the types of its keys and of its values"},
		"HashThree":      {"Hash[String,String,String]", "expected a size"},
		"StructBare":     {"Struct", "Struct needs its keys"},
		"StructList":     {"Struct[String]", "expected one {key => Type"},
		"StructArrow":    {"Struct[{a: String}]", "expected => and a type"},
		"StructTwice":    {"Struct[{a => String, 'a' => String}]", `the key "a" is there twice`},
		"StructKey":      {"Struct[{1 => String}]", "expected a key"},
		"StructEmptyKey": {"Struct[{'' => String}]", "expected a key"},
		"TupleSize":      {"Tuple[1]", "expected a type"},
		"StringEnd":      {"Enum['a]", "the string that starts here has no end, at column 6"},
		"Interpolation":  {`Enum["a${b}"]`, "a variable"},
		"BadUnicode":     {`Enum["\u12"]`, "hex digits"},
		"Surrogate":      {`Enum["\ud800"]`, "hex digits"},
		"NotUTF8":        {"Enum['\xff']", "not UTF-8"},
		"TimeRange":      {"Timestamp['2026-02-01T00:00:00Z']", "Timestamp has no parameters"},
		"HashKeys":       {"Hash[Integer, Any]", "the keys of documents are text, at column 6"},
		"StructWord":     {"Struct[{a => string}]", "expected a type at column 14"},
		"TupleWord":      {"Tuple[integer]", "expected a type at column 7"},
		"NotOurs":        {"SemVer", `"SemVer" is neither a type nor an alias`},
		"NotOursWith":    {"Callable[String]", `"Callable" is neither a type nor an alias`},
		"Lines":          {"Optional[\n  Enum[\n    Foo]]", "at line 3, column 5"},
		"Deep": {strings.Repeat("Array[", 60) + "Any" + strings.Repeat("]", 60),
			"more than 50 levels"},
		"Long": {"Enum['" + strings.Repeat("a", maxExpression) + "']", "longer than"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d, err := ParseDataType(tc.expr)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ParseDataType(%.60s) = %v, %v, want %q", tc.expr, d, err, tc.want)
			}
		})
	}
	for expr, hint := range map[string]string{
		"Optional[Strng]": `did you mean "String"?`, "Struct[{a => string}]": `did you mean "String"?`,
		"Callable": "there are Any, Array, Boolean, Data, Enum, Float, Hash, Integer, Numeric, " +
			"Optional, Pattern, Sensitive, String, Struct, Timestamp, Tuple, Variant",
	} {
		if _, err := ParseDataType(expr); fault.HintOf(err) != hint {
			t.Errorf("%s: the hint is %q", expr, fault.HintOf(err))
		}
	}
}

func TestCheck(t *testing.T) {
	list := func(v ...any) []any { return append([]any{}, v...) }
	hash := func(kv ...any) map[string]any {
		m := map[string]any{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1]
		}
		return m
	}
	huge, _ := new(big.Int).SetString("18446744073709551615", 10)
	huger := new(big.Int).Add(huge, big.NewInt(1))
	tests := []struct {
		reason string
		expr   string
		good   []any
		bad    []any
	}{
		{"Any takes every value, and only values", "Any",
			list(nil, true, "a", int64(1), 1.5, huge, list(), hash()),
			list(5, []string{"a"}, (*big.Int)(nil))},
		{"a literal", "Optional['x']", list("x", nil), list("y", "")},
		{"String counts characters, not bytes", "String[1,3]",
			list("a", "äöü", "\U0001F600\U0001F600\U0001F600"),
			list("", "abcd", int64(1), nil, true)},
		{"String takes no number", "String", list("", "1"),
			list(int64(1), 1.5, true, nil, list("a"))},
		{"Integer takes no float, not even a whole one", "Integer",
			list(int64(math.MinInt64), huge), list(1.0, "1", true, nil)},
		{"one parameter is the minimum", "Integer[5]", list(int64(5), huge), list(int64(4))},
		{"an open start", "Integer[default,5]", list(int64(5), int64(math.MinInt64)),
			list(int64(6), huge)},
		{"beyond int64", "Integer[0, 18446744073709551615]",
			list(int64(0), int64(math.MaxInt64), huge), list(int64(-1), huger)},
		{"wholly beyond int64", "Integer[18446744073709551615, 18446744073709551615]", list(huge),
			list(int64(math.MaxInt64), huger)},
		{"wholly below int64", "Integer[default, -18446744073709551616]",
			list(new(big.Int).Neg(huger)), list(int64(math.MinInt64), new(big.Int).Neg(huge))},
		{"Float takes no integer", "Float[0.5, 2]", list(0.5, 2.0),
			list(int64(1), 0.4, 2.1, math.NaN())},
		{"Numeric takes both", "Numeric", list(int64(1), 1.5, huge), list("1", true)},
		{"Boolean", "Boolean", list(true, false), list("true", int64(1), nil)},
		{"Boolean of one value", "Boolean[false]", list(false), list(true)},
		{"Enum knows case", "Enum[a, 'B']", list("a", "B"), list("A", "b", "", nil)},
		{"Pattern searches anywhere", "Pattern[/b+/]", list("abc"), list("ac", int64(1))},
		{"^ and $ stand at lines", "Pattern[/^b$/]", list("b", "a\nb\nc", "b\n"), list("ab")},
		{`\A and \z stand at the ends`, `Pattern[/\Ab\z/]`, list("b"), list("a\nb", "b\n")},
		{`\Z allows a last line break`, `Pattern[/\Ab\Z/]`, list("b", "b\n"),
			list("b\n\n", "b\nc")},
		{"several patterns are alternatives", "Pattern[/^a$/, /^b$/]", list("a", "b"), list("c")},
		{"Optional is undef or the type", "Optional[Integer]", list(nil, int64(1)), list("a")},
		{"Variant takes what one member takes", "Variant[Integer, Enum[a]]", list(int64(1), "a"),
			list("b", nil)},
		{"Array", "Array", list(list(), list(nil, "a")), list("a", hash(), nil)},
		{"Array with items and size", "Array[Integer,1,2]",
			list(list(int64(1)), list(int64(1), int64(2))),
			list(list(), list("a"), list(int64(1), int64(2), int64(3)))},
		{"Array of a size", "Array[1]", list(list(nil)), list(list())},
		{"Tuple has a type for each item", "Tuple[String, Integer]", list(list("a", int64(1))),
			list(list("a"), list("a", "b"), list("a", int64(1), int64(2)))},
		{"the last type of a Tuple repeats", "Tuple[String, Integer, 1, 3]",
			list(list("a"), list("a", int64(1), int64(2))),
			list(list(), list("a", int64(1), "b"), list("a", int64(1), int64(2), int64(3)))},
		{"bare Tuple is any list", "Tuple", list(list(), list("a")), list("a")},
		{"Hash", "Hash", list(hash(), hash("a", nil)), list(list(), "a")},
		{"Hash checks keys and values", "Hash[Pattern[/^a/], Integer, 1]",
			list(hash("a", int64(1))), list(hash(), hash("b", int64(1)), hash("a", "x"))},
		{"Struct knows its keys",
			"Struct[{a => String, Optional[b] => String, c => Optional[String]}]",
			list(hash("a", "x"), hash("a", "x", "b", "y", "c", nil)),
			list(hash(), hash("a", nil), hash("a", "x", "b", nil), hash("a", "x", "d", "y"))},
		{"a key whose type accepts undef may be absent", "Struct[{a => Any}]",
			list(hash(), hash("a", nil)), list(hash("b", nil))},
		{"an empty Struct", "Struct[{}]", list(hash()), list(hash("a", "b"))},
		{"Data is all that JSON has", "Data", list(nil, "a", list(nil), hash("a", list())),
			list(5)},
		{"of Sensitive the plain value, once it is resolved", "Sensitive[String[1]]", list("a"),
			list("", int64(1), nil)},
		{"Timestamp", "Timestamp", list("2026-01-01T00:00:00Z", "2026-06-01T02:00:00.5+02:00"),
			list("2026-01-01", "yesterday", "", int64(1))},
		{"secrets, parameters and facts fit everywhere", "Integer",
			list(resource.Secret{Source: "env:A"}, resource.Parameter{Name: "a"},
				resource.Fact{Name: "a", Of: "b"}), nil},
		{"inside too", "Array[Struct[{a => Boolean}]]",
			list(list(hash("a", resource.Parameter{Name: "a"}), resource.Secret{Source: "env:A"})),
			nil},
		{"a file is text", "Optional[Variant[Integer, String[1,5]]]", list(resource.File{}), nil},
		{"a file is not a number, and no secret",
			"Variant[Integer, Enum[a], Array[String], Sensitive[String]]", nil,
			list(resource.File{})},
	}
	for _, tc := range tests {
		t.Run(tc.expr, func(t *testing.T) {
			d := parse(t, tc.expr)
			for _, v := range tc.good {
				if err := d.Check(v); err != nil {
					t.Errorf("%s: %#v is refused: %v", tc.reason, v, err)
				}
			}
			for _, v := range tc.bad {
				if err := d.Check(v); !fault.Is(err, fault.Invalid) {
					t.Errorf("%s: %#v is accepted by %s: %v", tc.reason, v, d, err)
				}
			}
		})
	}
}

func TestCheckSaysWhatIsWrong(t *testing.T) {
	tests := map[string]struct {
		expr string
		v    any
		want string
		hint string
	}{
		"IntegerText": {"Integer[0,65535]", "80",
			`expected an Integer between 0 and 65535, got the string "80"`,
			"write it without quotes: 80"},
		"IntegerTooLarge": {"Integer[0,65535]", int64(70000),
			"expected an Integer between 0 and 65535, got the integer 70000", ""},
		"IntegerWhole": {"Integer", 80.0, "expected an Integer, got the float 80.0",
			"write it without a fraction: 80"},
		"FloatInteger": {"Float", int64(5), "expected a Float, got the integer 5",
			"write it with a fraction: 5.0"},
		"TextInteger": {"Optional[String]", int64(420),
			"expected a String, got the integer 420",
			`write it in quotes, such as "0644", so that it is text`},
		"TextBoolean": {"Enum[yes,no]", false,
			`expected one of "no" and "yes", got the Boolean false`,
			`write it in quotes, such as "yes" or "true", so that it is text`},
		"TextFloat": {"Pattern[/^1/]", 1000.0,
			"expected a String that matches /^1/, got the float 1000.0",
			`write it in quotes, such as "1.10", so that it is text`},
		"BooleanText": {"Boolean", "yes", `expected a Boolean, got the string "yes"`,
			"write it as a Boolean, without quotes: true"},
		"EnumSpelling": {"Enum[present,absent]", "presnt",
			`expected one of "absent" and "present", got the string "presnt"`,
			`did you mean "present"?`},
		"Length": {"String[8]", "short",
			`expected a String of at least 8 characters, got the string "short"`, ""},
		"Empty": {"String[1]", "",
			"expected a String of at least 1 character, got the empty string", ""},
		"Null": {"String", nil, "expected a String, got nothing (null)",
			"write a value, or leave it out to get the default"},
		"ListWanted": {"Array[String]", "a", `expected an Array of String, got the string "a"`,
			"write it as a list: ['a']"},
		"Item": {"Array[Integer]", []any{int64(1), "2"},
			`item 2: expected an Integer, got the string "2"`, "write it without quotes: 2"},
		"Size": {"Array[Integer,1,2]", []any{},
			"expected an Array of Integer with 1 to 2 items, got a list of 0 items", ""},
		"Key": {"Hash[String,Integer]", map[string]any{"a": "b"},
			`"a": expected an Integer, got the string "b"`, ""},
		"KeyForm": {"Hash[Pattern[/^a/],Any]", map[string]any{"b": "c"},
			`a key: expected a String that matches /^a/, got the string "b"`, ""},
		"Unknown": {"Struct[{user => String}]", map[string]any{"user": "a", "usr": "b"},
			`there is no key "usr", did you mean "user"?`, ""},
		"Missing": {"Struct[{user => String, Optional[x] => String}]", map[string]any{},
			`"user" is missing: expected a String`, ""},
		"Deep": {"Hash[String,Array[Struct[{port => Integer}]]]",
			map[string]any{"a": []any{map[string]any{"port": "x"}}},
			`"a": item 1: "port": expected an Integer, got the string "x"`, ""},
		"Variant": {"Variant[Integer[0,7],String[1]]", 1.5,
			"expected an Integer between 0 and 7 or a String of at least 1 character, got the " +
				"float 1.5",
			`write it in quotes, such as "1.10", so that it is text`},
		"VariantList": {"Variant[Enum[all], Array[Integer]]", []any{"a"},
			`item 1: expected an Integer, got the string "a"`, ""},
		"LongValue": {"Integer", strings.Repeat("x", 100),
			`expected an Integer, got the string "` + strings.Repeat("x", 40) + `…"`, ""},
		"File": {"Integer", resource.File{}, "expected an Integer, got a file", ""},
		"NoValue": {"Integer", 5, "expected an Integer, got a int, which is not a value",
			""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := parse(t, tc.expr).Check(tc.v)
			if err == nil || err.Error() != tc.want || fault.HintOf(err) != tc.hint {
				t.Errorf("Check: %v (%s)\n want: %s (%s)", err, fault.HintOf(err), tc.want, tc.hint)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	tests := map[string]string{
		"Integer[5,5]": "the Integer 5", "Integer[1]": "an Integer of at least 1",
		"Integer[default,9]":              "an Integer of at most 9",
		"Float[0.5,1.5]":                  "a Float between 0.5 and 1.5",
		"String[3,3]":                     "a String of exactly 3 characters",
		"String[0,5]":                     "a String of at most 5 characters",
		"Boolean[true]":                   "the Boolean true",
		"Enum[a]":                         `"a"`,
		"Array[1]":                        "an Array with at least 1 item",
		"Hash[String,Integer]":            "a Hash of String to Integer",
		"Struct[{}]":                      "a Hash with nothing in it",
		"Struct[{a => String, b => Any}]": "a Hash with a and any of b",
		"Sensitive[String]":               "a secret, which is a String", "Data": "data",
		"Tuple[String,Integer]":                "an Array of String, Integer with exactly 2 items",
		"Optional[Integer]":                    "an Integer",
		"Timestamp":                            "a time such as 2026-01-31T12:00:00Z",
		"Enum[a,b,c,d,e,f,g,h,i,j,k,l,m,n,o]":  `one of "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l" and 3 more`,
		"Pattern[/^a$/,/b/]":                   "a String that matches /^a$/ or /b/",
		"Variant[Integer,Array[Integer[0,1]]]": "an Integer or an Array of Integer[0, 1]",
	}
	for expr, want := range tests {
		if got := parse(t, expr).Describe(); got != want {
			t.Errorf("%s is %q, want %q", expr, got, want)
		}
	}
}
