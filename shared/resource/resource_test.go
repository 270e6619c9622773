package resource

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/fault"
)

func sample() *Resource {
	return &Resource{
		ID: "fs::File[web1,path=/srv/site/index.html]", Type: "fs::File", Agent: "web1",
		Attributes: map[string]any{
			"path": "/srv/site/index.html", "mode": "0644", "owner": "www", "size": int64(12),
			"content": File{someHash, 12},
		},
		Requires: []ID{"fs::Directory[web1,path=/srv/site]"},
		Flags:    Flags{ReceiveEvents: true},
	}
}

// These hashes are in stores. A change that breaks this test makes every resource a new intent.
func TestHashIsPinned(t *testing.T) {
	local := Agent{Name: "web1", Transport: "local", Lanes: 1}
	tests := map[string]struct {
		reason string
		change func(r *Resource, a *Agent)
		want   string
	}{
		"Sample": {"the usual", func(*Resource, *Agent) {}, "0"},
		"Unordered": {"order, repeats and flags beside purged and report_only do not count",
			func(r *Resource, a *Agent) {
				r.Requires, r.Set, a.Lanes, a.Name = nil, "frontend", 7, "other"
				r.PurgeOnDelete, r.SendEvent, r.ReceiveEvents = true, true, false
				r.Subscribed, r.Subscriptions = true, []ID{"x::Y[a,n=v]"}
			}, "0"},
		"WholeFloat": {"5.0 is 5", func(r *Resource, _ *Agent) { r.Attributes["size"] = 12.0 },
			"0"},
		"NoOptions": {"no options are empty options",
			func(_ *Resource, a *Agent) { a.Options = map[string]any{} }, "0"},
		"Purged": {"purged counts", func(r *Resource, _ *Agent) { r.Purged = true }, "1"},
		"ReportOnly": {"report_only counts", func(r *Resource, _ *Agent) { r.ReportOnly = true },
			"2"},
		"Transport": {"how the agent is reached counts",
			func(_ *Resource, a *Agent) { a.Transport = "ssh" }, "3"},
		"Options": {"with its options",
			func(_ *Resource, a *Agent) {
				a.Options = map[string]any{"host": "10.0.0.7", "port": int64(22)}
			}, "4"},
		"Null": {"an attribute that is null is not one that is absent",
			func(r *Resource, _ *Agent) { r.Attributes["group"] = nil }, "5"},
		"Unicode": {"keys and texts beyond ASCII", func(r *Resource, _ *Agent) {
			r.Attributes = map[string]any{"é": "e\u0301", "\ue000": "\U0001F600",
				"\U0001F600": 1e-7}
		}, "6"},
		"Numbers": {"numbers of every sort", func(r *Resource, _ *Agent) {
			r.Attributes = map[string]any{"n": []any{bigInt("18446744073709551616"), -0.5, 1e21,
				math.Copysign(0, -1)}}
		}, "7"},
		"References": {"references, and what looks like one", func(r *Resource, _ *Agent) {
			r.Attributes = map[string]any{"a": Secret{"env:A", "v1"}, "b": Parameter{"p"},
				"c": Fact{"f", "x::Y[a,n=v]"}, "d": map[string]any{"file": "x"}}
		}, "8"},
	}
	pinned := map[string]string{
		"0": "077a1fcfb805435434f5c5ef9d6d8fc584e599836a06765176e70d4d26764499",
		"1": "64991a1d554a4240904652c63dc916a644944211ebed3798c65c8b8e778abf1b",
		"2": "8b6a5a5a531f41b84b0bafe535c32d395dcea533cecc28759f1a444ecd004b7e",
		"3": "437704066e3cefdb0ddf11b7336889cbc8f69a74f42cab3585c251cd013bb616",
		"4": "74fb27e2a9ea967cae767938ee9c50ba4f949960f13000f7573c3cf74a2f4151",
		"5": "3eb0d4fa4602c47d8da5e67c49d5cb93b32910a611694e9c8e4884503615ecee",
		"6": "734009cd6dae2e686f337444fa358fb2e9d9a984837310fb4338098a35bf8563",
		"7": "c4d178d3a40d574b80e63d29031dd20761fe39bd29cfa70b47c1d8a609b76ff0",
		"8": "6d4f0259bb93f41f1218d128c78a07caedd607bba925633cba26dabdeca6512f",
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			r, a := sample(), local
			tc.change(r, &a)
			got, err := r.Hash(a)
			if err != nil || got != pinned[tc.want] {
				t.Errorf("%s: Hash %s = %s, %v, want %s", tc.reason, tc.want, got, err,
					pinned[tc.want])
			}
		})
	}
}

