package project_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

// told compiles a model and returns what is wrong with it: a line for each problem, then its hint
// and its other places.
func told(t *testing.T, model string) string {
	t.Helper()
	return toldWithin(t, model, eval.DefaultLimits())
}

func toldWithin(t *testing.T, model string, limits eval.Limits) string {
	t.Helper()
	dir := t.TempDir()
	testCase{Std: true, Model: model}.write(t, dir)
	p, err := project.Load(dir, project.Options{})
	if err == nil {
		_, _, err = eval.Run(t.Context(), eval.Program{
			Sources: p.Sources, Rules: p.Rules, Env: p.Env, Plugins: std.Plugins(),
			Limits: limits,
		})
	}
	found, _ := diag.Of(err)
	var b strings.Builder
	at := func(p diag.Pos) string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }
	for _, q := range found {
		fmt.Fprintf(&b, "%s %s: %s\n", at(q.Pos), q.Code, q.Message)
		if q.Hint != "" {
			fmt.Fprintf(&b, "  %s\n", q.Hint)
		}
		for _, r := range q.Related {
			fmt.Fprintf(&b, "  %s %s\n", at(r.Pos), r.Message)
		}
	}
	return strings.ReplaceAll(b.String(), dir+string(filepath.Separator), "")
}

// typedefs returns a model in which each type is made of the one before it.
func typedefs(n int) string {
	var b strings.Builder
	base := "int"
	for i := range n {
		fmt.Fprintf(&b, "typedef t%d as %s matching self > 0\n", i, base)
		base = fmt.Sprintf("t%d", i)
	}
	return b.String()
}

// typed returns a model that gives an attribute of a type a value, on line 5.
func typed(typ, value string) string {
	return "entity A:\n    " + typ + " x\nend\nimplement A using std::none\nA(x=" + value + ")\n"
}

// TestEndlessModel holds that a model whose instances make others without end is refused, with the
// place where the next one is made.
func TestEndlessModel(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/endless.cf")
	if err != nil {
		t.Fatal(err)
	}
	got := toldWithin(t, string(text), eval.LimitsWithin(16<<20))
	const want = "16:10 limit: the model needs too much memory: more than 8 MiB "
	if !strings.HasPrefix(got, want) {
		t.Errorf("got %.500s, want %s", got, want)
	}
}

