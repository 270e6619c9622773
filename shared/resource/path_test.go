package resource_test

import (
	"math/big"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestPathIn pins where paths lead, and the message of each one that leads nowhere.
func TestPathIn(t *testing.T) {
	t.Parallel()
	value := map[string]any{
		"endpoints": []any{map[string]any{"port": int64(8080), "host": "a", "tls": true, "x": nil}},
		"a/b":       map[string]any{"~": "tilde", "": "empty", "~1": "escaped"},
		"0":         "a member that looks like a position",
		"none":      map[string]any{},
		"big":       new(big.Int).Lsh(big.NewInt(1), 70),
	}
	for _, c := range []struct {
		path    string
		want    any
		problem string
		hint    string
	}{
		{path: "", want: value},
		{path: "endpoints/0/port", want: int64(8080)},
		{path: "endpoints/0/x", want: nil},
		{path: "a~1b/~0", want: "tilde"},
		{path: "a~1b/", want: "empty"},
		{path: "a~1b/~01", want: "escaped"},
		{path: "0", want: "a member that looks like a position"},
		{path: "port", problem: `the value has no member "port"`, hint: `"a/b", "big", "endpoints"`},
		{path: "endpoints/0/prt", problem: `"endpoints/0" has no member "prt"`, hint: `"host", "port"`},
		{path: "none/x", problem: `"none" has no member "x"`, hint: "has none"},
		{path: "endpoints/1", problem: `"endpoints" has no position 1: its length is 1`},
		{path: "endpoints/-1", problem: `"endpoints" is a list, and "-1" is no position in it`},
		{path: "endpoints/00", problem: `"endpoints" is a list, and "00" is no position in it`},
		{path: "endpoints/-", problem: `"endpoints" is a list, and "-" is no position in it`},
		{path: "endpoints/99999999999999999999", problem: "is no position in it"},
		{path: "endpoints/port", problem: `is a list, and "port" is no position`, hint: "counted from 0"},
		{path: "endpoints/0/host/0", problem: `"endpoints/0/host" is a text, so "0" leads nowhere in it`,
			hint: `end the path at "endpoints/0/host"`},
		{path: "endpoints/0/port/x", problem: "is a number"},
		{path: "endpoints/0/tls/x", problem: "is a boolean"},
		{path: "endpoints/0/x/x", problem: "is null"},
		{path: "big/x", problem: "is a number"},
		{path: "a~1b/~0/x", problem: `"a~1b/~0" is a text`},
	} {
		p, err := resource.ParsePath(c.path)
		if err != nil || p.String() != c.path {
			t.Errorf("%q: parsed as %q, %v", c.path, p, err)
			continue
		}
		got, err := p.In(value)
		if c.problem == "" {
			if err != nil || !reflect.DeepEqual(got, c.want) {
				t.Errorf("%q leads to %v, %v, want %v", c.path, got, err, c.want)
			}
			continue
		}
		if err == nil || fault.KindOf(err) != fault.NotFound ||
			!strings.Contains(err.Error(), c.problem) || !strings.Contains(fault.HintOf(err), c.hint) {
			t.Errorf("%q: %v (hint %q), want %q (hint %q)", c.path, err, fault.HintOf(err), c.problem,
				c.hint)
		}
	}
}

// TestPathsThatAreNone pins which texts are refused.
func TestPathsThatAreNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a~b":                                   "has a ~ without 0 or 1",
		"~":                                     "has a ~ without 0 or 1",
		"a~0~":                                  "has a ~ without 0 or 1",
		"a\xff":                                 "is not UTF-8",
		strings.Repeat("x", resource.MaxPath+1): "has 1025 bytes",
	} {
		if p, err := resource.ParsePath(text); err == nil || fault.KindOf(err) != fault.Invalid ||
			!strings.Contains(err.Error(), want) || fault.HintOf(err) == "" {
			t.Errorf("%.20q: %q, %v, want %q", text, p, err, want)
		}
	}
}

// TestFactPath pins the name of the fact in a reference, and the path behind it.
func TestFactPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]resource.Path{
		"ip":            {"ip"},
		"endpoints/0":   {"endpoints", "0"},
		"a~1b/c":        {"a/b", "c"},
		"not~a~pointer": {"not~a~pointer"}, // stored before paths existed
	} {
		f := resource.Fact{Name: name, Of: "std::Null[a,name=x]"}
		if got := f.Path(); !reflect.DeepEqual(got, want) || f.Key() != want[0] {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
		if err := resource.CheckFact(name); (err != nil) != (name == "not~a~pointer") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "/", "/x", "a~"} {
		if err := resource.CheckFact(name); err == nil || fault.KindOf(err) != fault.Invalid ||
			fault.HintOf(err) == "" {
			t.Errorf("%q is a reference to a fact: %v", name, err)
		}
	}
	got, err := resource.Fact{Name: "endpoints/0"}.In([]any{"x"})
	if err != nil || got != "x" {
		t.Error(got, err)
	}
	_, err = resource.Fact{Name: "endpoints/0"}.In("text")
	if err == nil || !strings.Contains(err.Error(), `"endpoints" is a text, so "0" leads nowhere`) {
		t.Errorf("a path through a text: %v", err)
	}
}

// FuzzPath checks that parsing inverts the text of a path, and that no path panics.
func FuzzPath(f *testing.F) {
	for _, s := range []string{"", "a", "a/0/b", "~0", "~1/~01", "a//", "~", "/", "0/-1"} {
		f.Add(s)
	}
	value := map[string]any{"a": []any{map[string]any{"b": "c"}}, "": nil, "~": true, "/": []any{}}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := resource.ParsePath(text)
		if err != nil {
			if fault.HintOf(err) == "" {
				t.Errorf("%q is refused without a hint: %v", text, err)
			}
			return
		}
		again, err := resource.ParsePath(p.String())
		if err != nil || p.String() != text || !reflect.DeepEqual(again, p) {
			t.Errorf("%q: %q, again %q, %v", text, p, again, err)
		}
		if _, err := p.In(value); err != nil && (fault.KindOf(err) != fault.NotFound ||
			fault.HintOf(err) == "") {
			t.Errorf("%q: %v", text, err)
		}
	})
}
