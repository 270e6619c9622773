package schema

import (
	"regexp"
	"testing"
)

// Reading anything ends well, and what is read is printed so that it reads back as the same.
func FuzzParseDataType(f *testing.F) {
	for _, pair := range samples(f) {
		f.Add(pair[0])
	}
	for _, s := range []string{"Enum['a', \"b\\n\"]", "Float[-1.5e-3, default]",
		"Struct[{Optional['a b'] => Any}]", "Tuple[String, 1, 5]",
		"Pattern['a/b']", `Pattern[/\h{,3}[\s]\Z/]`} {
		f.Add(s)
	}
	values := []any{nil, "a", int64(1), 1.5, true, []any{"a"}, map[string]any{"a": "b"}}
	f.Fuzz(func(t *testing.T, expr string) {
		d, err := ParseDataType(expr)
		if err != nil {
			return
		}
		normal := d.String()
		again, err := ParseDataType(normal)
		if err != nil || again.String() != normal {
			t.Fatalf("%q prints %q, which reads as %v, %v", expr, normal, again, err)
		}
		for _, v := range values {
			if (d.Check(v) == nil) != (again.Check(v) == nil) {
				t.Fatalf("%q and %q differ on %v", expr, normal, v)
			}
		}
		if d.JSONSchema() == nil || d.Describe() == "" {
			t.Fatalf("%q has no description", expr)
		}
	})
}

// A title pattern is refused, or reads titles so that what it gives is of the attributes' types;
// and its schema accepts what it reads.
func FuzzReadTitle(f *testing.F) {
	for _, s := range [][2]string{{`\A(?<name>[^/]+)/(?<port>\d+)\z`, "a/1"},
		{`(?i)^(?'name'x)|(?<port>[[:digit:]]{,3})\Z`, "X\n"},
		{`(?x) (?<name> a{1,1200} ) # b`, "aa"}, {`(?<name>\p{^L}[^]\H])`, "1-"},
		{`^(?<name>)$`, "\n"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, title string) {
		r, err := NewRegistry(Type{Name: "x::Y",
			Attributes: []Attribute{{Name: "name", Type: "String[1, 5]", Behaviour: Namevar},
				{Name: "port", Type: "Integer[0, 99]", Behaviour: Namevar}},
			Titles: []TitlePattern{{Pattern: pattern}}})
		if err != nil {
			return
		}
		c, _ := r.Type("x::Y")
		keys, err := c.ReadTitle(title)
		if err != nil {
			return
		}
		for name, v := range keys {
			if a, ok := c.Attribute(name); !ok || a.DataType.Check(v) != nil {
				t.Fatalf("/%s/ reads %q as %v", pattern, title, keys)
			}
		}
		text, said := c.titles[0].re.ECMA()
		if re, err := regexp.Compile(text); said && (err != nil || !re.MatchString(title)) {
			t.Fatalf("/%s/ reads %q and its schema has /%s/, %v", pattern, title, text, err)
		}
	})
}
