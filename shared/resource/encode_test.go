package resource

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"

	"southbound/shared/fault"
)

const someHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func bigInt(s string) *big.Int {
	n, _ := new(big.Int).SetString(s, 10)
	return n
}

func TestCanonicalValue(t *testing.T) {
	tests := map[string]struct {
		reason string
		v      any
		want   string
	}{
		"Null": {"nothing", nil, `null`},
		"Int":  {"plain digits", int64(-42), `-42`},
		"IntBeyondFloat": {"integers are exact where RFC 8785 would round",
			int64(9007199254740993), `9007199254740993`},
		"IntBeyondInt64":   {"of any size", bigInt("18446744073709551615"), `18446744073709551615`},
		"FloatWhole":       {"stays a float when it is read back", 5.0, `5.0`},
		"FloatMinusZero":   {"-0 stays what it is", math.Copysign(0, -1), `-0.0`},
		"FloatShortest":    {"shortest digits that read back", 0.1, `0.1`},
		"FloatSmall":       {"as ECMAScript", 1e-7, `1e-7`},
		"FloatSmallest":    {"as ECMAScript", 5e-324, `5e-324`},
		"FloatNotYetSmall": {"as ECMAScript", 0.000001, `0.000001`},
		"FloatLarge":       {"as ECMAScript", 1e21, `1e+21`},
		"FloatNotYetLarge": {"as ECMAScript", 1e20, `100000000000000000000.0`},
		"FloatLargest":     {"as ECMAScript", math.MaxFloat64, `1.7976931348623157e+308`},
		"Escapes": {"short escapes where there are, lower-case hex else; / and < stay",
			"\"\\\b\f\n\r\t\x00\x1f/<>\u2028\x7f", `"\"\\\b\f\n\r\t\u0000\u001f/<>` + "\u2028\x7f" +
				`"`},
		"NoNormalisation": {"composed and decomposed stay two texts",
			[]any{"\u00e9", "e\u0301", "\u212b"}, "[\"\u00e9\",\"e\u0301\",\"\u212b\"]"},
		"Order": {"of the example in RFC 8785: by UTF-16 code units",
			map[string]any{"\u20ac": int64(1), "\r": int64(2), "\ufb33": int64(3), "1": int64(4),
				"\U0001F600": int64(5), "\u0080": int64(6), "\u00f6": int64(7)},
			"{\"\\r\":2,\"1\":4,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":1,\"\U0001F600\":5,\"\ufb33\":3}"},
		"Empty": {"empty list and map", []any{[]any{}, map[string]any{}}, `[[],{}]`},
		"File": {"as in documents, with the size", File{someHash, 7},
			`{"file":"` + someHash + `","size":7}`},
		"Secret": {"without a version", Secret{"env:A", ""}, `{"secret":"env:A"}`},
		"SecretVersion": {"with a version", Secret{"env:A", "v1"},
			`{"secret":"env:A","version":"v1"}`},
		"Parameter": {"", Parameter{"n"}, `{"parameter":"n"}`},
		"Fact":      {"", Fact{"n", "x::Y[a,n=v]"}, `{"fact":"n","of":"x::Y[a,n=v]"}`},
		"LiteralFile": {"what looks like a reference is marked as literal",
			map[string]any{"file": "a"}, `{"value":{"file":"a"}}`},
		"LiteralValue": {"the mark itself too", map[string]any{"value": int64(1)},
			`{"value":{"value":1}}`},
		"LiteralNested": {"at every level of its own",
			map[string]any{"value": map[string]any{"fact": "a"}},
			`{"value":{"value":{"value":{"fact":"a"}}}}`},
		"LiteralHoldsRef": {"references within stay references",
			map[string]any{"secret": Secret{"env:A", ""}, "x": int64(1)},
			`{"value":{"secret":{"secret":"env:A"},"x":1}}`},
		"NotLiteral": {"other names need no mark", map[string]any{"size": int64(1), "of": "x",
			"version": "y"}, `{"of":"x","size":1,"version":"y"}`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := CanonicalValue(tc.v)
			if err != nil || string(got) != tc.want {
				t.Fatalf("%s: CanonicalValue = %s, %v, want %s", tc.reason, got, err, tc.want)
			}
			if !json.Valid(got) {
				t.Errorf("%s: %s is not valid JSON", tc.reason, got)
			}
			back, err := DecodeValue(got)
			if err != nil || !reflect.DeepEqual(plus(back), plus(tc.v)) {
				t.Errorf("%s: DecodeValue(%s) = %#v, %v, want %#v", tc.reason, got, back, err, tc.v)
			}
		})
	}
}

