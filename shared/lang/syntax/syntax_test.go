package syntax

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// saved is a text, and what the reference compiler made of it.
type saved struct {
	Text       string
	OK         bool
	Statements []string
	Line       int32 // of its error
}

func reference(t testing.TB) []saved {
	t.Helper()
	f, err := os.Open("testdata/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []saved
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var s saved
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if len(out) < 500 {
		t.Fatalf("only %d texts", len(out))
	}
	return out
}

func wrong(problems []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(problems), func(p Problem) bool { return p.Warning })
}

// TestReference holds the parser against the reference compiler: what is accepted, what the tree
// is, and on which line an error is found.
func TestReference(t *testing.T) {
	t.Parallel()
	errors, elsewhere := 0, 0
	names := strings.NewReplacer("DefineTypeConstraint", "Typedef", "Define", "")
	for _, c := range reference(t) {
		f, problems := Parse(c.Text)
		bad := wrong(problems)
		if (len(bad) == 0) != c.OK {
			t.Errorf("accepted by the reference: %v; here: %v\n%s", c.OK, bad, c.Text)
			continue
		}
		if !c.OK {
			errors++
			if !slices.ContainsFunc(bad, func(p Problem) bool { return p.Pos.Line == c.Line }) {
				elsewhere++
			}
			continue
		}
		for i := range c.Statements {
			c.Statements[i] = names.Replace(c.Statements[i])
		}
		got := showAll(f.Body)
		if len(c.Statements) == len(got)+1 {
			c.Statements = c.Statements[1:] // the text that describes the module
		}
		if d := cmp.Diff(c.Statements, got); d != "" {
			t.Errorf("%s\n(-reference +here)\n%s", c.Text, d)
		}
	}
	if elsewhere*20 > errors {
		t.Errorf("of %d errors %d are on lines of which nothing is said", errors, elsewhere)
	}
}

// tokensOf are the tokens and the comments of a text, without their places.
func tokensOf(text string) []string {
	tokens, _ := Scan(text)
	var out []string
	for _, t := range tokens {
		part := strings.ReplaceAll(strings.ReplaceAll(t.Text, "\r\n", "\n"), "\r", "\n")
		switch t.Kind {
		case Comment:
			part = strings.TrimRight(part, " \t")
		case Regex:
			part = part[strings.IndexByte(part, '/'):]
		}
		out = append(out, part)
	}
	return out
}

// keeps checks that a text is formatted once and for all, and means the same afterwards.
func keeps(t *testing.T, text string) {
	t.Helper()
	once, problems := Formatted(text)
	if len(wrong(problems)) > 0 {
		if once != text {
			t.Errorf("a wrong text was changed:\n%s", text)
		}
		return
	}
	if d := cmp.Diff(tokensOf(text), tokensOf(once)); d != "" {
		t.Errorf("%s\n(-before +formatted)\n%s", text, d)
	}
	if twice, _ := Formatted(once); twice != once {
		t.Errorf("formatted twice:\n%s\n(-once +twice)\n%s", text, cmp.Diff(once, twice))
	}
}

// TestFormattedKeepsMeaning formats all texts at hand.
func TestFormattedKeepsMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range reference(t) {
		keeps(t, c.Text)
		keeps(t, strings.ReplaceAll(c.Text, " ", "  ")+" # end")
		keeps(t, strings.ReplaceAll(c.Text, "\n", "\r\n# c \r\n\r\n\r\n"))
	}
}