func TestEncodeIsPinned(t *testing.T) {
	full := sample()
	full.Set, full.Flags = "frontend", Flags{Purged: true, PurgeOnDelete: true, ReportOnly: true,
		SendEvent: true}
	full.Requires = append(full.Requires, "x::Y[a,n=\"]")
	full.Subscribed, full.Subscriptions = true, full.Requires[1:]
	tests := map[string]struct {
		r    *Resource
		want string
	}{
		"Usual": {sample(), `{"attributes":{"content":{"file":"` + someHash +
			`","size":12},"mode":"0644","owner":"www","path":"/srv/site/index.html","size":12},` +
			`"id":"fs::File[web1,path=/srv/site/index.html]","requires":["fs::Directory[web1,path=/srv/site]"]}`},
		"Full": {full, `{"attributes":{"content":{"file":"` + someHash +
			`","size":12},"mode":"0644","owner":"www","path":"/srv/site/index.html","size":12},` +
			`"heard":true,"hears":["x::Y[a,n=\"]"],"id":"fs::File[web1,path=/srv/site/index.html]","purge_on_delete":true,"purged":true,"receive_events":false,"report_only":true,` +
			`"requires":["fs::Directory[web1,path=/srv/site]","x::Y[a,n=\"]"],"send_event":true,"set":"frontend"}`},
		"FormNames": {&Resource{ID: "x::Y[a,n=v]", Type: "x::Y", Agent: "a",
			Attributes: map[string]any{"value": "v", "file": "f"},
			Flags:      Flags{ReceiveEvents: true}},
			`{"attributes":{"file":"f","value":"v"},"id":"x::Y[a,n=v]"}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, err := tc.r.Encode()
			if err != nil || string(b) != tc.want {
				t.Fatalf("Encode = %s, %v, want %s", b, err, tc.want)
			}
			back, err := Decode(b)
			if err != nil || !reflect.DeepEqual(back, tc.r) {
				t.Errorf("Decode = %+v, %v, want %+v", back, err, tc.r)
			}
		})
	}
}

func TestEncodeNamesWhereItFails(t *testing.T) {
	r := sample()
	r.Attributes["list"] = []any{"a", map[string]any{"b": math.NaN()}}
	for _, err := range []error{second(r.Encode()), second(r.Hash(Agent{}))} {
		if want := `in "list": in item 2: in "b"`; !fault.Is(err, fault.Invalid) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestDecodeRefuses(t *testing.T) {
	tests := map[string]string{
		"Empty": ``, "Null": `null`, "List": `[]`, "Nothing": `{}`, "NoID": `{"attributes":{}}`,
		"NoAttributes": `{"id":"x::Y[a,n=v]"}`, "BadID": `{"attributes":{},"id":"x::Y[a]"}`,
		"IDNumber":       `{"attributes":{},"id":1}`,
		"Unknown":        `{"attributes":{},"id":"x::Y[a,n=v]","zzz":1}`,
		"Flag":           `{"attributes":{},"id":"x::Y[a,n=v]","purged":1}`,
		"FlagNull":       `{"attributes":{},"id":"x::Y[a,n=v]","purged":null}`,
		"Requires":       `{"attributes":{},"id":"x::Y[a,n=v]","requires":["x"]}`,
		"RequiresText":   `{"attributes":{},"id":"x::Y[a,n=v]","requires":"x::Y[a,n=v]"}`,
		"Twice":          `{"attributes":{},"attributes":{},"id":"x::Y[a,n=v]"}`,
		"TwiceApart":     `{"set":"a","attributes":{},"id":"x::Y[a,n=v]","set":"b"}`,
		"AttributeTwice": `{"attributes":{"a":1,"a":2},"id":"x::Y[a,n=v]"}`,
		"Trailing":       `{"attributes":{},"id":"x::Y[a,n=v]"}{}`,
		"AttributesList": `{"attributes":[],"id":"x::Y[a,n=v]"}`,
		"Cut":            `{"attributes":{"a":"b"},"id":"x::Y[a,n=v]"`,
		"Set":            `{"attributes":{},"id":"x::Y[a,n=v]","set":5}`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			if r, err := Decode([]byte(text)); !fault.Is(err, fault.Invalid) {
				t.Errorf("Decode(%s) = %+v, %v, want fault.Invalid", text, r, err)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	full := sample()
	full.Set, full.Flags = "frontend", Flags{Purged: true, PurgeOnDelete: true, ReportOnly: true,
		SendEvent: true}
	full.Subscribed, full.Subscriptions = true, full.Requires
	for _, r := range []*Resource{sample(), full} {
		b, _ := r.Encode()
		f.Add(b)
	}
	f.Add([]byte(`{"id":"x::Y[a,n=v]","attributes":{"value":{"value":1}},"purged":false}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q is not valid JSON", b)
		}
		text, err := r.Encode()
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", b, err)
		}
		if set := SetOf(text); set != r.Set {
			t.Fatalf("%q is in the set %q, SetOf returns %q", text, r.Set, set)
		}
		back, err := Decode(text)
		if err != nil || !reflect.DeepEqual(r, back) {
			t.Fatalf("%q: %+v reads back as %+v, %v", b, r, back, err)
		}
	})
}

