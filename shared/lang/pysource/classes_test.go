package pysource_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/lang/pysource"
)

// shownClass is a dataclass in a line.
func shownClass(c pysource.Class) string {
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.Name+":"+f.Type)
	}
	out := fmt.Sprintf("%s(%s)", c.Name, strings.Join(fields, " "))
	if c.Frozen {
		out += " frozen"
	}
	if !c.Sure {
		out += " perhaps"
	}
	if c.Doc != "" {
		out += fmt.Sprintf(" %q", c.Doc)
	}
	return out
}

// TestDataclasses pins what classes come to, in all the ways in which modules write them.
func TestDataclasses(t *testing.T) {
	t.Parallel()
	const use = "from dataclasses import dataclass\n@dataclass(frozen=True)\n"
	for name, c := range map[string]struct{ text, want string }{
		"plain": {use + "class P:\n    x: int\n    y: str | None = None\n    z = 4\n",
			"P(x:int y:string?) frozen"},
		"by the module": {
			"import os, dataclasses\n@dataclasses.dataclass(frozen=True, slots=True)\nclass P:\n" +
				"  x: int",
			"P(x:int) frozen"},
		"by other names": {
			"import dataclasses as d\nfrom dataclasses import (field, dataclass as dc)\n" +
				"@d.dataclass(frozen=True)\nclass P: pass\n@dc(frozen=True)\nclass Q: pass",
			"P() frozen\nQ() frozen"},
		"not frozen": {"from dataclasses import dataclass\n@dataclass\nclass P:\n" +
			"  x: int\n@dataclass(frozen=False)\nclass Q: pass", "P(x:int)\nQ()"},
		"not a dataclass": {"class P:\n  x: int\n", ""},
		"a decorator of others": {"from x import dataclass\n@dataclass(frozen=True)\nclass P:\n" +
			"  x: int", "P(x:int) frozen perhaps"},
		"two decorators": {"@total_ordering\n" + use[len("from dataclasses import dataclass\n"):] +
			"class P: pass\nfrom dataclasses import dataclass", "P() frozen"},
		"a docstring": {
			use + "class P:\n    \"\"\"A point.\n\n    In space.\n    \"\"\"\n    x: int",
			"P(x:int) frozen \"A point.\\n\\nIn space.\""},
		"what is not a field": {
			use +
				"class P:\n  a: ClassVar[int] = 1\n  b: dataclasses.InitVar[int]\n  _: KW_ONLY\n" +
				"  c: 'ClassVar[str]'\n  def f(self):\n    x: int = 1\n  @property\n" +
				"  def g(self) -> int: return 1\n  class In:\n    y: int\n  if True:\n" +
				"    z: int\n  else: w = 1\n  d: int",
			"P(d:int) frozen"},
		"extended": {
			use + "class P:\n  x: int\n  y: int\n@dataclass(frozen=True)\nclass Q(P):\n  z: P\n" +
				"  x: str\nclass R(Q): pass\nclass S: pass\n@dataclass(frozen=True)\n" +
				"class T(S, Generic[V], metaclass=M):\n  a: int",
			"P(x:int y:int) frozen\nQ(x:string y:int z:P) frozen\nR(x:string y:int z:P) frozen\n" +
				"T(a:int) frozen"},
		"two bases": {
			use +
				"class P:\n  x: int\n@dataclass(frozen=True)\nclass Q:\n  y: int\n" +
				"@dataclass(frozen=True)\nclass R(P, Q): pass",
			"P(x:int) frozen\nQ(y:int) frozen\nR(y:int x:int) frozen"},
		"a base of elsewhere": {use + "class P(m.Other):\n  x: int", "P(x:int) frozen perhaps"},
		"in a condition": {
			"from dataclasses import dataclass\nif True:\n    @dataclass(frozen=True)\n" +
				"    class P:\n        x: int\n", "P(x:int) frozen"},
		"in a function": {
			"from dataclasses import dataclass\ndef f():\n    @dataclass(frozen=True)\n" +
				"    class P:\n        x: int\n    return P\nx = 1", ""},
		"in a class": {
			"from dataclasses import dataclass\nclass C:\n    @dataclass(frozen=True)\n" +
				"    class P:\n        x: int\n", ""},
		"in lines": {
			use + "class P(\n):\n  x: dict[\n    str, int\n  ] = field(\ndefault_factory=dict)\n" +
				"  y: list[int]", "P(x:dict y:int[]) frozen"},
		"with tabs":   {use + "class P:\n\tx: int\n\ty: int\n", "P(x:int y:int) frozen"},
		"broken":      {"@\n@dataclass(\nclass P(\nx: int", ""},
		"broken more": {use + "class P", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range pysource.Read(c.text).Classes {
				got = append(got, shownClass(p))
				if !strings.HasPrefix(c.text[p.At:], p.Name) {
					t.Errorf("%s is not at %d", p.Name, p.At)
				}
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got\n%s\nwant\n%s", all, c.want)
			}
		})
	}
}

// TestPluginsOfDataclasses holds that annotations name the dataclasses of their file.
func TestPluginsOfDataclasses(t *testing.T) {
	t.Parallel()
	const text = "from dataclasses import dataclass\nclass Other: pass\n@dataclass(frozen=True)\n" +
		"class P:\n  x: int\n" +
		"@plugin\ndef f(a: P, b: list[P], c: Other) -> P | None: pass\n"
	got := pysource.Read(text).Plugins
	if len(got) != 1 || shown(got[0]) != "f(a:P b:P[] c:any) P?" {
		t.Errorf("it is %+v", got)
	}
}

// FuzzDataclasses holds that no text makes it stop or loop.
func FuzzDataclasses(f *testing.F) {
	f.Add("from dataclasses import dataclass as d\n@d(frozen=True)\nclass P(Q, R[T], m=1):\n" +
		"  '''Doc.'''\n  x: int = 1\n")
	f.Add("@p\nclass P(\n '''")
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range pysource.Read(text).Classes {
			if c.Name == "" || !strings.HasPrefix(text[c.At:], c.Name) {
				t.Errorf("%+v", c)
			}
		}
	})
}