// TestFormatted pins the one form.
func TestFormatted(t *testing.T) {
	t.Parallel()
	const before = `

"""  The module. """
import   std
entity   Host extends std::Entity,net::Named :


   """ A machine. """
   string name="x"# what it is called
   string[ ]? names = ["a",]
  dict? d = null

end
typedef port as int matching   self>0 and self<65536
Host.files [ 0 : ] -- File.host [1]
implementation i for Host:
 for x in self.files:
 if x.a==1 : y=2 elif z: q = [a.b for a in c if d]
 else: f(1,b=2,**{"a":1}) end
 end
 self.requires+=a ? b:c


 m = a [1] ["k"] is defined
end
implement Host using i
    when   a is defined
y = Host(name = "a", # why
   b=[1,
   2], c={
 "a": 1
})
# the end`
	const want = `"""  The module. """
import std
entity Host extends std::Entity, net::Named:
    """ A machine. """
    string name = "x"  # what it is called
    string[]? names = ["a",]
    dict? d = null
end
typedef port as int matching self > 0 and self < 65536
Host.files [0:] -- File.host [1]
implementation i for Host:
    for x in self.files:
        if x.a == 1:
            y = 2
        elif z:
            q = [a.b for a in c if d]
        else:
            f(1, b=2, **{"a": 1})
        end
    end
    self.requires += a ? b : c

    m = a[1]["k"] is defined
end
implement Host using i
    when a is defined
y = Host(name="a",  # why
    b=[1,
        2], c={
        "a": 1
    })
# the end
`
	got, problems := Formatted(before)
	if d := cmp.Diff(want, got); d != "" || len(problems) > 0 {
		t.Errorf("(-want +got)\n%s%v", d, problems)
	}
	keeps(t, before)
}

