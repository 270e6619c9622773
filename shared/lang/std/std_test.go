package std_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// compile runs a model with files beside it.
func compile(t *testing.T, files map[string]string) (*eval.Result, string, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := compileIn(t, dir)
	return r, dir, err
}

// compileIn runs the model in a folder.
func compileIn(t *testing.T, dir string) (*eval.Result, error) {
	t.Helper()
	p, err := project.Load(dir, project.Options{})
	if err != nil {
		return nil, err
	}
	r, _, err := eval.Run(t.Context(), eval.Program{
		Sources: p.Sources, Rules: p.Rules, Plugins: std.Plugins(), Env: p.Env,
	})
	return r, err
}

// plain returns a value as JSON has it.
func plain(v types.Value) any {
	switch v := v.(type) {
	case types.Null:
		return nil
	case *types.List:
		out := []any{}
		for _, item := range v.Items {
			out = append(out, plain(item))
		}
		return out
	case *types.Dict:
		out := map[string]any{}
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			out[k] = plain(item)
		}
		return out
	case *types.Unknown:
		return map[string]any{"unknown": true}
	case types.Object:
		return map[string]any{"instance": v.Type().FullName()}
	case float64:
		return json.Number(types.FloatText(v))
	case string, bool:
		return v
	}
	return json.Number(types.Text(v))
}

// TestReference holds plugins against what the reference compiler said of the same models.
func TestReference(t *testing.T) {
	f, err := os.Open("testdata/reference.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var want struct {
			Model     string
			Variables map[string]any
			Output    string
			Error     bool
		}
		d := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		d.UseNumber()
		if err := d.Decode(&want); err != nil {
			t.Fatal(err)
		}
		r, _, err := compile(t, map[string]string{"main.cf": want.Model})
		if (err != nil) != want.Error {
			t.Errorf("%s\nerror %v, want one: %t", want.Model, err, want.Error)
			continue
		}
		if err != nil {
			continue
		}
		have := map[string]any{}
		for name, v := range r.Variables {
			have[name] = plain(v)
		}
		if !reflect.DeepEqual(have, want.Variables) || r.Output != want.Output {
			t.Errorf("%s\nhave %v %q\nwant %v %q",
				want.Model, have, r.Output, want.Variables, want.Output)
		}
	}
	if n < 35 {
		t.Errorf("%d models", n)
	}
}

const module = `entity Site:
    string name
end
Site.kids [0:] -- Site.parent [0:1]
implement Site using std::none
`

func TestTemplate(t *testing.T) {
	for _, k := range []struct{ template, call, want, why string }{
		{"{{ s.name }} {{ n + 1 }}", `std::template("foo/t.j2")`, "top 8", "what the caller sees"},
		{"{{ n }}", `std::template("foo/t.j2", n=9)`, "9", "values with names"},
		{"{{ s|default('-') }}", `std::template("foo/t.j2", n=9)`, "-", "and nothing else then"},
		{
			"{% for k in s.kids|sort(attribute='name') %}{{ k.name }} {% endfor %}",
			`std::template("foo/t.j2")`, "a b ", "a relation is complete",
		},
		{"{{ s.parent|default('none') }}", `std::template("foo/t.j2")`, "none",
			"an empty relation"},
		{"{{ s.nope is defined }}", `std::template("foo/t.j2")`, "False", "no such attribute"},
		{"{{ s.name|std.upper }}", `std::template("foo/t.j2")`, "TOP", "a plugin is a filter"},
		{"{% include 'foo/p.j2' %}", `std::template("foo/t.j2")`, "part top", "an include"},
		{"{{ l }} {{ l[0] }}", `std::template("foo/t.j2")`, "@[1, 2] 1", "a list of the model"},
		{"{% for n in [1, 2] %}{% block b scoped %}{{ n }}{% endblock %}{% endfor %}",
			`std::template("foo/t.j2")`, "77", "the model goes before the template around"},
		{"{% set s = n %}{% include 'foo/p.j2' %}", `std::template("foo/t.j2")`, "part top",
			"also in an include"},
		{"{% set n = 1 %}{% block b %}{{ n }}{% endblock %}", `std::template("foo/t.j2", n=9)`, "1",
			"but not if it is passed"},
		{"{{ self }}", `std::template("foo/t.j2")`, "<TemplateReference 't.j2'>", "the template"},
		{"{{ u }}", `std::is_unknown(std::template("foo/t.j2"))`, "True", "an unknown value"},
	} {
		r, _, err := compile(t, map[string]string{
			"project.yml": "modulepath: libs\n", "libs/foo/model/_init.cf": module,
			"libs/foo/templates/t.j2": k.template, "libs/foo/templates/p.j2": "part {{ s.name }}",
			"main.cf": "import foo\ns = foo::Site(name=\"top\")\n" +
				"s.kids += foo::Site(name=\"b\")\n" +
				"s.kids += foo::Site(name=\"a\")\nn = 7\nl = [1, 2]\n" +
				"u = std::get_env(\"SOUTHBOUND_NOT_SET\")\nt = " + k.call + "\n",
		})
		if err != nil {
			t.Errorf("%s: %v", k.why, err)
			continue
		}
		if have := types.Text(r.Variables["t"]); have != k.want {
			t.Errorf("%s: %q, want %q", k.why, have, k.want)
		}
	}
}

