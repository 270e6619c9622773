package schema

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/resource"
)

// TestWithSecrets lists the values that an attribute gets of the text of a secret.
func TestWithSecrets(t *testing.T) {
	secret, other := resource.Secret{Source: "env:A"}, resource.Secret{Source: "env:B"}
	parts := func(parts ...any) any { return resource.Text{Parts: parts} }
	for _, tc := range []struct {
		typ     string
		oneLine bool
		written any
		text    string
		want    any // nil: nothing fits
	}{
		{"String", false, secret, "a\n", "a\n"},
		{"String", false, secret, "", ""},
		{"String", true, secret, "a\n", "a"},
		{"String", true, secret, "a\r\n", "a"},
		{"String", true, secret, "a\n\n", "a\n"},
		{"String", true, secret, " a \r", " a "},
		{"String", true, "a\n", "", "a\n"}, // a text of the document stays
		{"String[1]", true, secret, "\n", nil},
		{"Sensitive[String[1]]", false, secret, "a\n", "a\n"},
		{"Any", false, secret, "7\n", "7\n"},
		{`Pattern[/\A[a-z]\z/]`, false, secret, "a\n", "a"},
		{`Pattern[/\A[a-z]\z/]`, false, secret, "a\n\n", nil},
		{"Enum[a]", false, secret, "a\r\n", "a"},
		{"Integer", false, secret, "7\n", int64(7)},
		{"Boolean", false, secret, "true\n", true},
		{"Array[Integer]", false, secret, "[1, 2]\n", []any{int64(1), int64(2)}},
		{"Integer", false, secret, "seven\n", nil},
		{"Hash[String, String]", false, map[string]any{"a": secret, "b": "x\n"}, "a\n",
			map[string]any{"a": "a\n", "b": "x\n"}},
		{"Hash[String, String]", true, map[string]any{"a": secret, "b": "x\n"}, "a\n",
			map[string]any{"a": "a", "b": "x\n"}},
		{`Array[Pattern[/\A[a-z]\z/]]`, false, []any{secret, "b"}, "a\n", []any{"a", "b"}},
		{"Array[Integer]", false, []any{secret}, "7\n", nil}, // JSON is the whole value alone
		// text follows a secret inside of a text, so its line end is never intended
		{"String", false, parts("pw=", secret, "\nend"), "a\n", "pw=a\nend"},
		{"String", false, parts(secret), "a\n", "a"},
		{"String", true, parts("a:", secret), "b\n\n", "a:b\n"},
		{`Pattern[/\Ax[a-z]\z/]`, false, parts("x", secret), "a\n", "xa"},
		{`Pattern[/\Ax[a-z]\z/]`, false, parts("x", secret), "7", nil},
		{"Sensitive[String[1]]", false, parts("a", secret), "b", "ab"},
		{"Hash[String, String]", false, map[string]any{"a": parts("x", secret), "b": secret}, "a\n",
			map[string]any{"a": "xa", "b": "a\n"}},
		{"Any", false, parts("7", secret), "8", "78"}, // never a number
	} {
		d, err := ParseDataType(tc.typ)
		if err != nil {
			t.Fatal(err)
		}
		a := &CompiledAttribute{Attribute{OneLine: tc.oneLine}, d}
		got, ok, err := a.WithSecrets(tc.written,
			func(resource.Secret) (string, error) { return tc.text, nil })
		if err != nil || ok != (tc.want != nil) || ok && !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s %q: %#v, %t, %v; expected %#v", tc.typ, tc.text, got, ok, err, tc.want)
		}
	}
	d, err := ParseDataType("Array[String]")
	if err != nil {
		t.Fatal(err)
	}
	calls, failed := map[string]int{}, errors.New("no such secret")
	a := &CompiledAttribute{Attribute{}, d}
	_, _, err = a.WithSecrets([]any{parts("a", secret)}, func(resource.Secret) (string, error) {
		return strings.Repeat("x", resource.MaxText), nil
	})
	if text := (*resource.TextError)(nil); !errors.As(err, &text) {
		t.Error("a text that is too long:", err)
	}
	_, _, err = a.WithSecrets([]any{secret, secret, other}, func(s resource.Secret) (string, error) {
		calls[s.Source]++
		if s == other {
			return "", failed
		}
		return "x", nil
	})
	if !errors.Is(err, failed) || calls["env:A"] != 1 || calls["env:B"] != 1 {
		t.Error(calls, err)
	}
}
