package aws

import (
	"math/big"
	"slices"
	"strings"
	"testing"

	"southbound/shared/resource"
)

func TestItemValidate(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	deep := any("x")
	for range 40 {
		deep = []any{deep}
	}
	for _, c := range []struct {
		why   string
		attrs m
		want  string // attribute: part of message
	}{
		{"all is well", m{"values": m{"a": []any{int64(1), nil}, "s": []any{"x"}},
			"sets": m{"s": "texts"}, "absent": []any{"b"}}, ""},
		{"a reference", m{"values": m{"s": resource.Parameter{Name: "p"}}, "sets": m{"s": "texts"}},
			""},
		{"a secret", m{"values": m{"a": resource.Secret{Source: "env:X"}}}, "values: in the open"},
		{"a file", m{"values": m{"a": resource.File{Hash: "x"}}}, "values: file"},
		{"the key", m{"values": m{"pk": "x"}}, "values: part of the key"},
		{"not the key", m{"absent": []any{"pk"}}, "absent: part of the key"},
		{"both", m{"values": m{"a": "x"}, "absent": []any{"a"}}, "absent: not wanted"},
		{"bytes", m{"values": m{"b": "AQI=", "s": []any{"AQ=="}}, "bytes": []any{"b"},
			"sets": m{"s": "bytes"}}, ""},
		{"bytes that are text", m{"values": m{"b": "hello!"}, "bytes": []any{"b"}},
			"values: base64"},
		{"bytes that are a set", m{"values": m{"s": []any{"AQ=="}}, "bytes": []any{"s"},
			"sets": m{"s": "bytes"}}, "bytes: is a set"},
		{"a key that is not bytes", m{"bytes": []any{"pk"}}, "key: base64"},
		{"an empty set", m{"values": m{"s": []any{}}, "sets": m{"s": "texts"}},
			"sets: is not a list"},
		{"a set of both", m{"values": m{"s": []any{"x", int64(1)}}, "sets": m{"s": "texts"}},
			"values: set of texts"},
		{"too many digits",
			m{
				"values": m{"n": new(big.Int).Add(new(big.Int).Exp(big.NewInt(10), big.NewInt(39),
					nil), big.NewInt(1))}}, "values: 38 digits"},
		{"too small", m{"values": m{"n": 1e-200}}, "values: between"},
		{"too deep", m{"values": m{"n": deep}}, "values: nested"},
		{"too large", m{"values": m{"n": strings.Repeat("x", 401<<10)}}, "values: larger"},
	} {
		all := m{"table": "t", "name": "n", "key": m{"pk": "x"}, "values": m{}}
		for k, v := range c.attrs {
			all[k] = v
		}
		problems := validItem(all)
		attribute, part, _ := strings.Cut(c.want, ": ")
		if c.want == "" && len(problems) > 0 ||
			c.want != "" &&
				(len(problems) == 0 || problems[0].Attribute != attribute ||
					!strings.Contains(problems[0].Message, part)) {
			t.Errorf("%s: %v, expected %s", c.why, problems, c.want)
		}
	}
}

// TestItemThing pins that items are told apart by table and key, whatever the resources are called.
func TestItemThing(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	one := itemThing(m{"table": "t", "name": "a", "key": m{"pk": "x", "sk": int64(100)}})
	same := itemThing(m{"table": "t", "name": "b", "key": m{"sk": 1e2, "pk": "x"}})
	if len(one.Names) == 0 || !slices.Equal(one.Names, same.Names) {
		t.Errorf("%v, %v", one, same)
	}
	for why, other := range map[string]m{
		"another table": {"table": "u", "key": m{"pk": "x", "sk": int64(100)}},
		"another key":   {"table": "t", "key": m{"pk": "x", "sk": int64(101)}},
		"text":          {"table": "t", "key": m{"pk": "x", "sk": "100"}},
		"bytes":         {"table": "t", "key": m{"pk": "x", "sk": "100a"}, "bytes": []any{"sk"}},
		"not known": {"table": "t", "key": m{"pk": resource.Parameter{Name: "p"},
			"sk": int64(100)}},
	} {
		if slices.Equal(itemThing(other).Names, one.Names) {
			t.Errorf("%s is the same", why)
		}
	}
}