// TestMessages holds what is said of mistakes, and where.
func TestMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, model, want string }{
		{
			"an attribute self", "entity A:\n    string self\nend\nimplement A using std::none\n" +
				"A(self=\"x\")\n",
			"5:1 double_set: self of A (made at main.cf:5:1) cannot become 'x': self is the " +
				"instance itself\n  give the attribute another name\n  2:12 self is defined here\n",
		},
		{
			"an attribute self with a default",
			"entity A:\n    string? self = null\nend\nimplement A using std::none\nA()\n",
			"5:1 double_set: self of A (made at main.cf:5:1) cannot become null: self is the " +
				"instance itself\n  give the attribute another name\n  2:13 self is defined here\n",
		},
		{
			"a relation self",
			"entity A:\nend\nA.self [0:1] -- A\nimplement A using std::none\nA(self=A())\n",
			"5:1 double_set: self of A (made at main.cf:5:1) cannot become A (made at " +
				"main.cf:5:8): self is the instance itself\n  give the attribute another name\n" +
				"  3:3 self is defined here\n",
		},
		{
			"the far end of a relation called self",
			"entity A:\nend\nentity B:\nend\nA.bs [0:] -- B.self [0:1]\n" +
				"implement A using std::none\nimplement B using std::none\nA(bs=B())\n",
			"8:6 double_set: self of B (made at main.cf:8:6) cannot become A (made at " +
				"main.cf:8:1): self is the instance itself\n  give the attribute another name\n" +
				"  8:1 the value comes from here\n  5:16 self is defined here\n",
		},
		{
			"an attribute self that nothing gives a value",
			"entity A:\nend\nA.self [0:] -- A\nimplement A using std::none\nA()\n", "",
		},
		{
			"an attribute self of a string that nothing gives a value",
			"entity A:\n    string self\nend\nimplement A using std::none\nA()\n", "",
		},
		{
			"a relation self that is set to the instance",
			"entity A:\nend\nA.self [1] -- A\nimplementation i for A:\n    self.self = self\nend\n" +
				"implement A using i\na = A()\nstd::assert(a.self == a)\n", "",
		},
		{
			"relations self that are not set", "entity A:\nend\nentity B:\nend\n" +
				"A.self [0:1] -- A\nB.self [0:] -- B\nimplement A using std::none\n" +
				"implement B using std::none\na = A()\nb = B()\nstd::assert(a.self == a)\n" +
				"std::assert(b.self == b)\n", "",
		},
		{
			"two variables over a list", "for a, b in [1]:\nend\n",
			"1:1 not_a_list: `for` with two variables goes over a dict, and this is a list\n" +
				"  write one variable: for x in ...\n",
		},
		{
			"two variables of a comprehension over a number", "x = [a for a, b in 3]\n",
			"1:5 not_a_list: a list comprehension with two variables goes over a dict, and this " +
				"is an int\n",
		},
		{
			"a type without listed values",
			"typedef port as int matching self > 0\nfor p in port:\nend\n",
			"2:10 unknown_variable: the variable port is not defined, and the type of that name " +
				"does not list its values\n  a loop goes over a type such as typedef port as " +
				"string matching self in [\"a\", \"b\"]\n",
		},
		{
			"a type outside of a loop", "typedef e as string matching self in [\"a\"]\nx = e\n",
			"2:5 unknown_variable: the variable e is not defined\n",
		},
		{
			"a part of a missing module", "import foo\nimport foo::sub\n",
			"1:1 import: there is no module foo\n  modules are looked for in libs\n",
		},
		{
			"a part of a missing module before it", "import foo::sub\nimport foo\n",
			"1:1 import: there is no module foo\n  modules are looked for in libs\n",
		},
		{
			"parts of a missing module", "import foo::b\nimport foo::sub::a\n",
			"1:1 import: there is no module foo\n  modules are looked for in libs\n",
		},
		{
			"an unknown module twice, with another", "import zap\nimport foo\nimport foo\n",
			"1:1 import: there is no module zap\n  modules are looked for in libs\n" +
				"2:1 import: there is no module foo\n  modules are looked for in libs\n",
		},
		{
			"a default and another value",
			"entity A:\n    bool flag = false\nend\nimplementation i for A:\n    self.flag = true\n" +
				"end\nimplement A using i\n\nA()\n",
			"5:5 double_set: flag of A (made at main.cf:9:1) is set twice: it is False already, " +
				"and would become True\n  attributes missing in the constructor get their default: " +
				"set it there, or remove the default\n" +
				"  2:10 the first value is the default, which is set here\n" +
				"  5:17 the other value is set here\n",
		},
		{
			"another value and a default",
			"entity A:\n    int k\n    bool flag = false\nend\nindex A(k)\n" +
				"implement A using std::none\nA(k=1, flag=true)\nA(k=1)\n",
			"8:1 double_set: flag of A (made at main.cf:7:1, main.cf:8:1) is set twice: it is " +
				"True already, and would become False\n  attributes missing in the constructor " +
				"get their default: set it there, or remove the default\n" +
				"  7:13 the first value is set here\n" +
				"  3:10 the other value is the default, which is set here\n",
		},
		{
			"a number of another language", "x = 1e3\n",
			"1:6 unknown_variable: the variable e3 is not defined, and 1e3 is not a number\n" +
				"  write a number with all its digits, such as 1000 or 0.001\n",
		},
		{
			"a variable with a type", "y = 1\nint x = 1 + z\n",
			"2:1 unknown_variable: the variable int is not defined\n  " +
				syntax.Declaration("x") + "\n",
		},
		{
			"a text and a number", "x = \"a\" + 22\n",
			"1:9 operator: only a string can be joined to a string, and the other one is an int " +
				"(22)\n  write string(...) around the other value, or put it into the text: " +
				"\"... {{ name }} ...\"\n",
		},
		{
			"a number and a text", "x = 22 + \"a\"\n",
			"1:8 operator: + cannot be computed with an int (22) and a string ('a')\n  write " +
				"string(...) around the other value, or put it into the text: " +
				"\"... {{ name }} ...\"\n",
		},
		{
			"a wrong value on a line of its own", "entity A:\n    int x\n    int y = 1\nend\n" +
				"implement A using std::none\nA(\n    y=2,\n    x=\"a\",\n)\n",
			"8:7 type_mismatch: x of A (made at main.cf:6:1) has to be int: a string ('a') is not " +
				"a valid int\n  6:1 it belongs to this\n  2:9 x is defined here\n",
		},
		{
			"a wrong value of an index", "entity A:\n    int x\nend\nindex A(x)\n" +
				"implement A using std::none\nA(x=\"1\")\n",
			"6:5 type_mismatch: x of A (made at main.cf:6:1) has to be int: a string ('1') is not " +
				"a valid int\n  write it without quotes: 1\n  2:9 x is defined here\n",
		},
		{
			"a wrong argument", "x = std::replace(\"a\", 1,\n    new=\"b\")\n",
			"1:23 arguments: the argument old of std::replace: an int (1) is not a valid string\n",
		},
		{
			"a wrong argument with a name", "x = std::replace(\"a\", \"b\",\n    new=2)\n",
			"2:9 arguments: the argument new of std::replace: an int (2) is not a valid string\n" +
				"  1:5 it belongs to this\n",
		},
		{
			"a variable of an if", "if true:\n    x = 1\nend\ny = x\n",
			"4:5 unknown_variable: the variable x is not defined\n  choose the value in one " +
				"assignment: x = condition ? a : b\n  2:5 x is set here, inside of the `if`, and " +
				"is not visible outside of it\n",
		},
		{
			"a variable of an else in a for",
			"for i in [1]:\n    if true:\n        z = 1\n    else:\n        x = 2\n    end\n" +
				"    y = x\nend\n",
			"7:9 unknown_variable: the variable x is not defined\n  choose the value in one " +
				"assignment: x = condition ? a : b\n  5:9 x is set here, inside of the `if`, and " +
				"is not visible outside of it\n",
		},
		{
			"a variable of a for", "for i in [1]:\n    x = i\nend\ny = x\n",
			"4:5 unknown_variable: the variable x is not defined\n  use it there, or collect the " +
				"values: x = [... for i in ...]\n  2:5 x is set here, inside of the `for`, and is " +
				"not visible outside of it\n",
		},
		{
			"the variable of a loop", "for i in [1]:\nend\ny = i\n",
			"3:5 unknown_variable: the variable i is not defined\n  use i inside of the `for`\n" +
				"  1:5 i is a variable of this `for`\n",
		},
		{
			"a variable of an implementation", "entity A:\nend\nimplementation i for A:\n" +
				"    x = 1\nend\nimplement A using i\nA()\ny = x\n",
			"8:5 unknown_variable: the variable x is not defined\n  use it there, or set an " +
				"attribute of the instance: self.x = ...\n  4:5 x is set here, inside of the " +
				"implementation i, and is not visible outside of it\n",
		},
		{
			"a plugin that is not called", "std::print 1\n",
			"1:1 unknown_variable: the variable std::print is not defined\n  it is a plugin, " +
				"which is called: write std::print(...)\n",
		},
		{
			"too many values for a plugin", "std::print(1, 2)\n",
			"1:1 arguments: std::print takes 1 value, and gets 2\n  it is called as " +
				"std::print(message: any | reference)\n",
		},
		{
			"lists that are added", "x = [1] + [2]\n",
			"1:9 operator: + cannot be computed with a list ([1]) and a list ([2])\n" +
				"  write [a, b] for a list of both\n",
		},
		{
			"an int for a float", typed("float", "1"),
			"5:5 type_mismatch: x of A (made at main.cf:5:1) has to be float: an int (1) is not a " +
				"valid float\n  write it with a point: 1.0\n  2:11 x is defined here\n",
		},
		{
			"a float for an int", typed("int?", "2.0"),
			"5:5 type_mismatch: x of A (made at main.cf:5:1) has to be int?: a float (2.0) is not " +
				"a valid int\n  write it without a point: 2\n  2:10 x is defined here\n",
		},
		{
			"an int for a text", typed("string", "3"),
			"5:5 type_mismatch: x of A (made at main.cf:5:1) has to be string: an int (3) is not " +
				"a valid string\n  write it in quotes: \"3\"\n  2:12 x is defined here\n",
		},
		{
			"a text for a list", typed("string[]", "\"a\""),
			"5:5 type_mismatch: x of A (made at main.cf:5:1) has to be string[]: a string ('a') is " +
				"not a valid string[]\n  write it in brackets: ['a']\n  2:14 x is defined here\n",
		},
		{
			"null for an int", typed("int", "null"),
			"5:5 type_mismatch: x of A (made at main.cf:5:1) has to be int: null is not a valid " +
				"int\n  only a type with ? takes null: int?\n  2:9 x is defined here\n",
		},
		{
			"a name that is not near", "x = a\n",
			"1:5 unknown_variable: the variable a is not defined\n",
		},
		{
			"many typedefs one of the other", typedefs(1003),
			"1003:9 typedef: the type t1002 is made of more than 1000 others, one of the other\n",
		},
		{
			"a default in a dict that has to be computed",
			"entity A:\n    string m\n    dict n = {\"a\": self.m}\nend\n",
			"3:10 default: the default of n is not a constant\n  a default holds nothing that has " +
				"to be computed; set the attribute in an implementation instead\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := told(t, c.model); got != c.want {
				t.Errorf("%s\nit says\n%s\ninstead of\n%s", c.model, got, c.want)
			}
		})
	}
}

