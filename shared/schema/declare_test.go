package schema

import (
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func packageType() Type {
	return Type{
		Name: "x::Package", Description: "Software.",
		Attributes: []Attribute{
			{Name: "package", Type: "String[1]", Behaviour: Namevar, Description: "its name"},
			{Name: "manager", Type: "Enum[apt, gem, yum]", Behaviour: Namevar, Default: "apt",
				Description: "who has it"},
		},
		Titles: []TitlePattern{
			{Pattern: `^(?<package>.*[^-])-(?<manager>.*)$`,
				Description: "package and manager, joined by a hyphen"},
			{Pattern: `^(?<package>[a-z]+)$`, Description: "package"},
		},
	}
}

func TestReadTitle(t *testing.T) {
	vlan := Type{Name: "x::Vlan", Attributes: []Attribute{{Name: "tag", Type: "Integer[1,4094]",
		Behaviour: Namevar}, {Name: "name", Type: "Optional[String]"}}}
	for name, tc := range map[string]struct {
		typ     Type
		title   string
		want    map[string]any
		message string
	}{
		"the most specific pattern comes first": {packageType(), "php-gem",
			map[string]any{"package": "php", "manager": "gem"}, ""},
		"a pattern may leave a naming attribute open": {packageType(), "php",
			map[string]any{"package": "php"}, ""},
		"no pattern": {packageType(), "PHP", nil, `read title: "PHP" is not a title of x::Package`},
		"the text is none of the attribute's": {packageType(), "php-npm", nil,
			`read title: manager in the title: expected one of "apt", "gem" and "yum", got the string "npm"`},
		"without patterns the first naming attribute, as a number": {vlan, "0x10",
			map[string]any{"tag": int64(16)}, ""},
		"a number with a leading zero": {vlan, "010", nil,
			`read title: tag in the title: expected an Integer between 1 and 4094, got the string "010"`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := compiled(t, tc.typ).ReadTitle(tc.title)
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if tc.message == "" && err != nil ||
				tc.message != "" && (err == nil || err.Error() != tc.message) {
				t.Errorf("ReadTitle: %v", err)
			}
		})
	}
	_, err := compiled(t, packageType()).ReadTitle("PHP")
	if hint := fault.HintOf(err); !strings.Contains(hint,
		"package and manager, joined by a hyphen (/") {
		t.Errorf("the hint is %q", hint)
	}
}

func TestCoerce(t *testing.T) {
	huge, _ := new(big.Int).SetString("18446744073709551615", 10)
	for _, tc := range []struct {
		expr, text string
		want       any // nil: refused
		why        string
	}{
		{"Integer", "+5", int64(5), "a sign"},
		{"Integer", " 12 ", int64(12), "blanks around a number"},
		{"Integer", "- 5", nil, "no blanks inside"},
		{"Integer", "0x1F", int64(31), "hex"},
		{"Integer", "0o17", int64(15), "octal that says so"},
		{"Integer", "010", nil, "8 for some and 10 for others"},
		{"Integer", "08", nil, "no octal number either"},
		{"Integer", "12\nabc", nil, "only the first line is a number"},
		{"Integer", "1e3", nil, "a float"},
		{"Integer", "1_000", nil, "no separators"},
		{"Integer", "", nil, "nothing"},
		{"Integer", "18446744073709551615", huge, "beyond 64 bits"},
		{"Integer[0,9]", "10", nil, "out of range"},
		{"Float", "1", 1.0, "text has no types"},
		{"Float", "1e3", 1000.0, "an exponent"},
		{"Float", "1e999", nil, "no infinity"},
		{"Float", "nan", nil, "no number"},
		{"Numeric", "1", int64(1), "an integer where it can be"},
		{"Variant[Float,Integer]", "1", int64(1), "equal readings are one: the integer"},
		{"Boolean", "true", true, ""},
		{"Boolean", "yes", nil, "a word"},
		{"Boolean[false]", "true", nil, "the other one"},
		{"Optional[Integer]", "7", int64(7), "through Optional"},
		{"Sensitive[Integer]", "7", int64(7), "through Sensitive"},
		{"Variant[Enum[a,b],Pattern[/a/]]", "a", "a", "two readings that agree are one"},
		{"Optional[Variant[String,Integer[10,240]]]", "15", int64(15),
			"what is more than text comes first"},
		{"Optional[Variant[String,Integer[10,240]]]", "5", "5", "text where it is nothing else"},
		{"Variant[Integer,Boolean]", "true", true, "one of several"},
		{"Variant[Integer,Boolean]", "maybe", nil, "none of them"},
		{"String", "12", "12", "text is text"},
		{"Any", "12", "12", "text is text"},
		{"Array[Integer]", "[1, 2]", []any{int64(1), int64(2)}, "JSON"},
		{"Array[Integer]", `["1"]`, nil, "JSON has types"},
		{"Array[String]", "a,b", nil, "no list"},
		{"Struct[{a => Integer}]", `{"a": 1}`, map[string]any{"a": int64(1)}, "JSON"},
		{"Variant[Array[Any],String]", "[1", "[1", "no JSON is text"},
		{"Timestamp", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00Z", "text as it is"},
	} {
		got, err := parse(t, tc.expr).Coerce(tc.text)
		if (err != nil) != (tc.want == nil) || !resource.Equal(got, tc.want) {
			t.Errorf("%s of %q (%s): %v, %v", tc.expr, tc.text, tc.why, got, err)
		}
		if err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s of %q: %v", tc.expr, tc.text, err)
		}
	}
	if _, err := parse(t, "Sensitive[Integer]").Coerce("hunter2"); err == nil ||
		strings.Contains(err.Error()+fault.HintOf(err), "hunter2") {
		t.Errorf("a secret is shown: %v", err)
	}
}

