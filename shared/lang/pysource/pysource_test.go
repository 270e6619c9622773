package pysource_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/lang/pysource"
)

// shown is a plugin in a line.
func shown(p pysource.Plugin) string {
	var args []string
	for _, q := range p.Params {
		one := q.Name + ":" + q.Type
		if q.Optional {
			one += "=" + q.Default
		}
		if q.ByName {
			one = "." + one
		}
		args = append(args, one)
	}
	if p.Rest != nil {
		args = append(args, "*"+p.Rest.Name+":"+p.Rest.Type)
	}
	if p.Named != nil {
		args = append(args, "**"+p.Named.Name+":"+p.Named.Type)
	}
	out := fmt.Sprintf("%s(%s)", p.Name, strings.Join(args, " "))
	if p.Result != "" {
		out += " " + p.Result
	}
	if p.Deprecated {
		out += " deprecated " + p.ReplacedBy
	}
	if p.Doc != "" {
		out += fmt.Sprintf(" %q", p.Doc)
	}
	return out
}

// TestDeclared pins what declarations come to, in all the ways in which modules write them.
func TestDeclared(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain": {
			"from inmanta.plugins import plugin\n@plugin\ndef f(a: \"int\") -> \"string\":\n" +
				"  return ''\n",
			"f(a:int) string"},
		"with brackets and a name": {"@plugin(\"g\")\ndef f():\n  pass", "g()"},
		"a name by its name": {"@plugin(name='g', allow_unknown=True)\ndef f():\n  pass",
			"g()"},
		"by the package": {"import inmanta.plugins\n@inmanta.plugins.plugin\ndef f(): pass",
			"f()"},
		"by a part of it": {"from inmanta import plugins\n@plugins.plugin()\ndef f(): pass", "f()"},
		"by another name": {"from inmanta.plugins import (\n  Context,  # here\n  plugin as p,\n" +
			")\n@p\ndef f(): pass",
			"f()"},
		"something else": {"@other.plugin\ndef f(): pass\n@pluginx\ndef g(): pass\n" +
			"def h(): pass", ""},
		"over another": {"@plugin\n\n# a word\n@cache(x=[1, 2])\ndef f(): pass", "f()"},
		"that ends":    {"@plugin\nx = 1\ndef f(): pass", ""},
		"async":        {"@plugin\nasync def f(): pass", "f()"},
		"defaults": {"@plugin\ndef f(a: int = -1, b: str='x', c: float=1.5, d=None, " +
			"e: list=[], g=h(1, 2)): pass",
			"f(a:int=-1 b:string=\"x\" c:float=1.5 d:any=None e:list=[] g:any=)"},
		"by name, all others": {"@plugin\ndef f(a: int, *, b: bool): pass", "f(a:int .b:bool)"},
		"by place":            {"@plugin\ndef f(a: int, /, b: int): pass", "f(a:int b:int)"},
		"rests": {"@plugin\ndef f(*a: int, **b: 'string[]'): pass",
			"f(*a:int **b:string[])"},
		"the context": {"@plugin\ndef f(c: Context, d: plugins.Context, a: int): pass",
			"f(a:int)"},
		"lines": {
			"@plugin(\n)\ndef f(\n  a: int,  # one ) comment\n  b: \"string\" = \"a, b)\",\n" +
				") -> (\n  int\n): pass", "f(a:int b:string=\"a, b)\") int"},
		"a backslash": {"@plugin\ndef f(a: int, \\\n  b: int) -> \\\n  int: pass",
			"f(a:int b:int) int"},
		"in Windows": {"@plugin\r\ndef f(a: int, \\\r\n  b: int):\r\n  pass\r\n",
			"f(a:int b:int)"},
		"types": {
			"@plugin\ndef f(a: Optional[str], b: int | None, c: typing.Union[int, str, None], d: " +
				"list[str], e: Sequence[Mapping[str, int]], g: dict[str, object], h: X, i: " +
				"Annotated[Any, ModelType[\"std::Host\"]], j: list[int | str], k: " +
				"'expression'): pass",
			"f(a:string? b:int? c:int | string | null d:string[] e:dict[] g:dict h:any " +
				"i:std::Host j:list k:any)"},
		"a docstring": {"@plugin\ndef f():\n    \"\"\"Says.\n\n    More:\n      in\n" +
			"    \"\"\"\n", "f() \"Says.\\n\\nMore:\\n  in\""},
		"no docstring": {"@plugin\ndef f():\n    x = \"a\"\n", "f()"},
		"deprecated": {"@deprecated(replaced_by=\"g\")\n@plugin\ndef f(): pass\n" +
			"@plugin\n@deprecated\ndef h(): pass", "f() deprecated g\nh() deprecated "},
		"in a condition": {"if True:\n    @plugin\n    def f(): pass\n", "f()"},
		"in a text": {"x = '''\n@plugin\ndef f(): pass\n'''\n# @plugin\ny = \"it's\"\n" +
			"@plugin\ndef g(): pass", "g()"},
		"a text in a text": {"x = r'\\'\ny = 'a\\'b'\nz = f\"{a['b']}\"\n@plugin\n" +
			"def g(): pass", "g()"},
		"a bracket unclosed": {"@plugin\ndef f(a: int", "f(a:int)"},
		"a text unclosed":    {"x = \"abc\n@plugin\ndef g(): pass\ny = '''", "g()"},
		"more than there is": {"@plugin\ndef f)): pass\n@plugin\ndef\n@\n@plugin\ndef g(): pass",
			"f()\ng()"},
		"letters of the world": {"@plugin\ndef größe(ä: int) -> int: pass", "größe(ä:int) int"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range pysource.Read(c.text).Plugins {
				got = append(got, shown(p))
				if !strings.HasPrefix(c.text[p.At:], p.Function) {
					t.Errorf("%s is not at %d", p.Function, p.At)
				}
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got\n%s\nwant\n%s", all, c.want)
			}
		})
	}
}

// FuzzDeclared holds that no text makes it stop or loop.
func FuzzDeclared(f *testing.F) {
	f.Add("@plugin(\"a\")\ndef f(a: list[str] = [], *b, **c) -> \"int\":\n  '''Doc.'''\n")
	f.Add("@p\ndef f(\\\n '''")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range pysource.Read(text).Plugins {
			if p.Name == "" || !strings.HasPrefix(text[p.At:], p.Function) {
				t.Errorf("%+v", p)
			}
		}
	})
}
