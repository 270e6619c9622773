package schema

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func fileType() Type {
	return Type{
		Name: "fs::File", Description: "A file.",
		Attributes: []Attribute{
			{Name: "path", Type: "Pattern[/\\A\\//]", Behaviour: Namevar,
				Description: "Where it is."},
			{Name: "content", Type: "String"},
			{Name: "mode", Type: "Optional[Pattern[/\\A[0-7]{3,4}\\z/]]", Default: "0644"},
			{Name: "owner", Type: "Optional[String[1]]"},
			{Name: "size", Type: "Integer", Behaviour: ReadOnly},
			{Name: "tries", Type: "Integer[1,10]", Behaviour: Parameter, Default: 3},
			{Name: "password", Type: "Optional[Sensitive[String[8]]]"},
			{Name: "pin", Type: "Optional[Integer[1000,9999]]", Sensitive: true},
			{Name: "anything", Type: "Optional[Any]"},
		},
		Features: []string{"batch", "facts"},
	}
}

func compiled(t testing.TB, types ...Type) *Compiled {
	t.Helper()
	r, err := NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	c, ok := r.Type(types[0].Name)
	if !ok {
		t.Fatalf("%s is not registered", types[0].Name)
	}
	return c
}

func TestRegistry(t *testing.T) {
	other := fileType()
	other.Name = "fs::Directory"
	r, err := NewRegistry(fileType(), other)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{"fs::Directory", "fs::File"}) {
		t.Errorf("Names = %v", got)
	}
	for name, want := range map[string]string{"fs::Fil": "fs::File", "FS::file": "fs::File",
		"fs::Dirctory": "fs::Directory", "net::Interface": "", "": ""} {
		if got := r.Nearest(name); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
	}
	if _, ok := r.Type("fs::Nope"); ok {
		t.Error("an unknown type is found")
	}
	c, _ := r.Type("fs::File")
	if got := c.Namevars(); !slices.Equal(got, []string{"path"}) {
		t.Errorf("Namevars = %v", got)
	}
	if a, ok := c.Attribute("password"); !ok || !a.Sensitive || !a.DataType.Optional() ||
		a.DataType.String() != "Optional[Sensitive[String[8]]]" {
		t.Errorf("password is %+v", a)
	}
	if !c.Attributes[6].Sensitive || fileType().Attributes[6].Sensitive {
		t.Error("what holds Sensitive is not sensitive in the compiled type, or the definition " +
			"was changed")
	}
	if a, _ := c.Attribute("tries"); a.Default != int64(3) {
		t.Errorf("the default is %#v, want a value", a.Default)
	}
	if got := c.Nearest("paht"); got != "path" {
		t.Errorf("Nearest(paht) = %q", got)
	}
}