// TestProblems pins what authors read: every problem, where it is, and what to do.
func TestProblems(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, text string
		want      []string // line:column code message | hint
	}{
		{"reading goes on behind what is wrong", "x = = 2\ny = 3\nentity a:\nend\nz = a.B()\n",
			[]string{
				"1:5 syntax expected a value, found = | ",
				"3:8 invalid_name the name of an entity begins with a capital letter | write it " +
					"such as A",
				"5:7 namespace_access an attribute begins with a small letter, and namespaces " +
					"are not left by a dot | write :: between a namespace and a name",
			}},
		{"in blocks as well", "for x in y:\n    a = (1\n    b = 2\n    c = !3\nend\nd = 1\n",
			[]string{
				"3:5 syntax expected `)`, found b | ",
				"4:9 syntax \"!\" cannot stand here | write `not`, or != between two values",
			}},
		{"a text that does not end", "x = \"abc\ny = 2\n", []string{
			"1:5 syntax the text does not end on its line | end it with the same quote, or write " +
				"\"\"\" around a text over lines",
		}},
		{"a block that does not end", "if a:\n    x = 1\n", []string{
			"3:1 syntax the `if` of line 1 is not ended | write `end` behind the last statement of " +
				"the block",
			"  1:1 it begins here",
		}},
		{"the block whose end is missing by its column", "implementation a for A:\n    for i in x:\n" +
			"        if i:\n            p(i)\n    end\nend\nimplement A using a\n", []string{
			"7:1 syntax the `if` of line 3 is not ended | write `end` behind the last statement of " +
				"the block",
			"  3:9 it begins here",
			"  5:5 this `end` closes it, but stands further left",
		}},
		{"an else whose end is missing", "for i in x:\n    if i:\n        p(i)\n    else:\n" +
			"        p(i)\nend\n", []string{
			"7:1 syntax the `else` of line 4 is not ended | write `end` behind the last statement " +
				"of the block",
			"  4:5 it begins here",
			"  6:1 this `end` closes it, but stands further left",
		}},
		{"blocks on one line have no columns to compare", "if a: for i in x: p(i) end\nimport b\n",
			[]string{
				"2:1 syntax the `if` of line 1 is not ended | write `end` behind the last " +
					"statement of the block",
				"  1:1 it begins here",
			}},
		{"an entity without an end before a statement", "entity A:\n    string a\nA(a=1)\nx = = 1\n",
			[]string{
				"3:1 syntax the entity A of line 1 is not ended | write `end` behind the last attribute",
				"  1:1 it begins here",
				"4:5 syntax expected a value, found = | ",
			}},
		{"attributes in the first column", "entity A:\nstring a\nint[] b = []\nend\n", nil},
		{"words of the language are not names", "for end in x:\nend\nimport = 3\n", []string{
			"1:5 reserved_word expected the name of a variable, and end is a word of the " +
				"language | choose another name",
			"3:8 syntax expected the name of a module, found = | ",
		}},
		{"a sign belongs to a number", "x = 3 -1\n", []string{
			"1:7 dropped_expression -1 begins a statement of its own, whose value is dropped | " +
				"write a blank between - and the number to subtract",
		}},
		{"what looks as if it belonged to the statement before", "x = [1, 2][0]\n" +
			"y = \"a\" 'b'\nz = f(1) [2]\nf(1) f(2) A()\nu = 1 g\n[3]\n\"c\"\n", []string{
			"1:11 dropped_expression [ begins a statement of its own, whose value is dropped | " +
				"give the value before it a name: a dict has name[\"key\"], a list " +
				"std::at(name, 0)",
			"2:9 dropped_expression 'b' begins a statement of its own, whose value is dropped | " +
				"join texts by +",
			"3:10 dropped_expression [ begins a statement of its own, whose value is dropped | " +
				"give the value before it a name: a dict has name[\"key\"], a list " +
				"std::at(name, 0)",
		}},
		{"signs of other languages", "x = a && b\ny = 1 || 2;\n// z\nu = -v\n", []string{
			"1:7 syntax \"&&\" cannot stand here | write `and`",
			"2:7 syntax \"||\" cannot stand here | write `or`",
			"2:11 syntax \";\" cannot stand here | nothing stands between statements that have " +
				"lines of their own",
			"3:2 syntax expected a value, found / | # begins a comment",
			"4:5 syntax expected a value, found - | a sign belongs to the number that it " +
				"touches: write 0 - x",
		}},
		{"blocks of other languages", "while a:\n    b = 1\nend\nx = = 1\ndef f(a):\n    g(a)\n" +
			"try = 1\nclass C:\nend\nwith = 2\ny = {\n\"a\": try}\nwith ? a :\n b\n", []string{
			"1:1 syntax while begins no statement | blocks are those of for, if, entity and " +
				"implementation",
			"4:5 syntax expected a value, found = | ",
			"5:1 syntax def begins no statement | blocks are those of for, if, entity and " +
				"implementation",
			"8:1 syntax class begins no statement | blocks are those of for, if, entity and " +
				"implementation",
		}},
		{"a comparison by =", "if x = 1:\nend\n", []string{
			"1:6 syntax expected `:`, found = | two values are compared by ==",
		}},
		{"an attribute with its type behind it", "entity A:\n    x: int\nend\n", []string{
			"2:6 syntax expected the name of an attribute, found : | the type stands before " +
				"it: string name",
		}},
		{"variables with types", "A x = A()\nb::C[] c = []\nint? d = 1\nif a:\n    dict e = {}\n" +
			"end\nA.b [0:] -- A\nf[g] = 2\n", []string{
			"1:1 syntax A begins no statement | " + Declaration("x"),
			"2:1 syntax b begins no statement | " + Declaration("c"),
			"3:1 syntax int begins no statement | " + Declaration("d"),
			"5:5 syntax dict begins no statement | " + Declaration("e"),
			"8:6 syntax only variables and attributes can be assigned to | assign to a variable, " +
				"or to an attribute: x = 1, x.y = 1",
		}},
		{"names have no hyphens", "x = a-b\n", []string{
			"1:5 invalid_name the name a-b holds a hyphen | write _ in a name, and blanks around " +
				"a minus: a - b",
		}},
		{"what stands behind a word of the language", "entity A:\nend\n] x = 1\n", []string{
			"3:1 syntax expected a value, found ] | ",
			"  2:1 it stands behind end",
		}},
		{"an argument without =", "x = A(none\ny = 2\n", []string{
			"2:1 syntax expected `=`, found y | an argument is written such as name = value",
		}},
		{"a name that ends with ::", "implement A using std::\nimplement B using std::none\n",
			[]string{
				"2:1 reserved_word expected a name, and implement is a word of the language | " +
					"choose another name",
			}},
		{"what is there twice", "x = {\"a\": 1, \"a\": 2}\ny = A(b=1, b=2)\n", []string{
			"1:14 duplicate_key the key \"a\" is there twice | remove one of the two",
			"  1:6 the first one",
			"2:12 duplicate_argument the argument b is there twice | remove one of the two",
			"  2:7 the first one",
		}},
		{"f-strings", "x = f\"{a\"\ny = f\"}\"\nz = f\"{a+b}\"\nw = f\"{a!q}\"\n", []string{
			"1:5 invalid_format a { has no } behind it | write {{ for a brace, and } " +
				"behind a value",
			"2:5 invalid_format a } has no { before it | write }} for a brace",
			"3:5 invalid_format \"a+b\" does not name a value | write a variable and its " +
				"attributes, such as {host.name}",
			"4:5 invalid_format behind ! there is no conversion | write !r, !s or !a",
		}},
		{"escapes", `x = "\x4"` + "\n", []string{
			`1:5 invalid_escape \x is not a whole escape | write r before the quote for a text without escapes, or \\ for a backslash`,
		}},
		{"a byte order mark", "\ufeffx = = 1\n",
			[]string{"1:5 syntax expected a value, found = | "}},
		{"not UTF-8", "x = 1\ny = \"\xff\"\n",
			[]string{"2:6 encoding the text is not UTF-8: the byte 0xff | save it as UTF-8"}},
		{"a relation in a block", "for x in y:\n    A.b [1] -- B\nend\n", []string{
			"2:6 syntax a relation stands only at the top of a file | end the block above with " +
				"`end`, or move this out of it",
			"  1:1 the block begins here",
		}},
		{"a default that has to be computed", "entity A:\n    int x = 1 + y\n    int z = y\nend\n",
			[]string{
				"2:15 syntax expected the name of a type, found + | ",
				"3:13 syntax expected a constant, found y | the default of an attribute is a " +
					"number, a text, true, false, null, or a list or a dict of these",
			}},
		{"a wrong beginning of an entity", "entity A():\n    string n\nend\nx = = 1\n", []string{
			"1:9 syntax expected `:`, found ( | write it such as `entity Host extends std::Entity:`",
			"4:5 syntax expected a value, found = | ",
		}},
		{"an entity without a colon", "entity A\n    string n\nend\nentity b:\nend\n", []string{
			"2:5 syntax expected `:`, found string | write it such as `entity Host extends " +
				"std::Entity:`",
			"4:8 invalid_name the name of an entity begins with a capital letter | write it " +
				"such as B",
		}},
		{"a wrong beginning of a loop", "for x = y in l:\n    if x:\n        a = 1\n    else:\n" +
			"        a = 2\n    end\nend\nx = = 1\n", []string{
			"1:7 syntax expected `in`, found = | write it such as `for x in list:`",
			"8:5 syntax expected a value, found = | ",
		}},
		{"a wrong beginning in a block", "for x in l:\n    if x\n        a = 1\n    else:\n" +
			"        a = 2\n    end\n    b = = 1\nend\nx = = 1\n", []string{
			"3:9 syntax expected `:`, found a | a `:` stands before the statements",
			"7:9 syntax expected a value, found = | ",
			"9:5 syntax expected a value, found = | ",
		}},
		{"a wrong beginning and no indentation", "for x in l:\nif x\na = 1\nend\nb = 2\nend\n" +
			"if = 2:\na = = 1\nelse:\nb = 1\nend\nend\n", []string{
			"3:1 syntax expected `:`, found a | a `:` stands before the statements",
			"7:4 syntax expected a value, found = | ",
			"8:5 syntax expected a value, found = | ",
			"12:1 syntax there is no block that `end` could belong to | remove it, or find " +
				"the line that should contain it",
		}},
		{"elif without a condition", "if a:\n    x = 1\nelif:\n    x = 2\nelse:\n    x = 3\nend\n",
			[]string{"3:5 syntax expected a value, found : | "}},
		{"an implementation without its entity", "implementation x:\n    a = 1\nend\nend\n",
			[]string{
				"1:17 syntax expected `for`, found : | write it such as `implementation files for " +
					"Host:`",
				"4:1 syntax there is no block that `end` could belong to | remove it, or find " +
					"the line that should contain it",
			}},
		{"a beginning without anything else", "entity A\nentity B:\nend\nend\n", []string{
			"2:1 syntax expected `:`, found entity | write it such as `entity Host extends " +
				"std::Entity:`",
			"4:1 syntax there is no block that `end` could belong to | remove it, or find " +
				"the line that should contain it",
		}},
		{"words of other languages", "x = True\ny = [None, False]\nif True:\nend\n", []string{
			"1:5 syntax there is no True | write true",
			"2:6 syntax there is no None | write null",
			"2:12 syntax there is no False | write false",
			"3:4 syntax there is no True | write true",
		}},
		{"numbers of other languages", "x = [1e3]\ny = A(b=0x10)\ne3 = 1\nz = 1_000\n", []string{
			"1:7 syntax 1e3 is not a number | " + NumeralHint,
			"2:10 syntax 0x10 is not a number | " + NumeralHint,
			"4:6 dropped_expression _000 begins a statement of its own, whose value is dropped: " +
				"1_000 is not a number | " + NumeralHint,
		}},
		{"an f-string over lines", "x = f\"\"\"a\nb\"\"\"\ny = = 1\n", []string{
			"1:5 syntax no text over lines begins with f\"\"\" | write it without the f, with " +
				"values in it as {{ host.name }}",
			"3:5 syntax expected a value, found = | ",
		}},
		{"a text over lines without an end", "if x:\n    y = [\"\"\"a\nb\n", []string{
			"2:10 syntax the text over lines does not end | write \"\"\" behind its last line",
		}},
		{"an f-string over lines without an end", "x = f\"\"\"a\nb\n", []string{
			"1:5 syntax no f\"\"\" begins a text | write \"\"\" before and behind a text over " +
				"lines, with values in it as {{ host.name }}",
		}},
	} {
		_, problems := Parse(c.text)
		var got []string
		for _, p := range problems {
			got = append(got, fmt.Sprintf("%s %s %s | %s", p.Pos, p.Code, p.Message, p.Hint))
			for _, r := range p.Related {
				got = append(got, fmt.Sprintf("  %s %s", r.Pos, r.Message))
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.why, d)
		}
	}
}

