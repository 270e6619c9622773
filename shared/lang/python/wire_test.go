package python

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// back reads what appendValue has written.
func back(t *testing.T, v types.Value) types.Value {
	t.Helper()
	text := appendValue(nil, v)
	p := parser{text: text, tag: objects{}.tag}
	out, err := p.value(0)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if p.at != len(text) {
		t.Errorf("%s is read up to %d", text, p.at)
	}
	return out
}

// TestValues holds that values arrive as they were sent.
func TestValues(t *testing.T) {
	t.Parallel()
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	dict := types.NewDict(0)
	dict.Set("z", int64(1))
	dict.Set("a", &types.List{Items: []types.Value{types.Null{}, true, "x"}})
	for _, v := range []types.Value{
		types.Null{}, true, false, int64(0), int64(-5), int64(math.MaxInt64), huge, 1.0, -0.5,
		1e300,
		math.Inf(1), math.Inf(-1), "", "plain", "é\n\"\\\x00</>\u2028", &types.List{}, dict,
		types.NewDict(0),
		&types.List{Items: []types.Value{dict, &types.List{Items: []types.Value{"deep"}}}},
	} {
		if got := back(t, v); !types.Equal(got, v) || types.Repr(got) != types.Repr(v) {
			t.Errorf("%s became %s", types.Repr(v), types.Repr(got))
		}
	}
	if f, ok := back(t, math.NaN()).(float64); !ok || !math.IsNaN(f) {
		t.Error("not a number became one")
	}
	if got := back(t, 1.0); got != types.Value(1.0) {
		t.Errorf("the float 1.0 became %v", got)
	}
	if f, ok := back(t, math.Copysign(0, -1)).(float64); !ok || f != 0 || !math.Signbit(f) {
		t.Errorf("the float -0.0 became %v", f)
	}
	if u, ok := back(t, &types.Unknown{Why: "w"}).(*types.Unknown); !ok || u.Why != "w" {
		t.Error("an unknown value did not stay one")
	}
}

// TestFrames holds that frames that are cut short, or are not what was agreed, are errors.
func TestFrames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "[", "[]", "{}", `["x"`, `[1]`, `["x",]`, `["x",{"d":1}]`, `["x",{"q":1}]`,
		`["x",{"e":7}]`,
		`["x",nul]`, `["x",1e]`, `["x","`, `["x",{"f":"q"}]`, strings.Repeat("[", 5000),
	} {
		p := parser{text: []byte(text), tag: objects{}.tag}
		if kind, _, err := p.message(); err == nil && kind != "" {
			t.Errorf("%q is taken for a message", text)
		}
	}
	var b bytes.Buffer
	if err := writeFrame(&b, []byte(`["ok"]`)); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range whole {
		if _, err := readFrame(bytes.NewReader(whole[:n]), nil); err == nil {
			t.Errorf("%d of %d bytes are taken for a frame", n, len(whole))
		}
	}
	if got, err := readFrame(bytes.NewReader(whole), nil); err != nil || string(got) != `["ok"]` {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := readFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff}), nil); err == nil {
		t.Error("a frame of 4 GiB is taken")
	}
	if err := writeFrame(&b, make([]byte, maxFrame+1)); err == nil {
		t.Error("a frame that is too large is sent")
	}
}

// FuzzMessage holds that no bytes make the reader fail but by an error.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(`["ok",{"d":{"a":[1,2.5,{"u":"x"},{"r":[0,"C","string"]}]}}]`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		p := parser{text: text, tag: objects{}.tag}
		_, _, _ = p.message()
	})
}

// TestFieldsStayFloats holds that a float without a fraction is none of Python's integers for a
// handler, however large it is.
func TestFieldsStayFloats(t *testing.T) {
	fields := map[string]any{"f": []any{3.0, 1e15, 1e16, -1e18, 1e20, 1e21, 0.5, 0.0, int64(7)}}
	text, err := json.Marshal(plainJSON(fields))
	want := `{"f":[3.0,1e+15,1e+16,-1e+18,1e+20,1e+21,0.5,0.0,7]}`
	if err != nil || string(text) != want {
		t.Errorf("have %s, %v\nwant %s", text, err, want)
	}
}

// ofProgram is a reference that code in Python does not know, and whether it may be part of a text.
type ofProgram bool

func (r ofProgram) ReferenceName() string { return "southbound::some" }
func (r ofProgram) Of() types.Type        { return nil }
func (r ofProgram) InText() bool          { return bool(r) }

// TestLater lists the values that a field of a class passes on without a look at them.
func TestLater(t *testing.T) {
	t.Parallel()
	text := types.JoinText("password ", ofProgram(true))
	env := std.Reference{Class: std.EnvironmentReference, Value: "HOME"}
	list := func(items ...types.Value) types.Value { return &types.List{Items: items} }
	dict := types.NewDict(0)
	dict.Set("deep", list("x", text))
	for _, test := range []struct {
		why  string
		v    types.Value
		want bool
	}{
		{"a text of parts", text, true},
		{"a reference of the program", ofProgram(true), true},
		{"a text with an unknown fact", types.JoinText("size ", &types.Unknown{Why: "w"}), true},
		{"in a dict and a list", dict, true},
		{"beside a reference of std", list(env, text), true},
		{"beside an unknown value", list(&types.Unknown{Why: "w"}, text), true},
		{"a literal", list("x", int64(1), types.Null{}), false},
		{"an unknown value, which Python has", &types.Unknown{Why: "w"}, false},
		{"a reference of std, which Python has", env, false},
		{"a reference of Python", reference{index: 1}, false},
		{"beside a reference of Python, which only Python resolves", list(text, reference{index: 1}), false},
		{"beside a number of std, which nothing computes",
			list(text, std.Reference{Class: std.IntReference, Value: env}), false},
		{"a file, which is no text", ofProgram(false), false},
		{"beside a file", list(text, ofProgram(false)), false},
	} {
		if got := later(test.v); got != test.want {
			t.Errorf("%s: %t, want %t", test.why, got, test.want)
		}
	}
}