// Every error of every definition is found in one go.
func TestDefinitionErrors(t *testing.T) {
	bad := Type{
		Name: "File", Timeout: -time.Second,
		Features: []string{"canonicalize", "batch", "batch", "zzz"},
		Attributes: []Attribute{
			{Name: "path", Type: "Strng"},
			{Name: "path", Type: "String", Behaviour: "namvar"},
			{Name: "set", Type: "String"},
			{Name: "a-b", Type: "String"},
			{Name: "", Type: "String", Behaviour: "xxxxxxxxxx"},
			{Name: "port", Type: "Integer[0,65535]", Default: "80"},
			{Name: "state", Type: "Integer", Behaviour: ReadOnly, Default: 1},
			{Name: "fn", Type: "Any", Default: func() {}},
			{Name: "secret", Type: "Sensitive[String]", Default: "hunter2"},
			{Name: "pin", Type: "Integer", Sensitive: true, Default: "topsecret"},
		},
		Aliases: map[string]string{"lower": "String", "String": "Integer", "A::B": "A::C",
			"A::C": "A::B", "Bad": "Integer[", "Port": "Integer[0,65535]"},
	}
	bad.Transports = []string{"ssh", "Net Conf", "http", "http", "*"}
	names := Type{Name: "x::Names", Attributes: []Attribute{
		{Name: "list", Type: "Array[String]", Behaviour: Namevar},
		{Name: "pass", Type: "String", Behaviour: Namevar, Sensitive: true},
		{Name: "key", Type: "Sensitive[String]", Behaviour: Namevar},
	}, Aliases: map[string]string{"Port": "Integer[1,65535]"}}
	_, err := NewRegistry(bad, names, names)
	problems, ok := err.(diag.Problems)
	if !ok {
		t.Fatalf("NewRegistry = %v", err)
	}
	want := []string{
		`File: the alias "String" cannot be a name, or is one of the language`,
		`File: the alias "lower" cannot be a name, or is one of the language`,
		`x::Names: the alias Port is Integer[1,65535] here and Integer[0,65535] in File`,
		`it stands for itself: A::B is A::C is A::B`,
		`File: the alias Bad: read data type: expected`,
		`File: "File" is not a type name`,
		`File: the timeout is negative`,
		`File: unknown feature "canonicalize"`,
		`File: the feature "batch" is there twice`,
		`File: unknown feature "zzz"`,
		`File: over ssh handlers run on the machine, and the type is not about one`,
		`File: "Net Conf" is not a name of a transport`,
		`File: the transport "http" is there twice`,
		`File: the transport "*" includes all others`,
		`File: path: read data type: "Strng" is neither a type nor an alias at column 1`,
		`File: path: the attribute is declared twice`,
		`File: path: unknown behaviour "namvar"`,
		`File: set: the name "set" is reserved`,
		`File: a-b: "a-b" is not a name for an attribute`,
		`File: "" is not a name for an attribute`,
		`unknown behaviour "xxxxxxxxxx"`,
		`File: port: the default is not of the attribute's type: expected an Integer between 0 and 65535, got the string "80"`,
		`File: state: a read_only attribute is never set`,
		`File: fn: the default is not a value`,
		`File: secret: the default is not of the attribute's type: expected a secret`,
		`File: pin: the default is not of the attribute's type: expected an Integer, got a string`,
		`File: no attribute names the resource`,
		`x::Names: list: a naming attribute is a scalar, and Array[String] has none`,
		`x::Names: pass: a naming attribute is shown everywhere`,
		`x::Names: key: a naming attribute is shown everywhere`,
		`x::Names: the type is registered twice`,
	}
	text := problems.Error()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no problem says %q", w)
		}
	}
	if strings.Contains(text, "hunter2") || strings.Contains(text, "topsecret") {
		t.Error("the value of a sensitive default is shown")
	}
	hints := ""
	for _, p := range problems {
		hints += p.Hint + "\n"
	}
	for _, w := range []string{`did you mean "canonicalise"?`, `did you mean "String"?`,
		`did you mean "namevar"?`, "features are canonicalise, batch",
		"write it without quotes: 80"} {
		if !strings.Contains(hints, w) {
			t.Errorf("no hint says %q", w)
		}
	}
	if t.Failed() {
		t.Log("\n" + text)
	}
}

// TestCheckPurged needs of what must not exist only what names it, and holds what else is said to
// its type.
func TestCheckPurged(t *testing.T) {
	t.Parallel()
	r, err := NewRegistry(Type{Name: "t::T", Attributes: []Attribute{
		{Name: "path", Type: "String[1]", Behaviour: Namevar}, {Name: "target", Type: "String[1]"},
		{Name: "mode", Type: "String", Default: "0644"},
		{Name: "size", Type: "Optional[Integer]"}, {Name: "a", Type: "Optional[String]"},
		{Name: "b", Type: "Optional[String]"}},
		Rules: []Rule{{Kind: ExactlyOneOf, Attributes: []string{"a", "b"}}},
		Validate: func(a map[string]any) []diag.Problem {
			problems := []diag.Problem{{Attribute: "target", Message: "never right"}}
			if !strings.HasPrefix(a["path"].(string), "/") {
				problems = append(problems, diag.Problem{Attribute: "path",
					Message: "not absolute"})
			}
			if a["mode"] == "0000" {
				_ = a["target"].(string) // what is missing is not reckoned with
			}
			return problems
		}})
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := r.Type("t::T")
	for _, c := range []struct {
		attributes map[string]any
		want       string
	}{
		{map[string]any{"path": "/x"}, ""},
		{map[string]any{"path": "/x", "mode": "0000"}, ""},
		{map[string]any{"path": "x"}, "path: not absolute"},
		{map[string]any{"path": "/x", "target": "y"}, "target: never right"},
		{map[string]any{"path": "/x", "target": 1.5}, "target: expected a String"},
		{map[string]any{"path": "/x", "target": nil}, "target: expected a String"},
		{map[string]any{"path": "/x", "size": "y", "szie": int64(1)}, "size: expected an Integer"},
		{map[string]any{"target": "y"}, "path: the attribute is missing"},
	} {
		got, problems := typ.CheckPurged(c.attributes)
		if c.want == "" && (len(problems) > 0 || got["mode"] == nil) ||
			c.want != "" && !strings.Contains(diag.Problems(problems).Error(), c.want) {
			t.Errorf("%v: %v, %v, want %q", c.attributes, got, problems, c.want)
		}
	}
}