// TestBounds wants input that is too much to end with an error that says so.
func TestBounds(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]struct{ text, code string }{
		"brackets":   {"x = " + strings.Repeat("[", 10_000), CodeTooDeep},
		"operators":  {"x = " + strings.Repeat("not ", 10_000) + "a", CodeTooDeep},
		"conditions": {"x = " + strings.Repeat("a ? ", 10_000), CodeTooDeep},
		"blocks":     {strings.Repeat("if a:\n", 10_000), CodeTooDeep},
		"elifs":      {"if a:\n" + strings.Repeat("elif a:\n", 10_000) + "end", CodeTooDeep},
		"a file":     {strings.Repeat(" ", MaxText+1), CodeTooLarge},
	} {
		_, problems := Parse(c.text)
		if len(problems) == 0 || problems[0].Code != c.code {
			t.Errorf("%s: %v", why, problems)
		}
	}
	if _, problems := Parse(strings.Repeat("x = = 1\n", 10_000)); len(problems) != MaxProblems {
		t.Errorf("%d problems are reported", len(problems))
	}
	if f, problems := Parse("x = [" + strings.Repeat("1,", 1_000_000) + "]"); len(problems) > 0 ||
		len(f.Body) != 1 {
		t.Errorf("a list of a million: %v", problems)
	}
}