// modelOfTemplates is what the templates of testdata/templates.jsonl see.
const modelOfTemplates = `import foo
h = foo::Host(name="w1")
hu = foo::Host(name="w2", port=u)
u = std::get_env("SOUTHBOUND_NOT_SET")
n = null
lst = [1, null, "x", 2.0, true]
lst2 = [{"a": null, "l": [1]}, {"b": 1}]
dd = {"l": [1, null], "d": {"x": [null, true]}, "n": null, "s": "a'b", "i": {"y": "e"}}
lu = [1, u]
du = {"a": u, "b": 1}
`

// TestValuesInTemplates holds templates that use values of a model against what the reference
// compiler made of them.
func TestValuesInTemplates(t *testing.T) {
	text, err := os.ReadFile("testdata/templates.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"project.yml": "modulepath: libs\n",
		"libs/foo/model/_init.cf": "entity Host:\n    string name\n    int? port = null\nend\n" +
			"Host.kids [0:] -- Host.parent [0:1]\nimplement Host using std::none\n",
		"libs/foo/templates/inc.j2":  "{{ u if false }}inc",
		"libs/foo/templates/mac.j2":  "{% macro f(x) %}{{ u if false }}<{{ x }}>{% endmacro %}",
		"libs/foo/templates/base.j2": "[{% block b %}base{% endblock %}]",
	}
	type wanted struct {
		Template, Text string
		Passed         bool // the values are passed to the template
		Unknown        bool // the result is
	}
	var all []wanted
	model := modelOfTemplates
	for line := range strings.Lines(string(text)) {
		var k wanted
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			t.Fatal(err)
		}
		named := ""
		if k.Passed {
			named = ", h=h, dd=dd, lst=lst, lst2=lst2, n=n, hu=hu, lu=lu, du=du"
		}
		files[fmt.Sprintf("libs/foo/templates/t%d.j2", len(all))] = k.Template
		model += fmt.Sprintf("t%d = std::template(\"foo/t%d.j2\"%s)\n", len(all), len(all), named)
		all = append(all, k)
	}
	files["main.cf"] = model
	r, _, err := compile(t, files)
	if err != nil {
		t.Fatal(err)
	}
	for i, k := range all {
		v := r.Variables[fmt.Sprintf("t%d", i)]
		if _, unknown := v.(*types.Unknown); unknown != k.Unknown || !unknown && v != k.Text {
			t.Errorf("%s, passed: %t\nhave %v\nwant %q, unknown: %t",
				k.Template, k.Passed, plain(v), k.Text, k.Unknown)
		}
	}
	if len(all) < 130 {
		t.Errorf("%d templates", len(all))
	}
}

