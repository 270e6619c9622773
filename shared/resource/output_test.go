package resource_test

import (
	"slices"
	"testing"

	"southbound/shared/resource"
)

// TestParseOutput pins where the id of an output ends, and that its source is parsed back.
func TestParseOutput(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]resource.Output{
		"output:a::B[c,name=x]#p":      {Of: "a::B[c,name=x]", Path: "p"},
		"output:a::B[c,name=x]#a]#b":   {Of: "a::B[c,name=x]", Path: "a]#b"},
		`output:a::B[c,name=\]#x]#p/0`: {Of: `a::B[c,name=\]#x]`, Path: "p/0"},
		`output:a::B[c,name=\\]#p`:     {Of: `a::B[c,name=\\]`, Path: "p"},
		"output:a::B[name=x]#p":        {Of: "a::B[name=x]", Path: "p"},
		"output:a::B[c,name=x]":        {},
		`output:a::B[c,name=x\]#p`:     {},
		"env:a::B[c,name=x]#p":         {},
	} {
		got, is := resource.ParseOutput(source)
		if got != want || is != (want.Of != "") || is && got.Source() != source {
			t.Errorf("%q: %+v, %v, want %+v", source, got, is, want)
		}
	}
}

// TestOutputs pins which outputs a resource refers to: those of its version, each once, in order.
func TestOutputs(t *testing.T) {
	t.Parallel()
	a, b := resource.Output{Of: "a::B[c,n=1]", Path: "p"}, resource.Output{Of: "a::B[c,n=2]", Path: "p"}
	secret := func(o resource.Output, version string) resource.Secret {
		return resource.Secret{Source: o.Source(), Version: version}
	}
	text, err := resource.NewText("x", secret(b, ""))
	if err != nil {
		t.Fatal(err)
	}
	r := &resource.Resource{
		Attributes: map[string]any{"one": []any{secret(b, "r1"), secret(a, "r2")}, "two": "known",
			"three": resource.Secret{Source: "env:A"}},
		Followed: map[string]any{"one": []any{secret(b, ""), secret(a, "")}, "two": text},
	}
	if got := r.Outputs(); !slices.Equal(got, []resource.Output{a, b}) {
		t.Errorf("%+v", got)
	}
	if _, awaited := secret(a, "").Await(); !awaited {
		t.Error("an output without a version is known")
	}
	if _, awaited := secret(a, "r1").Await(); awaited {
		t.Error("an output with a version is awaited")
	}
}