// TestTokens holds that a text of more tokens than there may be is refused as a whole, with the
// place of the first that is too many.
func TestTokens(t *testing.T) {
	t.Parallel()
	tokens, problems := scan("a = [1, 2]\nb = 1 # one\n", 11)
	if len(tokens) != 12 || len(problems) > 0 {
		t.Errorf("as many tokens as there may be: %v, %v", tokens, problems)
	}
	tokens, problems = scan("a = [1, 2]\nb = 1 # one\n", 10)
	if len(tokens) != 1 || len(problems) != 1 || problems[0].Code != CodeTooLarge ||
		problems[0].Pos.String() != "2:7" ||
		problems[0].Message != "the file has more than 10 words and signs" {
		t.Errorf("one token more: %v, %v", tokens, problems)
	}
}

func FuzzParse(f *testing.F) {
	for i, c := range reference(f) {
		if i%20 == 0 {
			f.Add(c.Text)
		}
	}
	f.Add("f\"{a:{b}}\" r'\\' \"\"\"\"x\"\"\"\" matching /\\//")
	f.Fuzz(func(t *testing.T, text string) {
		file, _ := Parse(text)
		for _, s := range file.Body {
			if file.Pos(s).Offset > file.End(s).Offset {
				t.Errorf("a statement from %v to %v", file.Pos(s), file.End(s))
			}
		}
		keeps(t, text)
	})
}
