package schema

import "testing"

// TestWhereItDiffersFromPuppet pins what docs/design/types.md says of forms that Puppet has as
// objects and documents as texts.
func TestWhereItDiffersFromPuppet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		typ  string
		v    any
		fits bool
	}{
		{"SemVerRange", ">=1.2.0 <2.0.0", true}, {"SemVerRange", "1.x || 3.x", true},
		{"SemVerRange", ">=1.2.0, <2.0.0", true}, {"SemVerRange", "!=1.5.0", true},
		{"SemVerRange", "latest", false}, {"SemVerRange", "", false},
		{"URI", "https://example.org/a?b#c", true}, {"URI", "a/b", true}, {"URI", "", true},
		{"URI", "https://[::1", false}, {"URI", "a b", true},
		{"Binary", "aGVsbG8=", true}, {"Binary", "aGVsbG8", false}, {"Binary", "aGVs\nbG8=", true},
		{"Binary", "_-8=", false},
		{"Iterable", "text", true}, {"Iterable", int64(3), true}, {"Iterable", int64(-1), false},
		{"Iterable[Integer]", int64(3), true}, {"Iterable[String]", map[string]any{}, true},
		{"Iterable", 1.5, false}, {"Iterable", true, false},
		{`Pattern[/\bé\b/]`, "é", false}, {`Pattern[/^a/]`, "b\na", true},
		{`Pattern[/\Aa\Z/]`, "a\n", true}, {`Pattern[/(?i)strasse/]`, "STRAßE", false},
	} {
		d, err := ParseDataType(tc.typ)
		if err != nil {
			t.Errorf("%s: %v", tc.typ, err)
			continue
		}
		if got := d.Check(tc.v) == nil; got != tc.fits {
			t.Errorf("%#v is of type %s: %v", tc.v, tc.typ, got)
		}
	}
}
