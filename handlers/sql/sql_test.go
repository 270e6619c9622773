package sql

import (
	"strings"
	"testing"

	"southbound/shared/provider"
)

// TestVerifier holds the derivation against the example of RFC 7677.
func TestVerifier(t *testing.T) {
	t.Parallel()
	const kept = "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$WG5d8oPm3OtcPnkdi4Uo7BkeZkBFzpcXkuLmtbsT4qY=:wfPLwcE6nTWhTAmQ7tl2KeoiWGPlZqQxSrmfPwDl2dU="
	if !verifies(kept, "pencil") || verifies(kept, "pencils") || !verifies(kept, kept) {
		t.Error("the verifier of the standard is not that of its password")
	}
	for _, s := range []string{"", "md5" + strings.Repeat("0", 32), "SCRAM-SHA-256$",
		"SCRAM-SHA-256$0:YQ==$YQ==:YQ==", strings.Replace(kept, "4096", "99999999", 1), kept + "x",
		strings.Replace(kept, "$W", "$", 1)} {
		if _, ok := parseVerifier(s); ok || verifies(s, "pencil") {
			t.Errorf("%q is taken for a verifier", s)
		}
	}
	a, err := newVerifier("pencil")
	b, err2 := newVerifier("pencil")
	if err != nil || err2 != nil || a == b || !verifies(a, "pencil") {
		t.Errorf("%s, %s", a, b)
	}
}

func TestQuote(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "'a'", "it's": "'it''s'", `a\'b`: ` E'a\\''b'`} {
		if got := literal(in); got != want {
			t.Errorf("%s is quoted as %s, expected %s", in, got, want)
		}
	}
	if got := ident(`a"b`); got != `"a""b"` {
		t.Error(got)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why   string
		d     provider.Definition
		attrs map[string]any
		want  string // attribute of the only problem
	}{
		{"all is well", Role(), map[string]any{"name": "a", "owned": "reassign", "reassign_to": "b",
			"member_of": []any{"c"}}, ""},
		{"63 letters of two bytes", Role(), map[string]any{"name": strings.Repeat("ü", 63)},
			"name"},
		{"the server's own", Role(), map[string]any{"name": "pg_monitor"}, "name"},
		{"to nobody", Role(), map[string]any{"name": "a", "owned": "reassign"}, "owned"},
		{"to somebody, and refused", Role(), map[string]any{"name": "a", "owned": "refuse",
			"reassign_to": "b"}, "owned"},
		{"of itself", Role(), map[string]any{"name": "a", "member_of": []any{"a"}}, "member_of"},
		{"a long owner", Database(), map[string]any{"name": "a", "owner": strings.Repeat("ü", 32)},
			"owner"},
	} {
		problems := c.d.Type.Validate(c.attrs)
		if c.want == "" && len(problems) > 0 ||
			c.want != "" && (len(problems) != 1 || problems[0].Attribute != c.want) {
			t.Errorf("%s: %v", c.why, problems)
		}
	}
}