// TestFaults holds that what is wrong is told with its place and its reason.
func TestFaults(t *testing.T) {
	for _, k := range []struct{ call, want, why string }{
		{`std::template("foo/bad.j2")`, "foo/bad.j2:2: ", "a syntax error has the line"},
		{`std::template("foo/missing.j2")`, `"missing" is not defined`, "an undefined variable"},
		{
			`std::template("foo/none.j2")`,
			"there is no template foo/none.j2: there is no file libs/foo/templates/none.j2",
			"no such template",
		},
		{`std::template("foo/append.j2")`, `no attribute "append"`, "a model cannot be changed"},
		{`std::template("none.j2")`, "for the project: module/none.j2", "a path without a module"},
		{`std::template("fo/t.j2")`, "no module fo here; did you mean foo?", "no such module"},
		{`std::template("foo/../t.j2")`, "leads out of the folder templates", "out of templates"},
		{
			`std::template("foo/include.j2")`,
			`foo/include.j2:1: there is no template "./part.j2": in templates, a path begins with`,
			"an include of a path from here",
		},
		{
			`std::template("foo/self.j2")`,
			`self is the template in a template, and has no block "name"`,
			"self in a template",
		},
		{`std::template("foo/unset.j2")`, ") is not set", "a relation that is not set"},
		{`std::template("foo/passed.j2", x=s)`, ") is not set", "nor can it be written if passed"},
		{`std::template("foo/method.j2")`, "the function upper has no text", "a method as text"},
		{`std::template("./t.j2")`, "not in a module", "./ outside of a module"},
		{`std::source("foo/none")`, "there is no file foo/none", "no such file"},
		{`std::source("foo/../../../../etc/passwd")`, "leads out of the module", "a way out"},
		{`std::source("bar/x")`, "there is no module bar", "no such module"},
		{`std::password("x")`, "there is no password x", "no such password"},
		{`std::generate_password("a=b")`, "has no =", "a name with ="},
		{`std::sequence(99999999999)`, "at most", "a long sequence"},
		{`std::json_loads("[1,")`, "not JSON", "cut off"},
		{`std::validate_type("pydantic.constr", "x", {"regex": "("})`, "", "a wrong regex"},
	} {
		_, _, err := compile(t, map[string]string{
			"project.yml": "modulepath: libs\n", "libs/foo/model/_init.cf": module,
			"libs/foo/templates/bad.j2":     "a\n{{ 1 + }}",
			"libs/foo/templates/unset.j2":   "{{ s.parent.name }}",
			"libs/foo/templates/passed.j2":  "{{ x.parent }}",
			"libs/foo/templates/method.j2":  "{{ 'a'.upper }}",
			"libs/foo/templates/append.j2":  "{% for k, v in d.items() %}{{ v.append(1) }}{% endfor %}",
			"libs/foo/templates/missing.j2": "{{ missing }}",
			"libs/foo/templates/include.j2": "{% include './part.j2' %}",
			"libs/foo/templates/self.j2":    "{{ self.name }}",
			"main.cf": "import foo\nt = " + k.call +
				"\nd = {\"l\": [1]}\ns = foo::Site(name=\"a\")\n",
		})
		var p diag.Problems
		if !errors.As(err, &p) || len(p) == 0 {
			t.Errorf("%s: %v is not a problem", k.why, err)
			continue
		}
		if p[0].Pos.Line != 2 || !strings.Contains(p[0].Message, k.want) {
			t.Errorf("%s: %v, want %q in line 2", k.why, p[0], k.want)
		}
	}
}

