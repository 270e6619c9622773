package resource

import (
	"errors"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/fault"
)

func TestNewText(t *testing.T) {
	t.Parallel()
	secret, fact := Secret{Source: "env:A"}, Fact{"ip", "x::Y[a,n=v]"}
	parameter := Parameter{"p"}
	long := strings.Repeat("x", MaxText)
	for name, tc := range map[string]struct {
		reason string
		parts  []any
		want   any
		wrong  string
	}{
		"Nothing":  {"a text may be empty", nil, "", ""},
		"Literals": {"a text of literals is a string", []any{"a", "", "b"}, "ab", ""},
		"Values": {"values of facts stand in it as JSON writes them",
			[]any{"a", int64(5), true, 1.5, big.NewInt(7)}, "a5true1.57", ""},
		"Parts": {"neighbours are joined, empty ones dropped",
			[]any{"", "a", "b", secret, "", fact, "c", int64(1)},
			Text{[]any{"ab", secret, fact, "c1"}}, ""},
		"Alone": {"it stays a text, whose value is no number", []any{secret}, Text{[]any{secret}}, ""},
		"Nested": {"nested texts are put in line",
			[]any{"a", Text{[]any{"b", secret, "c"}}, "d", Text{[]any{parameter}}},
			Text{[]any{"ab", secret, "cd", parameter}}, ""},
		"Longest": {"the limit itself", []any{long, secret}, Text{[]any{long, secret}}, ""},
		"TooLong": {"names the limit", []any{long, secret, "yy"}, nil,
			"the text has 1048578 bytes, and a text of parts has at most 1048576"},
		"List": {"a list has no place in a text", []any{"a", []any{}}, nil,
			"part 2 of the text: a list cannot stand inside a text"},
		"Map":  {"", []any{map[string]any{}}, nil, "part 1 of the text: a map cannot"},
		"Null": {"", []any{nil}, nil, "null cannot stand"},
		"File": {"", []any{File{someHash, 1}}, nil, "an uploaded file cannot stand"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := NewText(tc.parts...)
			if tc.wrong != "" {
				var te *TextError
				if !fault.Is(err, fault.Invalid) || !errors.As(err, &te) ||
					!strings.Contains(err.Error(), tc.wrong) {
					t.Fatalf("%s: %v", tc.reason, err)
				}
				return
			}
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Fatalf("%s: %#v, %v", tc.reason, got, err)
			}
		})
	}
}

func TestTextWalk(t *testing.T) {
	t.Parallel()
	secret, fact := Secret{Source: "env:A"}, Fact{"ip", "x::Y[a,n=v]"}
	v := map[string]any{"b": []any{Text{[]any{"x", fact, ":", secret}}}, "a": secret}
	if got := References(v); !reflect.DeepEqual(got, []any{secret, fact, secret}) {
		t.Errorf("References = %v", got)
	}
	if got := Texts(v); len(got) != 1 || !HasSecret(got[0]) {
		t.Errorf("Texts = %v", got)
	}
	known := func(ref any) (any, error) {
		if _, is := ref.(Fact); is {
			return "10.0.0.1", nil
		}
		return ref, nil
	}
	half, err := Walk(v, known)
	want := map[string]any{"b": []any{Text{[]any{"x10.0.0.1:", secret}}}, "a": secret}
	if err != nil || !reflect.DeepEqual(half, want) {
		t.Errorf("a text becomes known in steps: %v, %v", half, err)
	}
	whole, err := WalkParts(half, func(any) (any, error) { return "alone", nil },
		func(any) (any, error) { return int64(5), nil })
	if want := (map[string]any{"b": []any{"x10.0.0.1:5"}, "a": "alone"}); err != nil ||
		!reflect.DeepEqual(whole, want) {
		t.Errorf("parts have a function of their own: %v, %v", whole, err)
	}
	if _, err := Walk(v, func(any) (any, error) { return []any{}, nil }); err == nil {
		t.Error("a list became a part of a text")
	}
	if !Equal(half, want) || Equal(half, v) {
		t.Error("texts are equal if their parts are")
	}
}

func TestTextEncoding(t *testing.T) {
	t.Parallel()
	secret := Secret{"env:A", "v1"}
	for name, tc := range map[string]struct {
		reason string
		v      any
		want   string
	}{
		"Text": {"as in documents", Text{[]any{"a", secret, Parameter{"p"}, Fact{"f", "x::Y[a,n=v]"}}},
			`{"text":["a",{"secret":"env:A","version":"v1"},{"parameter":"p"},` +
				`{"fact":"f","of":"x::Y[a,n=v]"}]}`},
		"List": {"a list that looks like parts is marked", map[string]any{"text": []any{secret}},
			`{"value":{"text":[{"secret":"env:A","version":"v1"}]}}`},
		"Literal": {"", map[string]any{"text": []any{"a"}}, `{"value":{"text":["a"]}}`},
		"Data":    {"other maps have the form that they had", map[string]any{"text": "a"}, `{"text":"a"}`},
		"More": {"", map[string]any{"text": []any{"a"}, "size": int64(1)},
			`{"size":1,"text":["a"]}`},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := CanonicalValue(tc.v)
			if err != nil || string(b) != tc.want {
				t.Fatalf("%s: %s, %v", tc.reason, b, err)
			}
			if back, err := DecodeValue(b); err != nil || !reflect.DeepEqual(back, tc.v) {
				t.Errorf("%s: read back as %#v, %v", tc.reason, back, err)
			}
		})
	}
	old := map[string]any{"text": []any{"a"}}
	if got, err := DecodeValue([]byte(`{"text":["a"]}`)); err != nil || !reflect.DeepEqual(got, old) {
		t.Errorf("data without references stays data: %#v, %v", got, err)
	}
	a, err := DecodeValue([]byte(`{"text":["a","",{"text":["b",{"parameter":"p"}]}]}`))
	if err != nil || !reflect.DeepEqual(a, Text{[]any{"ab", Parameter{"p"}}}) {
		t.Errorf("two spellings are one text: %#v, %v", a, err)
	}
	for _, bad := range []string{`{"text":[{"parameter":"p"},5,[]]}`, `{"text":[{"parameter":"p"},null]}`} {
		if v, err := DecodeValue([]byte(bad)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v, %v", bad, v, err)
		}
	}
	for _, bad := range []any{Text{}, Text{[]any{"a"}}, Text{[]any{Secret{}}},
		Text{[]any{secret, int64(1)}}} {
		if b, err := CanonicalValue(bad); err == nil {
			t.Errorf("%v is written as %s", bad, b)
		}
	}
}

func TestSecretLines(t *testing.T) {
	t.Parallel()
	a, b := Secret{Source: "env:A"}, Secret{Source: "env:B"}
	text := Text{[]any{"listen 80\nuser=", a, ":", b, "\r\nkey ", a, "\nend\n", b}}
	values := map[Secret]string{a: "one\ntwo", b: "x"}
	got := text.SecretLines(func(s Secret) string { return values[s] })
	want := []string{"user=one", "two:x", "key one", "two", "x"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
