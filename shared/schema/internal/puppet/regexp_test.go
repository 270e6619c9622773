package puppet

import (
	"strings"
	"testing"
)

func TestRubyMeaning(t *testing.T) {
	tests := map[string]struct {
		reason string
		source string
		good   []string
		bad    []string
	}{
		"HexDigit": {`\h is a hex digit`, `^\h\H[\h]$`, []string{"fgF"},
			[]string{"ggf", "fff"}},
		"Dot": {"the dot does not match a line break", `a.b`, []string{"axb"},
			[]string{"a\nb"}},
		"DotAll": {"(?m) makes it", `(?m:a.b)`, []string{"a\nb"}, []string{"ab"}},
		"DotAllOff": {"and (?-m) takes it back", `(?mi)a(?-m:.)b`, []string{"AxB"},
			[]string{"a\nb"}},
		"Space": {`\s has the vertical tab`, `^a\sb$`, []string{"a\vb", "a b"},
			[]string{"axb"}},
		"SpaceInClass": {`in brackets too`, `^a[\s,]b[\S]$`, []string{"a\vbx", "a,by"},
			[]string{"a,b\v", "axbx"}},
		"NotSpace": {`\S has not`, `^\S$`, []string{"a"}, []string{"\v"}},
		"NoStart": {"{,n} is {0,n}", `\Aa{,2}\z`, []string{"", "aa"},
			[]string{"aaa", "a{,2}"}},
		"Brace": {"a brace that counts nothing is itself", `^{a}{$`, []string{"{a}{"},
			[]string{"a"}},
		"Slash": {`\/ is /`, `^a\/b[\/]$`, []string{"a/b/"}, []string{`a\/b/`}},
		"Unicode": {`\uXXXX and \u{X}`, `^\u00e9\u{1F600}$`, []string{"é\U0001F600"},
			[]string{"e"}},
		"Comment": {"(?#…) is nothing", `^a(?#note)b$`, []string{"ab"},
			[]string{"a(?#note)b"}},
		"Names": {"named groups in both spellings", `^(?<x>a)(?'y'b)$`, []string{"ab"},
			[]string{"ba"}},
		"Letter": {"a letter without meaning is itself", `^\y\-\_\:\@$`, []string{"y-_:@"},
			[]string{"x"}},
		"Quoted": {`\Q is not a quotation in Ruby`, `^\Qa.\E$`, []string{"QaxE"},
			[]string{"a."}},
		"NotASCII": {"any character may be escaped", `^\é$`, []string{"é"}, []string{"e"}},
		"Posix": {"[:alpha:] knows Unicode", `^[[:alpha:]_]+$`, []string{"äß_"},
			[]string{"a1"}},
		"LineBreaks": {`\R is any line break`, `a\Rb`, []string{"a\r\nb", "a\nb"},
			[]string{"ab"}},
		"Escape":    {`\e`, `^\e[\e]$`, []string{"\x1b\x1b"}, []string{"ee"}},
		"Backspace": {`\b in brackets is a backspace`, `^[\b]$`, []string{"\b"}, []string{"b"}},
		"EndBeforeEnd": {`\Z in an alternative`, `(?:a\Z|b)`, []string{"a\n", "bc"},
			[]string{"a\n\n"}},
		"Numbers":      {"ASCII digits only", `^\d\w$`, []string{"1a"}, []string{"٣a"}},
		"Hex":          {"as a number", `^\x41[\x42]$`, []string{"AB"}, []string{"x41"}},
		"ColonInClass": {"a colon alone in brackets", `^[:][a:]$`, []string{"::"}, []string{"a"}},
		"FlagReach": {"an option reaches to the end of its group, over |", `^a(?i)b|c$`,
			[]string{"aB", "aC"}, []string{"AB", "xC"}},
		"FlagInGroup": {"and not further", `^((?i)a)b$`, []string{"Ab"}, []string{"AB"}},
		"Extended": {"white space and comments", "(?x) ^a  b # c\n [ c]\\ $",
			[]string{"abc ", "ab  "}, []string{"abc", "a b "}},
		"ExtendedGroup": {"in a group alone", "^(?x: a b ) c(?mix-x: d )$", []string{"ab c d "},
			[]string{"abc d ", "ab cd"}},
		"RepeatOften": {"more than Go repeats", `^a{2,1500}$`,
			[]string{"aa", strings.Repeat("a", 1500)}, []string{"a", strings.Repeat("a", 1501)}},
		"RepeatExactly": {"exactly", `^(?:a|b){1001}c$`, []string{strings.Repeat("b", 1001) + "c"},
			[]string{strings.Repeat("b", 1000) + "c"}},
		"RepeatAtLeast": {"without an end", `^[ab]{1200,}$`, []string{strings.Repeat("b", 5000)},
			[]string{strings.Repeat("b", 1199)}},
		"RepeatTwice": {"a repetition of a repetition", `^a{2}{3}(?:b{2}+)+?$`,
			[]string{"aaaaaabb"}, []string{"aaaaabb", "aaaaaab"}},
		"LineStart": {"no line starts behind the last line break", `^\d*$`,
			[]string{"a\n1\n", "1\n", "", "a\n\n"}, []string{"a\n"}},
		"LineStartOr": {"what needs no line matches there", `^\d+$|\z`, []string{"a\n"}, nil},
		"Property": {`\p{…} by class, category and script`,
			`^\p{Alpha}\p{L}[\p{^L}]\P{Upper}\p{Greek}$`, []string{"aé1bΩ"},
			[]string{"1é1bΩ", "aé1BΩ", "aéxbΩ"}},
		"NegatedAlpha": {"a class of Unicode that is negated", `^[[:^alpha:]]+$`, []string{"1-"},
			[]string{"é"}},
		"NotHexInClass": {`\H in brackets`, `^[\H]+$`, []string{"gé"}, []string{"f"}},
		"HexRepeated": {"a number is one character to be repeated", `^\x61{1,2}+\x6{2}\02{1001}$`,
			[]string{"aaaaa\x06\x06" + strings.Repeat("\x02", 1001)}, []string{"a6\x06", "aa"}},
		"NulInClass": {"also in brackets", `^[\0\x01-\x1f]+$`, []string{"\x00\x1f"},
			[]string{"0", "x"}},
		"FirstBracket": {"] first in brackets is itself", `^[]a]+[^]a]$`, []string{"]ab"},
			[]string{"]a]"}},
		"Octal": {"as an octal number", `^\141[\142]$`, []string{"ab"}, nil},
		"Roman": {"numbers that are letters", `^[[:alpha:]][[:alnum:]][[:word:]]$`,
			[]string{"ⅧⅧⅧ"}, []string{"1aa"}},
		"NegatedDigits": {"a class that can be negated", `^[[:^digit:]]$`, []string{"a"},
			[]string{"1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			re, err := Compile(tc.source)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for _, s := range tc.good {
				if !re.MatchString(s) {
					t.Errorf("%s: /%s/ (%s) does not match %q", tc.reason, tc.source, re, s)
				}
			}
			for _, s := range tc.bad {
				if re.MatchString(s) {
					t.Errorf("%s: /%s/ (%s) matches %q", tc.reason, tc.source, re, s)
				}
			}
		})
	}
}

