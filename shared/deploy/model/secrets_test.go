package model

import (
	"strings"
	"testing"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestOpenSecrets pins what is said of values that are to be secrets and can be read by people: it
// is where they can.
func TestOpenSecrets(t *testing.T) {
	t.Parallel()
	types, err := schema.NewRegistry(schema.Type{
		Name: "test::Door", Description: "a door", Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "code", Type: "Optional[String]", Sensitive: true, Description: "opens it"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	door, _ := types.Type("test::Door")
	for _, c := range []struct {
		value any
		want  string // "": nothing is wrong
	}{
		{resource.Secret{Source: "env:CODE"}, ""},
		{resource.Text{Parts: []any{"a", resource.Secret{Source: "env:CODE"}}}, ""},
		{resource.Text{Parts: []any{"a", resource.Parameter{Name: "code"}}},
			"no part of its text is a secret"},
		{"1234", "its value stands in the document"},
		{resource.Parameter{Name: "code"}, "a parameter is stored and shown in the open"},
		{resource.Fact{Name: "code", Of: "std::Null[a,name=x]"}, "a fact is stored and shown"},
		{resource.File{Hash: "00"}, "an uploaded file is stored in the open"},
	} {
		got := openSecrets(door, map[string]any{"name": "d", "code": c.value})
		switch {
		case c.want == "" && len(got) == 0:
		case c.want == "" || len(got) != 1 || !strings.Contains(got[0].Message, c.want) ||
			!strings.Contains(got[0].Hint, "secret:"):
			t.Errorf("%v: %+v; want %q", c.value, got, c.want)
		}
	}
}