// TestLinks holds that links that lead out of a module are refused wherever its files are read, and
// that links within it, or to it, are not.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
			t.Fatal(err)
		}
	}
	write("secret/key", "s3cr3t")
	write("real/foo/files/own", "own")
	write("real/foo/templates/own.j2", "own")
	write("libs/bar/files/x", "of another")
	link("../real/foo", "libs/foo") // the module itself is a link
	for _, kind := range []string{"files", "templates"} {
		at := "real/foo/" + kind + "/"
		link(filepath.Join(dir, "secret/key"), at+"absolute")
		link("../../../secret/key", at+"relative")
		link("absolute", at+"twice")
		link("../../../secret", at+"folder")
		link("../../../libs/bar/files/x", at+"other")
		link("nowhere", at+"gone")
	}
	link("own", "real/foo/files/alias")
	link("../files/own", "real/foo/templates/across")
	link("own.j2", "real/foo/templates/alias")
	write("real/foo/templates/include.j2", "{% include 'foo/absolute' %}")
	write("real/foo/templates/extends.j2", "{% extends 'foo/twice' %}")
	link("../secret/key", "files/mine")
	for _, k := range []struct{ call, want string }{
		{`std::source("foo/absolute")`, "leads out of the module foo"},
		{`std::source("foo/relative")`, "leads out of the module foo"},
		{`std::source("foo/twice")`, "leads out of the module foo"},
		{`std::source("foo/folder/key")`, "leads out of the module foo"},
		{`std::source("foo/other")`, "leads out of the module foo"},
		{`std::source("foo/gone")`, "there is no file foo/gone"},
		{`std::file("foo/absolute")`, "leads out of the module foo"},
		{`std::file("foo/folder/key")`, "leads out of the module foo"},
		{`std::list_files("foo/folder")`, "leads out of the module foo"},
		{`std::template("foo/absolute")`, "leads out of the module foo"},
		{`std::template("foo/folder/key")`, "leads out of the module foo"},
		{`std::template("foo/include.j2")`, "leads out of the module foo"},
		{`std::template("foo/extends.j2")`, "leads out of the module foo"},
		{`std::template("foo/gone")`, "there is no template foo/gone"},
		{`std::source("foo/alias")`, ""}, {`std::file("foo/alias")`, ""},
		{`std::template("foo/alias")`, ""}, {`std::template("foo/across")`, ""},
		{`std::source("/mine")`, ""},
	} {
		write("project.yml", "modulepath: libs\n")
		write("real/foo/model/_init.cf", "")
		write("libs/bar/model/_init.cf", "")
		write("main.cf", "import foo\nimport bar\nx = "+k.call+"\n")
		_, err := compileIn(t, dir)
		switch {
		case k.want == "" && err != nil:
			t.Errorf("%s: %v", k.call, err)
		case k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want)):
			t.Errorf("%s: %v, want %q", k.call, err, k.want)
		}
		if err != nil && strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s tells the text: %v", k.call, err)
		}
	}
}

func TestFiles(t *testing.T) {
	r, dir, err := compile(t, map[string]string{
		"project.yml": "modulepath: libs\n", "libs/foo/files/a.txt": "text\n",
		"libs/foo/model/_init.cf": module + "x = std::source(\"./a.txt\")\n",
		"files/own":               "mine",
		"main.cf": `import foo
a = foo::x
b = std::source("/own")
c = std::file("foo/a.txt")
d = std::list_files("foo/")
p = std::generate_password("db", 12)
`,
	})
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprint(r.Variables["a"], r.Variables["b"], plain(r.Variables["d"]))
	if have != "text\nmine[a.txt]" && have != "text\n mine [a.txt]" {
		t.Errorf("%q", have)
	}
	if c, _ := r.Variables["c"].(string); !strings.HasSuffix(c, "/libs/foo/files/a.txt") {
		t.Errorf("the mark of a file is %q", c)
	}
	path := filepath.Join(dir, "data", "std", "passwordfile.txt")
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	text, _ := os.ReadFile(path)
	p, _ := r.Variables["p"].(string)
	if len(p) != 12 || string(text) != "db="+p+"\n" {
		t.Errorf("the file of passwords holds %q, the model %q", text, p)
	}
}

// TestDocs holds that every plugin says what it does.
func TestDocs(t *testing.T) {
	names := []string{}
	for _, p := range std.Plugins() {
		if !strings.HasSuffix(p.Doc, ".") {
			t.Errorf("%s: %q is not a sentence", p.Name, p.Doc)
		}
		names = append(names, p.Name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(std.Plugins()) {
		t.Error("two plugins have one name")
	}
}