// TestUndefined holds that a name that nothing defines is marked wherever it stands.
func TestUndefined(t *testing.T) {
	t.Parallel()
	const entity = "entity A:\n    string n\nend\nindex A(n)\nimplement A using std::none\n"
	for _, line := range []string{
		"y = nope == 5", "y = 5 == nope", "y = not nope", "y = std::count(nope)", "y = [1, nope]",
		`y = {"a": nope}`, "y = nope ? 1 : 2", "y = true ? nope : 2", "y = nope.a",
		"y = nope[\"a\"]", "y = string(nope)", "y = nope in [1]", "y = true and nope",
		"y = [i for i in nope]", "y = [nope for i in [1]]", "y = nope is defined",
		"for i in nope:\n end", "if nope:\nend", "y = A(n=nope)", "y = A(**nope)", "y = A[n=nope]",
		`y = "a {{ nope }}"`, `y = f"é {nope}"`, `y = "{{{nope}}}"`, "y = \"\"\"a\n  {{ nope }}\"\"\"",
		"v = 1\ny = f\"{v} {{}} { v :>{nope}}\"", `y = f"{nope.a!r:>9}"`, `y = '\t\x41{{nope.b}}'`,
		"A(\n  n=nope)", "implementation i for A:\nend\nimplement A using i when nope\nA(n=\"x\")",
	} {
		model := entity + line + "\n"
		before := model[:strings.Index(model, "nope")]
		want := fmt.Sprintf("%d:%d unknown_variable: the variable nope is not defined\n",
			strings.Count(before, "\n")+1,
			utf8.RuneCountInString(before[strings.LastIndex(before, "\n"):]))
		if got := told(t, model); !strings.HasPrefix(got, want) {
			t.Errorf("%s: it says\n%s\ninstead of\n%s", line, got, want)
		}
	}
}