// TestSetOf pins that the set is read from the end of an encoded resource, whatever it contains.
func TestSetOf(t *testing.T) {
	for _, set := range []string{"", "site", `a"b`, `a\`, "a\\\"", `,"set":"`, "ünï", "}", "\n"} {
		for _, value := range []any{"x", `,"set":"y"}`, map[string]any{"a": "b", "set": "y"},
			[]any{map[string]any{"set": "y"}}} {
			for _, name := range []string{"x", `,"set":"y"}`, `"`, `\`} {
				r := Resource{ID: NewID("t::T", "a", Key{"name", name}), Type: "t::T", Agent: "a", Set: set,
					Attributes: map[string]any{"value": value}, Flags: Flags{ReceiveEvents: true}}
				b, err := r.Encode()
				if err != nil {
					t.Fatal(err)
				}
				if got := SetOf(b); got != set {
					t.Errorf("%s: %q, want %q", b, got, set)
				}
			}
		}
	}
	for _, b := range []string{"", `"}`, `x"}`, `{"set":"x"}`, `,"set":"x`, `\,"set":"x\\"}`} {
		if got := SetOf([]byte(b)); got != "" {
			t.Errorf("%s: %q", b, got)
		}
	}
}

func TestEqual(t *testing.T) {
	huge := new(big.Int).Lsh(big.NewInt(1), 80)
	tests := map[string]struct {
		a, b any
		want bool
	}{
		"IntFloat":     {int64(5), 5.0, true},
		"IntBig":       {int64(5), big.NewInt(5), true},
		"BigFloat":     {huge, math.Ldexp(1, 80), true},
		"BigFloatOff":  {new(big.Int).Add(huge, big.NewInt(1)), math.Ldexp(1, 80), false},
		"IntNearFloat": {int64(9007199254740993), 9007199254740992.0, false},
		"MinusZero":    {math.Copysign(0, -1), int64(0), true},
		"NaN":          {math.NaN(), math.NaN(), false},
		"TextInt":      {"5", int64(5), false},
		"BoolText":     {true, "true", false},
		"NilEmpty":     {nil, "", false},
		"Nil":          {nil, nil, true},
		"Lists":        {[]any{int64(1), "a"}, []any{1.0, "a"}, true},
		"ListOrder":    {[]any{"a", "b"}, []any{"b", "a"}, false},
		"ListLength":   {[]any{"a"}, []any{"a", "a"}, false},
		"Maps": {map[string]any{"a": nil, "b": []any{}},
			map[string]any{"b": []any{}, "a": nil}, true},
		"MapNilAbsent":  {map[string]any{"a": nil}, map[string]any{"b": nil}, false},
		"Composed":      {"\u00e9", "e\u0301", false},
		"Files":         {File{someHash, 1}, File{someHash, 1}, true},
		"FileText":      {File{someHash, 1}, someHash, false},
		"SecretVersion": {Secret{"a", "1"}, Secret{"a", "2"}, false},
		"Facts":         {Fact{"a", "b"}, Fact{"a", "b"}, true},
		"NoValue":       {5, 5, false},
		"IntNoValue":    {int64(5), 5, false},
		"ListMap":       {[]any{}, map[string]any{}, false},
		"NilBig":        {(*big.Int)(nil), int64(0), false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if Equal(tc.a, tc.b) != tc.want || Equal(tc.b, tc.a) != tc.want {
				t.Errorf("Equal(%v, %v) is not %t both ways", tc.a, tc.b, tc.want)
			}
		})
	}
}