// plus removes the sign of a zero, which is not kept.
func plus(v any) any {
	if v == 0.0 {
		return 0.0
	}
	return v
}

func TestCanonicalValueRefuses(t *testing.T) {
	deep := any("x")
	for range MaxDepth + 1 {
		deep = []any{deep}
	}
	tests := map[string]struct {
		v    any
		want string
	}{
		"NaN": {math.NaN(), "NaN is not a number"},
		"Inf": {[]any{math.Inf(-1)}, "in item 1: encode value: -Inf"},
		"NotUTF8": {map[string]any{"a": "b\xff"},
			`in "a": encode value: the text is not UTF-8 at byte 2`},
		"KeyNotUTF8":   {map[string]any{"\xff": "b"}, "not UTF-8"},
		"Surrogate":    {"\xed\xa0\x80", "not UTF-8"},
		"GoInt":        {5, "a int is not a value"},
		"GoSlice":      {[]string{"a"}, "a []string is not a value"},
		"NilBig":       {(*big.Int)(nil), "not a value"},
		"FileNoHash":   {File{"abc", 1}, "not a value"},
		"FileUpper":    {File{strings.ToUpper(someHash), 1}, "not a value"},
		"FileNegative": {File{someHash, -1}, "not a value"},
		"SecretEmpty":  {Secret{}, "not a value"},
		"ParamEmpty":   {Parameter{}, "not a value"},
		"FactEmpty":    {Fact{"a", ""}, "not a value"},
		"TooDeep":      {deep, "nested more than"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			b, err := CanonicalValue(tc.v)
			if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("CanonicalValue = %s, %v, want %q", b, err, tc.want)
			}
		})
	}
}

func TestDepthIsTheSameBothWays(t *testing.T) {
	for _, step := range []func(v any) any{
		func(v any) any { return []any{v} },
		func(v any) any { return map[string]any{"a": v} },
		func(v any) any { return map[string]any{"value": v} },
	} {
		v := any(int64(1))
		for range MaxDepth + 2 {
			b, err := CanonicalValue(v)
			if err == nil {
				if _, err := DecodeValue(b); err != nil {
					t.Fatalf("encodes and does not decode: %v: %.60s", err, b)
				}
			}
			v = step(v)
		}
	}
	if _, err := DecodeValue(bytes.Repeat([]byte("["), 1e6)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a million brackets: %v", err)
	}
}

func TestUTF16Order(t *testing.T) {
	runes := []rune{'a', 'z', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xf8ff, 0xffff, 0x10000,
		0x10ffff}
	for _, x := range runes {
		for _, y := range runes {
			for _, tail := range []string{"", "b"} {
				a, b := "p"+string(x)+tail, "p"+string(y)
				ua, ub := utf16.Encode([]rune(a)), utf16.Encode([]rune(b))
				want := 0
				for i := 0; want == 0 && i < min(len(ua), len(ub)); i++ {
					want = int(ua[i]) - int(ub[i])
				}
				if want == 0 {
					want = len(ua) - len(ub)
				}
				if got := compareUTF16(a, b); (got < 0) != (want < 0) || (got > 0) != (want > 0) {
					t.Errorf("compareUTF16(%q, %q) = %d, want the sign of %d", a, b, got, want)
				}
			}
		}
	}
}

