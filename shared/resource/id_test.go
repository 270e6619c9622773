package resource

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"southbound/shared/fault"
)

func TestParseID(t *testing.T) {
	tests := map[string]struct {
		reason string
		id     string
		want   Parts
	}{
		"OneKey": {"the usual form", "fs::File[web1,path=/etc/motd]",
			Parts{"fs::File", "web1", []Key{{"path", "/etc/motd"}}}},
		"SeveralKeys": {"declared order is kept", "net::Rule[fw,b=2,a=1]",
			Parts{"net::Rule", "fw", []Key{{"b", "2"}, {"a", "1"}}}},
		"LongType": {"more than two names are fine", "a::b::C_1[x,n=v]",
			Parts{"a::b::C_1", "x", []Key{{"n", "v"}}}},
		"EscapedValue": {"the four characters stand with a backslash", `x::Y[a,n=\,\=\]\\]`,
			Parts{"x::Y", "a", []Key{{"n", `,=]\`}}}},
		"EscapedAgent": {"the agent is escaped too", `x::Y[a\,b\=c\]\\,n=v]`,
			Parts{"x::Y", `a,b=c]\`, []Key{{"n", "v"}}}},
		"OpenBracket": {"[ needs no escape", "x::Y[[a,n=[v]",
			Parts{"x::Y", "[a", []Key{{"n", "[v"}}}},
		"LineBreak": {"values may span lines", "x::Y[a,n=1\n2\t3]",
			Parts{"x::Y", "a", []Key{{"n", "1\n2\t3"}}}},
		"Unicode": {"text is kept as it is, decomposed or not",
			"x::Y[büro,n=e\u0301\U0001F600]",
			Parts{"x::Y", "büro", []Key{{"n", "e\u0301\U0001F600"}}}},
		"Replacement": {"U+FFFD itself is a character", "x::Y[\uFFFD,n=\uFFFD]",
			Parts{"x::Y", "\uFFFD", []Key{{"n", "\uFFFD"}}}},
		"SharedPrefix": {"an attribute may be named like the start of another",
			"x::Y[a,name=1,nam=2,n=3]",
			Parts{"x::Y", "a", []Key{{"name", "1"}, {"nam", "2"}, {"n", "3"}}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseID(tc.id)
			if err != nil {
				t.Fatalf("%s: ParseID(%q): %v", tc.reason, tc.id, err)
			}
			if got.Type != tc.want.Type || got.Agent != tc.want.Agent ||
				!slices.Equal(got.Keys, tc.want.Keys) {
				t.Errorf("%s: ParseID(%q) = %+v, want %+v", tc.reason, tc.id, got, tc.want)
			}
			if id := got.ID(); id != ID(tc.id) || id.Type() != got.Type || id.Agent() != got.Agent {
				t.Errorf("%s: ID() = %q, Type() = %q, Agent() = %q", tc.reason, id, id.Type(),
					id.Agent())
			}
			if err := got.Validate(); err != nil {
				t.Errorf("%s: Validate: %v", tc.reason, err)
			}
		})
	}
}

func TestParseIDRefuses(t *testing.T) {
	tests := map[string]struct {
		id   string
		want string // part of the error
	}{
		"Empty":          {"", "at character 1"},
		"NoBracket":      {"fs::File", "expected [ and an agent behind the type at character 9"},
		"OneName":        {"File[a,n=v]", "at character 5"},
		"OneColon":       {"fs:File[a,n=v]", "at character 3"},
		"ThreeColons":    {"fs:::File[a,n=v]", "at character 5"},
		"EndsInColons":   {"fs::[a,n=v]", "at character 5"},
		"DigitFirst":     {"fs::1[a,n=v]", "at character 5"},
		"TypeNotASCII":   {"fs::Fïle[a,n=v]", "at character 6"},
		"NoAgent":        {"x::Y[,n=v]", "expected the name of an agent at character 6"},
		"AgentLineBreak": {"x::Y[a\nb,n=v]", "all print"},
		"AgentNotUTF8":   {"x::Y[\xff,n=v]", "all print"},
		"AgentTooLong":   {"x::Y[" + strings.Repeat("a", 256) + ",n=v]", "255 bytes"},
		"NoKeys":         {"x::Y[a]", "expected , and a naming attribute at character 7"},
		"NoEquals":       {"x::Y[a,n]", "expected name=value at character 8"},
		"NameEmpty":      {"x::Y[a,=v]", "expected the name of an attribute at character 8"},
		"NameBad":        {"x::Y[a,n-m=v]", "expected the name of an attribute at character 9"},
		"NameTwice": {"x::Y[a,n=1,m=2,n=3]",
			"the attribute n is there twice, at character 16"},
		"NameTwiceEscaped": {`x::Y[a,n=\,m\=1,m=2,n=3]`, "twice, at character 21"},
		"ValueEmpty":       {"x::Y[a,n=]", "expected a value"},
		"ValueNUL":         {"x::Y[a,n=ab\x00]", "at character 12"},
		"ValueNotUTF8":     {"x::Y[a,n=é\xff]", "at character 11"},
		"NoEnd":            {"x::Y[a,n=v", "expected , or ] at character 11"},
		"More":             {"x::Y[a,n=v] ", "expected nothing more at character 12"},
		"BareEquals":       {"x::Y[a,n=v=w]", "expected , or ] at character 11"},
		"NeedlessEscape": {`x::Y[a,n=\v]`,
			`a \ stands before nothing that needs it at character 10`},
		"EscapeAtEnd":       {`x::Y[a,n=\`, "at character 10"},
		"EscapedEnd":        {`x::Y[a,n=v\]`, "expected , or ]"},
		"SpaceBeforeAName":  {"x::Y[a, n=v]", "at character 8"},
		"PositionInLetters": {"x::Y[ä,ö=v]", "at character 8"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseID(tc.id)
			if err == nil {
				t.Fatalf("ParseID(%q) = %+v, want an error", tc.id, got)
			}
			if !fault.Is(err, fault.Invalid) || fault.HintOf(err) == "" ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("ParseID(%q): %v, want %q in it", tc.id, err, tc.want)
			}
		})
	}
}

// What is not well formed must not make the cheap accessors fail.
func TestTypeAndAgentOfAnything(t *testing.T) {
	for _, id := range []ID{"", "x", "[", "x[", "x::Y[a", `x::Y[a\`, `x::Y[a\x,n=v]`, "[a,b=c]"} {
		_, _ = id.Type(), id.Agent()
	}
	if got := ID("x::Y[a").Agent(); got != "" {
		t.Errorf("agent of an id without an end is %q, want none", got)
	}
}

func TestValidateRefusesWhatReadsBackDifferently(t *testing.T) {
	good := Parts{"x::Y", "a", []Key{{"n", "v"}}}
	tests := map[string]func(p *Parts){
		"TypeWithBracket": func(p *Parts) { p.Type = "x::Y[b" },
		"NameWithEquals":  func(p *Parts) { p.Keys[0].Name = "n=v" },
		"NameWithComma":   func(p *Parts) { p.Keys[0].Name = "n=v,m" },
		"NoKeys":          func(p *Parts) { p.Keys = nil },
		"NoAgent":         func(p *Parts) { p.Agent = "" },
		"EmptyValue":      func(p *Parts) { p.Keys[0].Value = "" },
		"Twice":           func(p *Parts) { p.Keys = append(p.Keys, Key{"n", "w"}) },
	}
	for name, spoil := range tests {
		t.Run(name, func(t *testing.T) {
			p := Parts{good.Type, good.Agent, slices.Clone(good.Keys)}
			spoil(&p)
			if err := p.Validate(); !fault.Is(err, fault.Invalid) {
				t.Errorf("Validate(%+v) = %v, want fault.Invalid", p, err)
			}
		})
	}
}

// Any parts that pass Validate are read back as they were.
func TestIDRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := []rune(`,=]\[:ab1 _-é` + "\n\t\u0301\U0001F600")
	text := func(from []rune) string {
		out := make([]rune, 1+rng.IntN(8))
		for i := range out {
			out[i] = from[rng.IntN(len(from))]
		}
		return string(out)
	}
	for range 20000 {
		p := Parts{Type: "x::Y", Agent: text(letters[:13])}
		for i := range 1 + rng.IntN(3) {
			p.Keys = append(p.Keys, Key{"abc"[i : i+1], text(letters)})
		}
		got, err := ParseID(string(p.ID()))
		if err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		if got.Agent != p.Agent || !slices.Equal(got.Keys, p.Keys) {
			t.Fatalf("%q reads back as %+v, want %+v", p.ID(), got, p)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"fs::File[web1,path=/etc/motd]", `x::Y[a\,b,n=\,\=\]\\,m=2]`,
		"x::Y[a,n=1\n2]", "x::Y[a]", `x::Y[a,n=\`, "x:::Y[a,n=v]", "x::Y[a,n=\xff]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParseID(s)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatalf("ParseID(%q): kind %q", s, fault.KindOf(err))
			}
			_, _ = ID(s).Type(), ID(s).Agent()
			return
		}
		if id := p.ID(); string(id) != s {
			t.Fatalf("ParseID(%q) formats as %q", s, id)
		}
		if ID(s).Type() != p.Type || ID(s).Agent() != p.Agent {
			t.Fatalf("%q: Type() = %q, Agent() = %q, want %+v", s, ID(s).Type(), ID(s).Agent(), p)
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%q: Validate: %v", s, err)
		}
	})
}

func TestKeyText(t *testing.T) {
	tests := map[string]struct {
		reason string
		v      any
		want   string
		ok     bool
	}{
		"Text":     {"as it is", "a b", "a b", true},
		"Int":      {"decimal", int64(-5), "-5", true},
		"Big":      {"exact", new(big.Int).Lsh(big.NewInt(1), 70), "1180591620717411303424", true},
		"Bool":     {"as in JSON", true, "true", true},
		"Whole":    {"5.0 and 5 name the same thing, as they hash alike", 5.0, "5", true},
		"Fraction": {"shortest form", 0.1, "0.1", true},
		"Million":  {"no exponent where none is needed", 1e6, "1000000", true},
		"Empty":    {"nothing cannot name", "", "", false},
		"NaN":      {"no number", math.NaN(), "", false},
		"NUL":      {"cannot stand in an id", "a\x00", "", false},
		"NotUTF8":  {"cannot stand in an id", "a\xff", "", false},
		"Nil":      {"no scalar", nil, "", false},
		"List":     {"no scalar", []any{"a"}, "", false},
		"Secret":   {"not known", Secret{Source: "env:A"}, "", false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := KeyText(tc.v)
			if ok != tc.ok || ok && got != tc.want {
				t.Errorf("%s: KeyText(%v) = %q, %t, want %q, %t", tc.reason, tc.v, got, ok, tc.want,
					tc.ok)
			}
			if ok {
				if _, err := ParseID(string(NewID("x::Y", "a", Key{"n", got}))); err != nil {
					t.Errorf("%s: an id with it: %v", tc.reason, err)
				}
			}
		})
	}
}

func BenchmarkParseID(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseID("fs::File[web1,path=/srv/site/pages/index.html]"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIDAgent(b *testing.B) {
	id := ID("fs::File[web1,path=/srv/site/pages/index.html]")
	b.ReportAllocs()
	for b.Loop() {
		if id.Agent() == "" || id.Type() == "" {
			b.Fatal("empty")
		}
	}
}

// TestOn pins which ids leave out their agent, and what they stand for.
func TestOn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, text, agent, want string
		wrong                  bool
	}{
		{"the own agent", "fs::File[path=/x]", "web1", "fs::File[web1,path=/x]", false},
		{"several naming attributes", "t::P[a=1,b=2]", "web1", "t::P[web1,a=1,b=2]", false},
		{"an agent that has to be escaped", "fs::File[path=/x]", "a=b", `fs::File[a\=b,path=/x]`,
			false},
		{"a whole id stays", "fs::File[db1,path=/x]", "web1", "fs::File[db1,path=/x]", false},
		{"an escaped = belongs to an agent", `fs::File[a\=b,path=/x]`, "web1",
			`fs::File[a\=b,path=/x]`, false},
		{"what is not an id stays wrong", "fs::File", "web1", "fs::File", true},
		{"no value", "fs::File[path=]", "web1", "fs::File[web1,path=]", true},
		{"no end", "fs::File[path=/x", "web1", "fs::File[web1,path=/x", true},
	} {
		if got := On(c.text, c.agent); string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.why, got, c.want)
		}
		if err := CheckReference(c.text); (err != nil) != c.wrong {
			t.Errorf("%s: got %v", c.why, err)
		}
	}
	if err := CheckReference("fs::File[path=]"); err == nil ||
		!strings.Contains(err.Error(),
			`"fs::File[path=]": expected a value, which is text that is not empty, at character 15`) {
		t.Errorf("got %v", err)
	}
}