func TestReferencesAndWalk(t *testing.T) {
	v := map[string]any{
		"b": []any{Secret{"env:A", ""}, "x", map[string]any{"c": Parameter{"p"}}},
		"a": Fact{"f", "x::Y[a,n=v]"},
		"z": File{someHash, 1},
	}
	want := []any{Fact{"f", "x::Y[a,n=v]"}, Secret{"env:A", ""}, Parameter{"p"}, File{someHash, 1}}
	if got := References(v); !reflect.DeepEqual(got, want) {
		t.Errorf("References = %v, want %v", got, want)
	}
	before, _ := CanonicalValue(v)
	got, err := Walk(v, func(ref any) (any, error) {
		if p, ok := ref.(Parameter); ok {
			return p.Name, nil
		}
		return ref, nil
	})
	after, _ := CanonicalValue(v)
	if err != nil || string(before) != string(after) {
		t.Fatalf("Walk changed its argument: %v, %s", err, after)
	}
	if s := got.(map[string]any)["b"].([]any)[2].(map[string]any)["c"]; s != "p" {
		t.Errorf("the parameter became %v", s)
	}
	boom := errors.New("boom")
	if _, err := Walk(v, func(any) (any, error) { return nil, boom }); !errors.Is(err, boom) {
		t.Errorf("Walk = %v, want boom", err)
	}
}

func TestFromGo(t *testing.T) {
	type mode uint16
	type word string
	tests := map[string]struct{ v, want any }{
		"Int": {5, int64(5)}, "Uint8": {uint8(5), int64(5)}, "Named": {mode(5), int64(5)},
		"Word": {word("a"), "a"}, "Float32": {float32(0.5), 0.5},
		"Uint64":  {uint64(math.MaxUint64), bigInt("18446744073709551615")},
		"Strings": {[]string{"a"}, []any{"a"}},
		"Map":     {map[string]int{"a": 1}, map[string]any{"a": int64(1)}},
		"Nested":  {[]any{1, []int{2}}, []any{int64(1), []any{int64(2)}}},
		"Number":  {json.Number("12"), int64(12)}, "Fraction": {json.Number("1.50"), 1.5},
		"Nil": {nil, nil}, "Secret": {Secret{"a", ""}, Secret{"a", ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := FromGo(tc.v); err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("FromGo(%v) = %#v, %v, want %#v", tc.v, got, err, tc.want)
			}
		})
	}
	for name, v := range map[string]any{"Func": func() {}, "Pointer": new(int),
		"Struct": struct{}{}, "IntKeys": map[int]int{1: 1}, "Number": json.Number("x"),
		"Inside": []any{make(chan int)}} {
		t.Run(name, func(t *testing.T) {
			if got, err := FromGo(v); !fault.Is(err, fault.Invalid) {
				t.Errorf("FromGo = %v, %v, want fault.Invalid", got, err)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	r := sample()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	text, _ := sample().Encode()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	r, a := sample(), Agent{Name: "web1", Transport: "ssh",
		Options: map[string]any{"host": "10.0.0.7", "port": int64(22), "user": "deploy"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Hash(a); err != nil {
			b.Fatal(err)
		}
	}
}