func TestDecodeValueRefuses(t *testing.T) {
	tests := map[string]string{
		"Empty": ``, "Space": ` `, "Trailing": `1 2`, "Word": `nul`, "Comma": `[1,]`,
		"NoComma": `[1 2]`, "Open": `[1`, "OpenMap": `{"a":1`,
		"NoColon": `{"a" 1}`, "KeyNotText": `{1:1}`, "Twice": `{"a":1,"a":1}`,
		"TwiceValue":  `{"value":{"file":1},"value":{"file":1}}`,
		"LeadingZero": `01`, "Plus": `+1`, "Dot": `1.`, "DotFirst": `.5`, "Exp": `1e`, "Minus": `-`,
		"Hex": `0x1`, "TooLarge": `1e999`, "NaN": `NaN`,
		"BareControl": "\"a\nb\"", "BadEscape": `"\x"`, "ShortUnicode": `"\u12"`,
		"NotHex": `"\u00zz"`, "HalfPair": `"\ud800"`, "WrongPair": `"\ud800\u0041"`,
		"LowFirst": `"\udc00"`, "NoEnd": `"abc`, "NoEndEscaped": `"ab\n`, "EscapeAtEnd": `"\`,
		"NotUTF8": "\"\xff\"", "NotUTF8Escaped": "\"\\n\xff\"",
		"FileShort": `{"file":"ab","size":1}`, "FileNoSize": `{"file":"` + someHash + `"}`,
		"FileMore":  `{"file":"` + someHash + `","size":1,"x":1}`,
		"FileFloat": `{"file":"` + someHash + `","size":1.5}`, "SecretNumber": `{"secret":1}`,
		"SecretEmpty": `{"secret":""}`, "SecretVersionEmpty": `{"secret":"a","version":""}`,
		"ParameterMore": `{"parameter":"a","x":1}`, "FactNoOf": `{"fact":"a"}`,
		"ValueNeedless": `{"value":{"a":1}}`, "ValueScalar": `{"value":1}`,
		"ValueMore": `{"value":{"file":1},"a":1}`, "Quotes": `'a'`,
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := DecodeValue([]byte(text))
			if !fault.Is(err, fault.Invalid) || v != nil {
				t.Errorf("DecodeValue(%s) = %v, %v, want fault.Invalid", text, v, err)
			}
		})
	}
}

func TestDecodeValueTakesOtherSpellings(t *testing.T) {
	got, err := DecodeValue(
		[]byte(" { \"b\" : [ 1 , -0 , 2.50, 1E2 ] ,\n\"a\" : \"\\u00e9\\ud83d\\ude00\\/\" } "))
	want := map[string]any{"a": "é😀/", "b": []any{int64(1), int64(0), 2.5, 100.0}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("DecodeValue = %#v, %v, want %#v", got, err, want)
	}
}

func FuzzDecodeValue(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5,"x\n",null,true]}`, `{"value":{"file":"a"}}`,
		`{"secret":"env:A","version":"1"}`, `{"fact":"n","of":"x"}`, `"\ud83d\ude00"`,
		`-0.0`, `1e+21`, `18446744073709551616`, `{"value":{"value":{"a":1}}}`,
		`{"file":"` + someHash + `","size":0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := DecodeValue(b)
		if err != nil {
			return
		}
		if !json.Valid(b) {
			t.Fatalf("%q is not valid JSON and was read as %#v", b, v)
		}
		text, err := CanonicalValue(v)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", b, err)
		}
		w, err := DecodeValue(text)
		if err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%q: %#v is written as %s and read as %#v, %v", b, v, text, w, err)
		}
		again, _ := CanonicalValue(w)
		if !bytes.Equal(text, again) || !Equal(v, w) {
			t.Fatalf("%s and %s differ", text, again)
		}
	})
}

// Random values are read back as they were, and are Equal to what their hash is made of.
func TestValueRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		v := randomValue(rng, 4)
		b, err := CanonicalValue(v)
		if err != nil {
			t.Fatal(err)
		}
		w, err := DecodeValue(b)
		if err != nil || !reflect.DeepEqual(v, w) {
			t.Fatalf("%s: %#v reads back as %#v, %v", b, v, w, err)
		}
		c, err := appendValue(nil, v, byValue, 0)
		if err != nil || !json.Valid(c) {
			t.Fatalf("%s, %v", c, err)
		}
		x, err := DecodeValue(c)
		if err != nil || !Equal(v, x) {
			t.Fatalf("%s: %#v is not %#v, %v", c, v, x, err)
		}
	}
}

func randomValue(rng *rand.Rand, depth int) any {
	texts := []string{"", "a", "file", "value", "secret", "fact", "parameter", "é", "\U0001F600",
		"\ue000", "a\n\"", "\x00"}
	text := func() string { return texts[rng.IntN(len(texts))] }
	switch n := rng.IntN(14); {
	case n == 0:
		return nil
	case n == 1:
		return rng.IntN(2) == 0
	case n == 2:
		return rng.Int64() - rng.Int64()
	case n == 3:
		return new(big.Int).Lsh(big.NewInt(rng.Int64()|1<<62), 8)
	case n == 4:
		return float64(rng.IntN(100))
	case n == 5:
		return math.Ldexp(rng.Float64(), rng.IntN(200)-100)
	case n == 6:
		return File{someHash, rng.Int64()}
	case n == 7:
		return Secret{"env:A", text()}
	case n == 8 && depth > 2:
		return Text{[]any{"a" + text(), Secret{"env:A", ""}, Fact{"f", "x::Y[a,n=v]"}}}
	case n == 8:
		return []any{Parameter{"p"}, Fact{"f", "x::Y[a,n=v]"}}
	case n == 9 || depth == 0:
		return text()
	case n < 12:
		out := []any{}
		for range rng.IntN(4) {
			out = append(out, randomValue(rng, depth-1))
		}
		return out
	}
	out := map[string]any{}
	for range rng.IntN(4) {
		out[text()] = randomValue(rng, depth-1)
	}
	return out
}