func relatedType(auto ...Relation) Type {
	return Type{
		Name: "x::App", Attributes: []Attribute{
			{Name: "name", Type: "String[1]", Behaviour: Namevar},
			{Name: "source", Type: "Optional[String]"}, {Name: "host", Type: "Optional[String]"},
			{Name: "needs", Type: "Optional[Array[Variant[String,Array[String]]]]"},
			{Name: "ports", Type: "Optional[Array[Integer]]"},
			{Name: "spec", Type: "Optional[Hash]"},
			{Name: "token", Type: "Optional[String]", Sensitive: true},
		}, Relations: auto,
	}
}

func namedTypes() []Type {
	return []Type{
		packageType(),
		{Name: "x::File",
			Attributes: []Attribute{{Name: "path", Type: `Pattern[/\A\//]`, Behaviour: Namevar}}},
		{Name: "x::Rule", Attributes: []Attribute{{Name: "chain", Type: "String[1]",
			Behaviour: Namevar}, {Name: "port", Type: "Integer", Behaviour: Namevar}}},
	}
}

func TestRelated(t *testing.T) {
	attrs := map[string]any{
		"name": "shop", "source": "/srv/shop.tar", "host": "db",
		"needs": []any{"php-gem", []any{"ruby", nil, "NO"}}, "ports": []any{int64(80), int64(443)},
		"spec": map[string]any{"dir": "/etc/shop"},
	}
	for name, tc := range map[string]struct {
		relation Relation
		want     []Related
	}{
		"an attribute": {Relation{Kind: Require, Type: "x::File", Titles: []string{"$source"}},
			[]Related{{Require, "x::File[a,path=/srv/shop.tar]"}}},
		"a constant, read as the other type reads titles": {
			Relation{Kind: Before, Type: "x::Package", Titles: []string{"tar-yum"}},
			[]Related{{Before, "x::Package[a,package=tar,manager=yum]"}}},
		"lists in lists, what is not a title left out": {
			Relation{Kind: Subscribe, Type: "x::Package", Titles: []string{"$needs"}},
			[]Related{{Subscribe, "x::Package[a,package=php,manager=gem]"},
				{Subscribe, "x::Package[a,package=ruby,manager=apt]"}}},
		"a template with a filter": {Relation{Kind: Notify, Type: "x::File",
			Titles: []string{"${source|dir}/conf/${name|upper}"}},
			[]Related{{Notify, "x::File[a,path=/srv/conf/SHOP]"}}},
		"a member": {Relation{Kind: Require, Type: "x::File",
			Titles: []string{"${spec.dir}"}}, []Related{{Require, "x::File[a,path=/etc/shop]"}}},
		"a member that is not there, and an attribute that is not given": {Relation{Kind: Require,
			Type: "x::File", Titles: []string{"${spec.no}", "/x$token"}}, nil},
		"a dollar sign": {Relation{Kind: Require, Type: "x::File", Titles: []string{"/a$$b"}},
			[]Related{{Require, "x::File[a,path=/a$b]"}}},
		"keys, one for each item of a list": {Relation{Kind: Require, Type: "x::Rule",
			Keys: map[string]string{"chain": "in", "port": "$ports"}},
			[]Related{{Require, "x::Rule[a,chain=in,port=443]"},
				{Require, "x::Rule[a,chain=in,port=80]"}}},
		"another agent": {Relation{Kind: Require, Type: "x::File",
			Titles: []string{"/a"}, Agent: "$host"}, []Related{{Require, "x::File[db,path=/a]"}}},
		"a type that is not there": {Relation{Kind: Require, Type: "y::Gone",
			Titles: []string{"$source"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			typ := relatedType(tc.relation)
			if name == "a member that is not there, and an attribute that is not given" {
				typ.Attributes[len(typ.Attributes)-1].Sensitive = false
			}
			r, err := NewRegistry(append(namedTypes(), typ)...)
			if err != nil {
				t.Fatal(err)
			}
			c, _ := r.Type("x::App")
			if d := cmp.Diff(tc.want, c.Related("a", attrs)); d != "" {
				t.Error(d)
			}
			// What is a reference has no text yet.
			if got := c.Related("a", map[string]any{"source": resource.Parameter{Name: "p"}}); len(
				got) > 1 {
				t.Errorf("a reference leads to %v", got)
			}
		})
	}
}

func TestRelationErrors(t *testing.T) {
	for want, r := range map[string]Relation{
		`unknown kind "requires"`: {Kind: "requires", Type: "x::File",
			Titles: []string{"/a"}},
		`"file" is not a name of a type`: {Kind: Require, Type: "file",
			Titles: []string{"/a"}},
		"it names nothing": {Kind: Require, Type: "x::File"},
		"titles and keys": {Kind: Require, Type: "x::Rule",
			Titles: []string{"a"}, Keys: map[string]string{"chain": "a", "port": "1"}},
		"$sorce is not an attribute of the type, in": {Kind: Require, Type: "x::File",
			Titles: []string{"$sorce"}},
		"a $ stands before no attribute": {Kind: Require, Type: "x::File",
			Titles: []string{"/a$"}},
		"a ${ has no }": {Kind: Require, Type: "x::File",
			Titles: []string{"/a${source"}},
		`there is no filter "dri"`: {Kind: Require, Type: "x::File",
			Titles: []string{"${source|dri}"}},
		"an empty member": {Kind: Require, Type: "x::File",
			Titles: []string{"${spec.}"}},
		"sensitive, and an identity is shown": {Kind: Require, Type: "x::File",
			Titles: []string{"$token"}},
		"can be lists": {Kind: Require, Type: "x::Package",
			Titles: []string{"$needs-$ports"}},
		"two of the keys can be lists": {Kind: Require, Type: "x::Rule",
			Keys: map[string]string{"chain": "$needs", "port": "$ports"}},
		`x::Rule is not named by "prot"`: {Kind: Require, Type: "x::Rule",
			Keys: map[string]string{"chain": "a", "prot": "1"}},
		`the key "port" of x::Rule is missing`: {Kind: Require, Type: "x::Rule",
			Keys: map[string]string{"chain": "a"}},
		`x::File can have no title "a"`: {Kind: Require, Type: "x::File",
			Titles: []string{"a"}},
		"an empty text names nothing": {Kind: Require, Type: "x::File",
			Titles: []string{""}},
	} {
		_, err := NewRegistry(append(namedTypes(), relatedType(r))...)
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "x::App: ") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for want, kind := range map[string]RelationKind{
		"it stands there twice, first as relation 1":               Require,
		"the same comes first by relation 1 and later by this one": Notify} {
		_, err := NewRegistry(append(namedTypes(),
			relatedType(Relation{Kind: Require, Type: "x::File", Titles: []string{"$source"}},
				Relation{Kind: kind, Type: "x::File", Titles: []string{"$source"}}))...)
		if err == nil || !strings.Contains(err.Error(),
			"relation 2 ("+string(kind)+" x::File): "+want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	_, err := NewRegistry(append(namedTypes(),
		relatedType(Relation{Kind: Require, Type: "x::File", Titles: []string{"$sorce"}}))...)
	if problems, ok := err.(diag.Problems); !ok || problems[0].Hint != `did you mean "source"?` {
		t.Errorf("the hint: %#v", err)
	}
}

func TestMoreDefinitionErrors(t *testing.T) {
	base := func(change func(t *Type)) Type {
		typ := Type{Name: "x::Y", Attributes: []Attribute{
			{Name: "name", Type: "String", Behaviour: Namevar},
			{Name: "user", Type: "Optional[String]"}, {Name: "key", Type: "Optional[String]"},
			{Name: "size", Type: "Integer", Behaviour: ReadOnly},
			{Name: "mode", Type: "Optional[Enum[a,b]]"},
		}}
		change(&typ)
		return typ
	}
	add := func(a Attribute) func(t *Type) {
		return func(t *Type) { t.Attributes = append(t.Attributes, a) }
	}
	title := func(p string) func(t *Type) {
		return func(t *Type) { t.Titles = []TitlePattern{{Pattern: p}} }
	}
	rule := func(r Rule) func(t *Type) { return func(t *Type) { t.Rules = []Rule{r} } }
	for want, change := range map[string]func(t *Type){
		`title pattern 1: the group "nmae" is not an attribute of the type`: title(`(?<nmae>.*)`),
		`title pattern 1: the group "user" is not a naming attribute`: title(
			`(?<name>.*)-(?<user>.*)`),
		"title pattern 1: it has no named group": title(`(.*)`),
		"title pattern 1: it is empty":           title(``),
		"title pattern 1: the regular expression cannot be used": title(
			`(?<name>(?=a))`),
		"title pattern 2: it stands there twice": func(t *Type) {
			t.Titles = []TitlePattern{{Pattern: "(?<name>a)"}, {Pattern: "(?<name>a)"}}
		},
		`ensure: resources use`: add(
			Attribute{Name: "ensure", Type: "Optional[Enum[present,absent]]"}),
		`the name "title" is reserved`: add(
			Attribute{Name: "title", Type: "String"}),
		"key2: a naming attribute is never missing": add(
			Attribute{Name: "key2", Type: "Optional[String]", Behaviour: Namevar}),
		"secret: a secret that everybody has is none": add(
			Attribute{Name: "secret", Type: "String", Sensitive: true, Default: "a"}),
		"the range is empty: 5 is above 1": add(
			Attribute{Name: "n", Type: "Integer[5,1]"}),
		`"x::Y-z" is not a type name`: func(t *Type) {
			t.Name = "x::Y-z"
		},
		`rule 1: unknown kind "one_of"`: rule(
			Rule{Kind: "one_of", Attributes: []string{"user", "key"}}),
		"rule 1: it needs two or more attributes": rule(
			Rule{Kind: ExactlyOneOf, Attributes: []string{"user"}}),
		"usr: rule 1: the type has no such attribute": rule(
			Rule{Kind: ExactlyOneOf, Attributes: []string{"usr", "key"}}),
		"size: rule 1: a read_only attribute is never given": rule(
			Rule{Kind: ExactlyOneOf, Attributes: []string{"size", "key"}}),
		"key: rule 1: the attribute is named twice": rule(
			Rule{Kind: ExactlyOneOf, Attributes: []string{"key", "key"}}),
		"rule 1: without a condition it always holds": rule(
			Rule{Kind: AllOf, Attributes: []string{"key"}}),
		"mode: rule 1: the attribute never has this value": rule(
			Rule{Kind: AllOf, Attributes: []string{"key"}, If: "mode", Is: []any{"c"}}),
		"rule 1: there are values without an attribute": rule(
			Rule{Kind: AtMostOneOf, Attributes: []string{"key", "user"}, Is: []any{"c"}}),
		"Gather and Gathers come together": func(t *Type) {
			t.Gather = func(a map[string]any, _ []Kept) map[string]any { return a }
		},
		"the metadata is not a value": func(t *Type) {
			t.Metadata = map[string]any{"f": func() {}}
		},
	} {
		_, err := NewRegistry(base(change))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
	for why, a := range map[string]Attribute{
		"ensure of a service":           {Name: "ensure", Type: "Enum[running,stopped]"},
		"ensure of a package's version": {Name: "ensure", Type: "String"},
	} {
		if _, err := NewRegistry(base(add(a))); err != nil {
			t.Errorf("%s: %v", why, err)
		}
	}
	r, err := NewRegistry(relatedType(
		Relation{Kind: Require, Type: "x::Ap", Titles: []string{"$source"}}))
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(r.Doubtful(), "\n"); !strings.Contains(got,
		"the relation require leads to x::Ap, which is not a type of this program; did you mean "+
			"x::App?") ||
		!strings.Contains(got, "x::App: name: the attribute has no description") {
		t.Errorf("doubtful: %s", got)
	}
}

func TestRules(t *testing.T) {
	typ := Type{Name: "x::Y", Attributes: []Attribute{
		{Name: "name", Type: "String", Behaviour: Namevar},
		{Name: "user", Type: "Optional[String]"}, {Name: "key", Type: "Optional[String]"},
		{Name: "mode", Type: "Enum[a,b]", Default: "a"}, {Name: "cert", Type: "Optional[String]"},
	}}
	for name, tc := range map[string]struct {
		rule    Rule
		attrs   map[string]any
		message string
	}{
		"one": {Rule{Kind: ExactlyOneOf,
			Attributes: []string{"user", "key"}}, map[string]any{"user": "u"}, ""},
		"a reference is given": {
			Rule{Kind: ExactlyOneOf, Attributes: []string{"user", "key"}},
			map[string]any{"user": resource.Parameter{Name: "p"}}, ""},
		"none of one": {
			Rule{Kind: ExactlyOneOf, Attributes: []string{"user", "key"}}, nil,
			"expected exactly one of user, key, got none of them"},
		"two of one": {
			Rule{Kind: ExactlyOneOf, Attributes: []string{"user", "key"}},
			map[string]any{"user": "u", "key": "k"},
			"expected exactly one of user, key, got user, key"},
		"null is not given": {
			Rule{Kind: AtLeastOneOf, Attributes: []string{"user", "key"}},
			map[string]any{"user": nil}, "expected at least one of user, key, got none of them"},
		"at most": {
			Rule{Kind: AtMostOneOf, Attributes: []string{"user", "key"},
				Message: "user or key, not both"}, map[string]any{"user": "u", "key": "k"},
			"user or key, not both"},
		"all or none": {
			Rule{Kind: AllOrNoneOf, Attributes: []string{"user", "key"}},
			map[string]any{"user": "u"}, "expected all or none of user, key, got user"},
		"a condition that does not hold": {
			Rule{Kind: AllOf, Attributes: []string{"cert"}, If: "mode", Is: []any{"b"}}, nil, ""},
		"a condition that holds": {Rule{Kind: AllOf, Attributes: []string{"cert"}, If: "mode",
			Is: []any{"b"}}, map[string]any{"mode": "b"},
			`expected all of cert where mode is the string "b", got none of them`},
		"none where given": {Rule{Kind: NoneOf, Attributes: []string{"cert"}, If: "key"},
			map[string]any{"key": "k", "cert": "c"},
			"expected none of cert where key is given, got cert"},
	} {
		t.Run(name, func(t *testing.T) {
			typ := typ
			typ.Rules = []Rule{tc.rule}
			attrs := map[string]any{"name": "n"}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			_, problems := compiled(t, typ).Check(attrs)
			got := ""
			for _, p := range problems {
				got += p.Message
			}
			if got != tc.message {
				t.Errorf("%q, want %q", got, tc.message)
			}
		})
	}
}