func TestReached(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why  string
		of   Type
		over string // the transports, of all there are
	}{
		{"no declaration", Type{}, "local"},
		{"on a machine", Type{Machine: true}, "local ssh"},
		{"an API", Type{Transports: []string{"http"}}, "http"},
		{"one of a pack", Type{Transports: []string{"netconf", "http"}}, "http netconf"},
		{"anywhere", Type{Transports: []string{AnyTransport}}, "local http postgresql aws netconf"},
		{"anywhere, and on machines", Type{Transports: []string{AnyTransport}, Machine: true},
			"local ssh http postgresql aws netconf"},
	} {
		var got []string
		for _, name := range []string{"local", "ssh", "http", "postgresql", "aws", "netconf"} {
			if c.of.Reached(name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.over {
			t.Errorf("%s: over %v, want %s", c.why, got, c.over)
		}
	}
	if !(&Type{}).Reached("") || (&Type{Transports: []string{"http"}}).Reached("") {
		t.Error("no transport is not local")
	}
}

func TestAliases(t *testing.T) {
	typ := Type{Name: "x::Y", Attributes: []Attribute{
		{Name: "name", Type: "String", Behaviour: Namevar},
		{Name: "ports", Type: "Array[Stdlib::Port]"}, {Name: "maybe", Type: "Maybe"},
	}, Aliases: map[string]string{"Stdlib::Port": "Stdlib::Number",
		"Stdlib::Number": "Integer[0,65535]", "Maybe": "Optional[Stdlib::Port]"}}
	c := compiled(t, typ)
	a, _ := c.Attribute("ports")
	if a.DataType.String() != "Array[Stdlib::Port]" {
		t.Errorf("the type prints %s", a.DataType)
	}
	if _, problems := c.Check(map[string]any{"name": "a", "ports": []any{int64(80)}}); len(
		problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	_, problems := c.Check(map[string]any{"name": "a", "ports": []any{int64(70000)}})
	const out = "item 1: expected an Integer between 0 and 65535, got the integer 70000"
	if len(problems) != 1 || problems[0].Message != out {
		t.Errorf("problems: %v", problems)
	}
	if _, err := NewRegistry(Type{Name: "x::Y",
		Attributes: []Attribute{{Name: "n", Type: "Stdlib::Prot", Behaviour: Namevar}},
		Aliases:    map[string]string{"Stdlib::Port": "Integer"}}); err == nil ||
		err.(diag.Problems)[0].Hint != `did you mean "Stdlib::Port"?` {
		t.Errorf("an unknown alias: %v", err)
	}
}

func TestCompiledCheck(t *testing.T) {
	c := compiled(t, fileType())
	good := map[string]any{"path": "/a", "content": "x", "owner": nil, "anything": nil}
	out, problems := c.Check(good)
	want := map[string]any{"path": "/a", "content": "x", "mode": "0644", "tries": int64(3)}
	if len(problems) > 0 || !resource.Equal(any(out), any(want)) {
		t.Errorf("Check = %v, %v, want %v", out, problems, want)
	}
	if len(good) != 4 {
		t.Error("Check changed its argument")
	}
	if out, problems := c.Check(map[string]any{"path": "/a", "content": "x", "mode": nil,
		"tries": nil}); len(problems) > 0 || !resource.Equal(any(out), any(want)) {
		t.Errorf("null gets the default: %v, %v", out, problems)
	}
	refs := map[string]any{"path": "/a", "content": resource.File{Hash: "x"},
		"mode": resource.Parameter{Name: "m"}, "tries": resource.Fact{Name: "f", Of: "x"},
		"password": resource.Secret{Source: "env:A"}, "pin": int64(1234)}
	if _, problems := c.Check(refs); len(problems) > 0 {
		t.Errorf("references are refused: %v", problems)
	}
}

func TestCompiledCheckRefuses(t *testing.T) {
	c := compiled(t, fileType())
	tests := map[string]struct {
		attr    string
		v       any
		message string
		hint    string
	}{
		"Unknown": {"onwer", "a", `fs::File has no attribute "onwer"`,
			`did you mean "owner"?`},
		"Stranger": {"xxxxxxxx", "a", `fs::File has no attribute "xxxxxxxx"`,
			"it has path, content, mode, owner, size, tries, password, pin, anything"},
		"ReadOnly": {"size", int64(1), "the attribute is only reported, it cannot be set",
			"leave it out"},
		"Null": {"content", nil, "expected a String, got nothing (null)",
			"write a value, or leave it out to get the default"},
		"Mode": {"mode", int64(420),
			`expected a String that matches /\A[0-7]{3,4}\z/, got the integer 420`,
			`write it in quotes, such as "0644", so that it is text`},
		"NameEmpty": {"path", "", `expected a String that matches /\A\//, got the empty string`,
			""},
		"NameNUL": {"path", "/a\x00",
			`the attribute names the resource: expected text that is not empty, or a number, got the string "/a\x00"`, ""},
		"NameNull": {"path", nil,
			`the attribute is missing and names the resource: expected a String that matches /\A\//`, "add path"},
		"NameParameter": {"path", resource.Parameter{Name: "p"},
			`the attribute names the resource: expected a String that matches /\A\//, got a reference`, "write the value itself"},
		"SecretLiteral": {"password", "hunter2hunter2",
			"expected a secret, which is a String of at least 8 characters, got a string",
			`write {secret: "env:NAME"} or another source, so that the value itself is stored nowhere`},
		"SecretFile": {"password", resource.File{},
			"expected a secret, which is a String of at least 8 characters, got a file", ""},
		"SensitiveText": {"pin", "4711", "expected an Integer between 1000 and 9999, got a string",
			"write it without quotes"},
		"SensitiveInt": {"pin", int64(99),
			"expected an Integer between 1000 and 9999, got an integer", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			attrs := map[string]any{"path": "/a", "content": "x"}
			attrs[tc.attr] = tc.v
			_, problems := c.Check(attrs)
			if len(problems) != 1 || problems[0].Attribute != tc.attr ||
				problems[0].Message != tc.message || problems[0].Hint != tc.hint {
				t.Errorf("Check: %+v\nwant %s (%s)", problems, tc.message, tc.hint)
			}
		})
	}
	if _, problems := c.Check(nil); len(problems) != 2 || problems[0].Attribute != "path" ||
		problems[1].Message != "the attribute is missing: expected a String" {
		t.Errorf("nothing at all: %v", problems)
	}
	order := map[string]any{"zz": 1, "aa": 1, "pin": "x", "content": int64(1)}
	var got []string
	_, problems := c.Check(order)
	for _, p := range problems {
		got = append(got, p.Attribute)
	}
	if want := []string{"path", "content", "pin", "aa", "zz"}; !slices.Equal(got, want) {
		t.Errorf("problems of %v, want %v", got, want)
	}
}

// The mandatory rule: an attribute may be left out when its outermost type is Optional or it has a
// default, not when null happens to fit.
func TestMandatory(t *testing.T) {
	for expr, missing := range map[string]bool{"Optional[String]": false,
		"Variant[Data,String]": true, "Any": true, "String": true} {
		c := compiled(t, Type{Name: "x::Y",
			Attributes: []Attribute{{Name: "n", Type: "String", Behaviour: Namevar},
				{Name: "a", Type: expr}}})
		if _, problems := c.Check(map[string]any{"n": "x"}); (len(problems) > 0) != missing {
			t.Errorf("%s left out: %v", expr, problems)
		}
		out, problems := c.Check(map[string]any{"n": "x", "a": nil})
		if _, kept := out["a"]; expr != "String" && (len(problems) > 0 || kept != missing) {
			t.Errorf("%s null: %v, %v", expr, out, problems)
		}
	}
}

func TestValidateIsCalledLast(t *testing.T) {
	typ := fileType()
	calls := 0
	typ.Validate = func(attributes map[string]any) []diag.Problem {
		calls++
		if attributes["mode"] != "0644" {
			t.Errorf("attributes without defaults: %v", attributes)
		}
		return []diag.Problem{{Attribute: "owner", Message: "no"}}
	}
	c := compiled(t, typ)
	if _, problems := c.Check(map[string]any{"path": "/a"}); calls != 0 || len(problems) != 1 {
		t.Errorf("called %d times, %v", calls, problems)
	}
	if _, problems := c.Check(map[string]any{"path": "/a", "content": "x"}); calls != 1 ||
		len(problems) != 1 || problems[0].Message != "no" {
		t.Errorf("called %d times, %v", calls, problems)
	}
}

// Whatever is wrong with a sensitive attribute, no part of its value is in a message or hint.
func TestSensitiveValuesAreNeverShown(t *testing.T) {
	const secret = "hunter2"
	exprs := []string{
		"Integer", "Boolean", "Float", "Enum[hunter3]", "Pattern[/x/]", "String[100]",
		"Array[Integer]", "Array[String]", "Hash[String,Integer]",
		"Struct[{a => Integer}]",
		"Struct[{a => Integer, hunter3 => Any}]", "Tuple[Integer]",
		"Variant[Integer,Array[Integer]]", "Timestamp",
		"Struct[{a => Sensitive[Integer]}]", "Sensitive[Struct[{a => Integer}]]",
	}
	values := []any{
		secret, []any{secret}, map[string]any{secret: secret}, map[string]any{"a": secret},
		map[string]any{"a": []any{secret}}, []any{map[string]any{secret: int64(1)}},
		int64(77123477), 77123477.5, map[string]any{"a": int64(77123477)},
	}
	for _, expr := range exprs {
		declared := compiled(t, Type{Name: "x::Y",
			Attributes: []Attribute{{Name: "n", Type: "String", Behaviour: Namevar},
				{Name: "a", Type: expr, Sensitive: true}}})
		for _, v := range values {
			_, problems := declared.Check(map[string]any{"n": "x", "a": v})
			texts := fmt.Sprint(problems)
			for _, p := range problems {
				texts += p.Hint
			}
			if strings.Contains(expr, "Sensitive") {
				if err := parse(t, expr).Check(v); err != nil {
					texts += err.Error() + fault.HintOf(err)
				}
			}
			if strings.Contains(texts, secret) || strings.Contains(texts, "77123477") {
				t.Errorf("%s: %v is shown: %s", expr, v, texts)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"path", "content", "mode", "owner", "group", "requires"}
	for name, want := range map[string]string{
		"paht": "path", "Path": "path", "contents": "content", "mod": "mode", "ownr": "owner",
		"require": "requires", "grp": "", "x": "", "zzzzzz": "", "": "",
		strings.Repeat("a", 1000): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", name, got, want)
		}
	}
}

// Floats that are no numbers are in no range.
func TestFloatSpecials(t *testing.T) {
	for _, v := range []any{math.Inf(1), math.NaN()} {
		if err := parse(t, "Float[0.0, 1.0]").Check(v); err == nil {
			t.Errorf("%v is accepted", v)
		}
	}
}

// Aliases that stand for several of the one before grow fast when they are written out, as schemas
// and descriptions do.
func TestAliasBomb(t *testing.T) {
	aliases := map[string]string{"A0": "Integer"}
	for i := 1; i <= 40; i++ {
		aliases[fmt.Sprintf("A%d", i)] = fmt.Sprintf("Tuple[A%d, A%[1]d, A%[1]d]", i-1)
	}
	_, err := NewRegistry(Type{Name: "x::Y",
		Attributes: []Attribute{{Name: "n", Type: "String", Behaviour: Namevar},
			{Name: "a", Type: "A40"}}, Aliases: aliases})
	if err == nil || !strings.Contains(err.Error(), "stands for more than 5000 types") {
		t.Errorf("error %v", err)
	}
}
