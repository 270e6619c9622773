package lsp

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/lang/eval"
)

// shown returns a plugin as one line.
func shown(p eval.Plugin) string {
	var args []string
	for _, q := range p.Params {
		one := q.Name + ":" + q.Type
		if q.Default != nil {
			one += fmt.Sprintf("=%v", q.Default)
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

// TestDeclaredPlugins pins how plugins are found in usual code.
func TestDeclaredPlugins(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain": {
			"from inmanta.plugins import plugin\n@plugin\ndef f(a: \"int\") -> \"string\":\n" +
				"  return ''\n", "n::f(a:int) string"},
		"with a name":      {"@plugin(\"g\")\ndef f():\n  pass", "n::g()"},
		"a name by name":   {"@plugin(name='g', allow_unknown=True)\ndef f(): pass", "n::g()"},
		"by the package":   {"@inmanta.plugins.plugin\ndef f(): pass", "n::f()"},
		"by an alias":      {"from inmanta.plugins import (Context, plugin as p)\n@p\ndef f(): pass", "n::f()"},
		"other functions":  {"@other\ndef f(): pass\n@pluginx\ndef g(): pass\ndef h(): pass", ""},
		"other decorators": {"@plugin\n\n# a word\n@cache(x=[1, 2])\ndef f(): pass", "n::f()"},
		"not a function":   {"@plugin\nx = 1\ndef f(): pass", ""},
		"async":            {"@plugin\nasync def f(): pass", "n::f()"},
		"defaults": {"@plugin\ndef f(a: int = -1, b: str='x,)', c: float=1.5, e: bool=True): pass",
			"n::f(a:int=-1 b:string=x,) c:float=1.5 e:bool=true)"},
		"by name alone": {"@plugin\ndef f(a: int, *, b: bool): pass", "n::f(a:int .b:bool)"},
		"by place":      {"@plugin\ndef f(a: int, /, b: int): pass", "n::f(a:int b:int)"},
		"rests": {"@plugin\ndef f(*a: int, **b: 'string[]'): pass",
			"n::f(*a:int **b:string[])"},
		"the context": {"@plugin\ndef f(c: Context, d: plugins.Context, a: int): pass",
			"n::f(a:int)"},
		"several lines": {
			"@plugin(\n  \"g\"\n)\ndef f(\n  a: int,  # one ) comment\n  b: \"string\" = \"a, b)\",\n" +
				") -> (\n  int\n): pass", "n::g(a:int b:string=a, b)) any"},
		"a backslash":     {"@plugin\ndef f(a: int, \\\n  b: int) -> \\\n  int: pass", "n::f(a:int b:int) int"},
		"ends of Windows": {"@plugin\r\ndef f(a: int,\r\n  b: int):\r\n  pass\r\n", "n::f(a:int b:int)"},
		"types": {
			"@plugin\ndef f(a: Optional[str], b: int | None, c: int | str, d: list[str], " +
				"e: Sequence[Mapping[str, int]], g: dict[str, object], h: X, k: 'expression'," +
				" l: typing.List[int | str]) -> None: pass",
			"n::f(a:string? b:int? c:any d:string[] e:dict[] g:dict h:any k:any l:list) null"},
		"a docstring": {"@plugin\ndef f():\n    \"\"\"Converts.\n\n    More:\n      in\n    \"\"\"\n",
			"n::f() \"Converts.\\n\\nMore:\\nin\""},
		"no docstring": {"@plugin\ndef f():\n    x = \"a\"\n", "n::f()"},
		"deprecated": {"@deprecated(replaced_by=\"g\")\n@plugin\ndef f(): pass\n" +
			"@plugin\n@deprecated\ndef h(): pass", "n::f() deprecated g\nn::h() deprecated "},
		"in a condition":       {"if True:\n    @plugin\n    def f(): pass\n", "n::f()"},
		"unclosed":             {"@plugin\ndef f(a: int", "n::f(a:int)"},
		"a stray bracket":      {"@plugin\ndef f[)(a): pass\n@plugin\ndef g(b): pass", "n::f[)(a:any)\nn::g(b:any)"},
		"no name":              {"@plugin\ndef (a): pass", ""},
		"letters of the world": {"@plugin\ndef größe(ä: int) -> int: pass", "n::größe(ä:int) int"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, p := range declaredPlugins("n", "f.py", c.text) {
				got = append(got, shown(p))
			}
			if all := strings.Join(got, "\n"); all != c.want {
				t.Errorf("got\n%s\nwant\n%s", all, c.want)
			}
		})
	}
}

// TestPluginPlace pins that the place of a plugin is the name of its function.
func TestPluginPlace(t *testing.T) {
	t.Parallel()
	got := declaredPlugins("n", "f.py", "@plugin\nasync def  größe(\n  a): pass\n")
	if len(got) != 1 || got[0].At.String() != "f.py:2:12" {
		t.Errorf("%+v", got)
	}
}

// FuzzDeclaredPlugins finds texts that make the search panic or loop.
func FuzzDeclaredPlugins(f *testing.F) {
	f.Add("@plugin(\"a\")\ndef f(a: list[str] = [], *b, **c) -> \"int\":\n  '''Doc.'''\n")
	f.Add("@plugin\ndef f(\\\n '''")
	f.Add("plugin as p\n@p\ndef f)(: pass")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range declaredPlugins("n", "f.py", text) {
			if p.Name == "n::" || p.At.Line < 1 {
				t.Errorf("%+v", p)
			}
		}
	})
}