// TestEndlessRelation holds that a loop over a relation that adds to it is told as what it is.
func TestEndlessRelation(t *testing.T) {
	t.Parallel()
	limits := eval.DefaultLimits()
	limits.Memory = 8 << 20
	const entity = "entity A:\nend\nA.xs [0:] -- A\nimplement A using std::none\na = A(xs=A())\n"
	const needs = " limit: the model needs too much memory: more than 8 MiB for values, instances " +
		"and calls in progress\n  "
	for text, want := range map[string]string{
		"for x in a.xs:\n    a.xs += A()\nend\n": "6:1" + needs + "look for a loop over xs that " +
			"adds to it: the loop also visits the added values; " + eval.RoomierHint +
			"\n  7:13 this still went on\n  7:5 this adds to xs of A (made at main.cf:5:5), " +
			"which has N values already\n",
		"a.xs = [A() for x in a.xs]\n": "6:9" + needs + "look for loops in loops over long lists, " +
			"and for a loop over a relation that adds to it; " + eval.RoomierHint +
			"\n  6:8 this still went on\n",
	} {
		got := toldWithin(t, entity+text, limits)
		if i, j := strings.Index(got, "has "), strings.Index(got, " values already"); i > 0 && j > i {
			got = got[:strings.LastIndex(got[:j], "has ")] + "has N" + got[j:]
		}
		if got != want {
			t.Errorf("%s\nit says\n%s\ninstead of\n%s", text, got, want)
		}
	}
}