func TestRubyRefused(t *testing.T) {
	tests := map[string]struct{ source, want string }{
		"Ahead": {`a(?=b)`, "a look ahead"}, "NotAhead": {`a(?!b)`, "a look ahead"},
		"Behind": {`(?<=a)b`, "a look behind"}, "NotBehind": {`(?<!a)b`, "a look behind"},
		"Atomic": {`(?>a)`, "an atomic group"}, "Absent": {`(?~a)`, "an absence operator"},
		"Condition": {`(a)(?(1)b|c)`, "a condition"}, "Python": {`(?P<n>a)`, "Ruby does not know"},
		"Back": {`(a)\1`, "a back reference"}, "NamedBack": {`(?<n>a)\k<n>`, "a back reference"},
		"Call":           {`(?<n>a)\g<n>`, "a call of a group"},
		"Possessive":     {`a++`, "a possessive repetition"},
		"PossessiveStar": {`a*+b`, "a possessive repetition"},
		"Lazy":           {`a{2}?`, "in Ruby; write that"}, "Option": {`(?a)a`, `the option "a"`},
		"EndInName":    {`(?<a>b\Z)`, "would take the line break, too"},
		"Intersection": {`[a-z&&[^b]]`, "&& in brackets"},
		"Nested":       {`[a[b]]`, "brackets in brackets"}, "Empty": {`[]a`, "empty brackets"},
		"Open": {`[a`, "a [ has no ]"}, "OpenEscape": {`[a\`, "a [ has no ]"},
		"TooMany": {`a)`, "a ) has no ("}, "NoGroupEnd": {`(a`, "a group has no end"},
		"NothingToRepeat":      {`a|*`, "nothing before *"},
		"NothingToRepeatOften": {`{2000}`, "nothing that could be repeated"},
		"NameOften":            {`(?<a>b){2000}`, "a group with a name"},
		"CountEmpty":           {`a{3,1}`, "is empty: 3 is above 1"},
		"NoHex":                {`\xg`, `\x without hex digits`}, "NoProperty": {`\pL`, `\p without {`},
		"NameNoEnd": {`(?<a`, "no end"}, "Control": {`\cA`, "a control character"},
		"Keep": {`a\Kb`, `\K, which cannot be run`}, "EndThenMore": {`a\Zb`, `\Z stands before`},
		"End": {`a\`, `a \ at the end`}, "UnicodeShort": {`\u12`, "hex digits"},
		"Posix":       {`[[:nope:]]`, "[:nope:] cannot be run"},
		"Count":       {`a{20000}`, "more often than 10000"},
		"Property":    {`\p{Nope}`, "invalid character class range"},
		"CommentOpen": {`(?#a`, "no end"}, "NameOpen": {`(?'a`, "no end"},
		"GroupOpen": {`(?i`, "no end"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if re, err := Compile(tc.source); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("/%s/: %v, %v, want %q", tc.source, re, err, tc.want)
			}
		})
	}
}
