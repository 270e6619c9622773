package model

import (
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestUnsetSecretsOfAServer pins that a problem of a server of secrets is said once, for all
// references, and that a server that cannot be reached is asked once.
func TestUnsetSecretsOfAServer(t *testing.T) {
	t.Parallel()
	m := &Model{}
	for _, source := range []string{"vault:a/b#c", "vault:a/b#d", "vault:a/e#f", "command:pass a", "command:pass b"} {
		m.Resources = append(m.Resources, resource.Resource{ID: resource.ID("t::T[a,name=" + source + "]"),
			Attributes: map[string]any{"v": resource.Secret{Source: source}}})
	}
	for _, c := range []struct {
		reason string
		err    func(resource.Secret) error
		asked  int
		want   []string // parts of the messages
	}{
		{"sealed", func(resource.Secret) error { return fault.New(fault.Unavailable, "", "sealed") }, 3,
			[]string{"sealed; the same holds for 2 more references", "sealed", "sealed"}},
		{"the token has expired", func(resource.Secret) error { return fault.New(fault.Denied, "", "expired") }, 5,
			[]string{"expired; the same holds for 2 more references", "expired", "expired"}},
		{"a policy for each path", func(s resource.Secret) error {
			return fault.New(fault.Denied, "", "%s", s.Source[:9])
		}, 5, []string{"vault:a/b; the same holds for 1 more reference to secrets", "vault:a/e", "command:p",
			"command:p"}},
	} {
		asked := 0
		got := m.UnsetSecrets(func(s resource.Secret) error { asked++; return c.err(s) })
		if len(got) != len(c.want) || asked != c.asked {
			t.Errorf("%s: %v after %d look-ups, want %q after %d", c.reason, got, asked, c.want, c.asked)
			continue
		}
		for i := range got {
			if !strings.HasPrefix(got[i].Message, c.want[i]) {
				t.Errorf("%s: %q, want %q", c.reason, got[i].Message, c.want[i])
			}
		}
	}
}

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
