//go:build servers

package compile_test

import (
	"cmp"
	"context"
	"crypto/sha1" // files are named so
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cmpdiff "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/localstack/server"
	"southbound/shared/compile"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/entity"
	"southbound/shared/internal/source"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// pythonModel compiles a model whose modules have Python code, from the environment of published
// modules. It returns what was printed, too.
func pythonModel(t *testing.T, text string, more map[string]string, m ...entity.Mapping) (
	*compile.Compiled, string, error,
) {
	t.Helper()
	r := registry(t)
	mapper, err := entity.NewMapper(r, m)
	if err != nil {
		t.Fatal(err)
	}
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	shop, err := filepath.Abs("../lang/python/testdata")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files := map[string]string{
		"main.cf":     text,
		"project.yml": "name: test\nmodulepath: [libs, " + shop + "]\n",
	}
	for name, text := range more {
		files[name] = text
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(env, filepath.Join(dir, ".env")); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	c, err := compile.Model(context.Background(), compile.Options{
		Path: dir, Types: r, Mapper: mapper, Print: func(s string) { b.WriteString(s) },
	})
	return c, strings.ReplaceAll(b.String(), dir, ""), err
}

// wanted compares variables of main.cf.
func wanted(t *testing.T, c *compile.Compiled, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if v, ok := c.Variables[name]; !ok || types.Repr(v) != text {
			t.Errorf("%s is %v, and should be %s", name, v, text)
		}
	}
}

// TestPythonPlugins holds how values go to plugins in Python and come back.
func TestPythonPlugins(t *testing.T) {
	c, said, err := pythonModel(t, `import shop
x = shop::add(1)
y = shop::add(1, b=40)
h = shop::Host(name="h1")
other = shop::Host(name="h2", note="n")
h.parts += shop::Part(label="b")
h.parts += shop::Part(label=m)
l = shop::labels(h)
m = shop::many("a", "q", sep="-", z=3)
s = [p.name for p in shop::same(other, [other, h, other])]
o = shop::values(null)
o2 = shop::values(5, ["a", "é\n"])
w = shop::where(true)
p = shop::point(7)
pl = p.label
n = shop::double(p)
nulls = shop::shown([1, null])
n2 = shop::double(shop::Point(x=4, label=null))
kinds = shop::kinds([p, shop::later(9)], p, p)
u = shop::add(int(std::get_env("NOT_SET_ANYWHERE")))
f = shop::adder(2)
f5 = shop::applied(f, 5)
f6 = shop::applied(shop::adder(1), 5)
k = shop::known(std::get_env("NOT_SET_ANYWHERE"))
entity E:
    shop::even v
end
implement E using std::none
E(v=4)
t = std::template("/t.j2")
r = shop::said()
`,
		map[string]string{"templates/t.j2": "{{ 1 | shop.add }} {{ h.name }} {{ h | shop.labels " +
			"| join('+') }}"})
	if err != nil {
		t.Fatal(err)
	}
	wanted(t, c, map[string]string{
		"x": "3", "y": "41", "l": `["a-q{'z': 3}", 'b']`, "m": `"a-q{'z': 3}"`, "s": "['h2', 'h2']",
		"o": "{'x': null, 'y': 'd', 'f': 1.5, 'n': null, 't': [1, 2], 'big': " +
			"1000000000000000000000000000000}",
		"o2": "{'x': 5, 'y': ['a', 'é\\n'], 'f': 1.5, 'n': null, 't': [1, 2], 'big': " +
			"1000000000000000000000000000000}",
		"w": "'__config__:13 True'", "pl": "'p7'", "n": "14", "n2": "8",
		"nulls": "['@[1, null]', '@[1, null]', 'False', 'True', 'True']",
		"f5":    "7", "f6": "6", "kinds": "['Point', 'LaterPoint', 'Point', 'DynamicProxy']",
		"k": "False",
		"t": `"3 h1 a-q{'z': 3}+b"`, "r": "'x'",
	})
	if !types.IsUnknown(c.Variables["u"]) {
		t.Errorf("u is %v", c.Variables["u"])
	}
	for _, text := range []string{"labels of h1 None\n", "Readonly object\n", "in order",
		"finalized\n"} {
		if !strings.Contains(said, text) {
			t.Errorf("it says %q", said)
		}
	}
	if strings.Contains(said, "raw") {
		t.Errorf("it says %q", said)
	}
	if w := c.Warnings; len(w) != 1 || w[0].Code != "deprecated" ||
		!strings.Contains(w[0].Hint, "shop::add") {
		t.Errorf("the warnings are %v", w)
	}
}

// TestPythonPluginFails holds that a problem has the place in the model and those in the module.
func TestPythonPluginFails(t *testing.T) {
	_, _, err := pythonModel(t, "import shop\nx = shop::fail(\"a\")\n", nil)
	problems, _ := diag.Of(err)
	if len(problems) != 1 || problems[0].Line != 2 || problems[0].Code != "plugin" ||
		problems[0].Message != "shop::fail: ValueError: no a" || len(problems[0].Related) != 2 ||
		!strings.HasPrefix(problems[0].Related[0].Message, "in helper: raise ValueError") {
		t.Errorf("%+v", problems)
	}
}

// TestUnknownInDataclass holds that a dataclass with an unknown value is a problem of the model,
// wherever in it that is.
func TestUnknownInDataclass(t *testing.T) {
	for _, point := range []string{"x=int(u), label=null", "x=1, label=u"} {
		_, _, err := pythonModel(t, "import shop\nu = std::get_env(\"NOT_SET_ANYWHERE\")\n"+
			"x = shop::double(shop::Point("+point+"))\n", nil)
		problems, _ := diag.Of(err)
		if len(problems) != 1 || problems[0].Line != 3 || !strings.Contains(problems[0].Message,
			"of shop::Point holds an unknown value, which a dataclass cannot") {
			t.Errorf("%s: %v", point, err)
		}
	}
}

// TestPublishedModules holds that modules of a package index compile as they are, with the values
// that the reference compiler has.
func TestPublishedModules(t *testing.T) {
	c, _, err := pythonModel(t, `import fs
import exec
import apt
import mitogen
import files
import files::systemd_unit
import net
import ip
import ip::services
host = std::Host(name="web1", os=std::linux, via=mitogen::Local())
f = fs::File(host=host, path="/tmp/x/a", mode=644, content="hello", purged=false)
r = exec::Run(host=host, command="touch /tmp/x/done", creates="/tmp/x/done", requires=f)
idx = ip::ipindex("192.168.2.0/24", 10)
nm = ip::netmask(24)
c = ip::concat("a", "b.c")
unit = files::SystemdUnitFile(host=host, path="/etc/systemd/system/x.service",
    unit=files::systemd_unit::Unit(description="d", requires=["a.service"]),
    service=files::systemd_unit::Service(exec_start="/bin/true"))
later = files::TextFile(host=host, path="/e", content=std::create_environment_reference("E"))
p = files::path_join("/a", "b", "c")
ok = ip::is_valid_ip("1.2.3.4")
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	wanted(t, c, map[string]string{
		"idx": "'192.168.2.10'", "nm": "'255.255.255.0'", "c": "'a.b.c'", "p": "'/a/b/c'",
		"ok": "True",
	})
	for name, n := range map[string]int{
		"ip::Service": 13, "std::OS": 7, "std::PurgeableResource": 4,
	} {
		if c.Counts[name] != n {
			t.Errorf("there are %d of %s, and should be %d", c.Counts[name], name, n)
		}
	}
	text, err := json.Marshal(c.Resources.Resources)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"content":"[Unit]\nDescription=d\nRequires=a.service\n\n[Service]\nExecStart=/bin/true\n\n"`,
		// the reference has the id that the reference exporter gives it
		`"id":"2e762cb9-12c4-36e9-bd4e-a55a1938b1dc"`, `"type":"std::Environment"`,
		`"type":"core::Replace"`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the resources are %s, without %s", text, want)
		}
	}
}

// TestPythonResources holds what classes of modules make of instances, with ids, members, sets and
// requirements as the reference exporter has them.
func TestPythonResources(t *testing.T) {
	c, _, err := pythonModel(t, `import shop
import southbound
import southbound::std
import fs
import mitogen
h = shop::Host(name="h1")
p = shop::Part(label="p1", host=h)
first = shop::Shelf(host=h, label="first", size=1)
s = shop::Shelf(host=h, label="a =,\\b", size=2, goods=[p, shop::Part(label="o", host=h)], purged=true,
    send_event=true, requires=[n, h2])
shop::Shelf(host=h, label="ignored", size=3)
shop::Shelf(host=h, label="unmanaged", size=3, managed=false)
shop::Shelf(host=h, label=std::get_env("NOT_SET_ANYWHERE"), size=3)
shop::Shelf(host=h, label="unknown", size=4, seen=std::get_env("NOT_SET_ANYWHERE"))
shop::Scan(host=h, label="all")
n = southbound::std::Null(agent=southbound::Agent(name="h2", lanes=2), name="n")
n2 = southbound::std::Null(agent=southbound::Agent[name="h2"], name="n2", requires=s)
std::ResourceSet(name="set", resources=[s])
h2 = fs::File(host=std::Host(name="h2", os=std::linux, via=mitogen::Local()), path="/x", mode=600,
    content="hello", purged=false)
`, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range c.Resources.Resources {
		a, _ := r.Members["attributes"].(map[string]any)
		text, err := json.Marshal(r.Members)
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(cmp.Or(a["label"], a["name"], a["path"]))
		got[fmt.Sprint(r.Members["type"])+" "+name] = string(text)
	}
	for name, want := range map[string]string{
		"shop::Shelf first": `{"agent":"h1","attributes":{"goods":[],"label":"first","more":` +
			`{"host":"h1","twice":2},"size":1,"text":"` + sha("text of first") +
			`"},"send_event":true,"type":"shop::Shelf"}`,
		`shop::Shelf a =,\b`: `{"agent":"h1","attributes":{"goods":["o","p1"],` +
			`"label":"a =,\\b","more":{"host":"h1","twice":4},"size":2,"text":"` +
			sha(`text of a =,\b`) +
			`"},"purged":true,"requires":["fs::File[h2,path=/x]","shop::Shelf[h1,label=first]",` +
			`"std::Null[h2,name=n]"],"send_event":true,"set":"set","type":"shop::Shelf"}`,
		"shop::Shelf unknown": `{"agent":"h1","attributes":{"goods":[],"label":"unknown",` +
			`"more":{"host":"h1","twice":8},"seen":{"parameter":"unknown: seen of ` +
			`shop::Shelf[h1,label=unknown]"},"size":4,"text":"` + sha("text of unknown") +
			`"},"requires":["shop::Shelf[h1,label=first]"],"send_event":true,"type":"shop::Shelf"}`,
		"shop::Scan all": `{"agent":"h1","attributes":{"label":"all"},"send_event":true,"type":"shop::Scan"}`,
		"std::Null n":    `{"agent":"h2","attributes":{"name":"n"},"type":"std::Null"}`,
		"std::Null n2": `{"agent":"h2","attributes":{"name":"n2"},` +
			`"requires":["shop::Shelf[h1,label=a \\=\\,\\\\b]"],"type":"std::Null"}`,
		"fs::File /x": `{"agent":"h2","attributes":{"hash":"` + sha("hello") +
			`","path":"/x","permissions":600,"via":{"method_name":"local","name":""}},` +
			`"send_event":true,"type":"fs::File"}`,
	} {
		if got[name] != want {
			t.Errorf("%s is\n%s\nand should be\n%s", name, got[name], want)
		}
		delete(got, name)
	}
	if len(got) > 0 {
		t.Errorf("there are others: %v", got)
	}
	deployed(t, c)
	// handlers of classes run here, so their agents are not described
	if a := c.Resources.Agents; len(a) != 1 || a[0].Name != "h2" ||
		a[0].Members["lanes"] != int64(2) {
		t.Errorf("the agents are %v", a)
	}
}

// deployed holds that resources of classes come with the code of their handlers, and with the files
// that they name, and that no others do.
func deployed(t *testing.T, c *compile.Compiled) {
	t.Helper()
	m, err := c.Deployable(t.Context(), source.Options{Types: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]string{} // by the module of the type
	for i := range m.Resources {
		r := &m.Resources[i]
		code, has := r.Attributes[model.CodeAttribute].(resource.File)
		if has != (r.Type != "std::Null") {
			t.Errorf("%s has code: %v", r.ID, has)
		}
		if has {
			codes[strings.Split(r.Type, "::")[0]] = string(m.Files[code.Hash].Data)
		}
		files, _ := r.Attributes[model.FilesAttribute].(map[string]any)
		if r.Type == "fs::File" {
			f, _ := files[sha("hello")].(resource.File)
			if string(m.Files[f.Hash].Data) != "hello" {
				t.Errorf("the files of %s are %v", r.ID, files)
			}
		}
	}
	for module, want := range map[string]string{
		"shop": "def get_goods", "fs": `"inmanta_plugins.fs.resources"`,
	} {
		code := codes[module]
		if !strings.Contains(code, want) ||
			!strings.Contains(code, `"inmanta_plugins.`+module+`":`) {
			t.Errorf("the code of %s lacks %s, or the module itself", module, want)
		}
	}
	if strings.Contains(codes["fs"], `"inmanta_plugins.shop":`) {
		t.Error("the code of fs has a module that it does not use")
	}
}

func sha(text string) string {
	sum := sha1.Sum([]byte(text)) // files are named so
	return hex.EncodeToString(sum[:])
}

// TestPythonResourceFails holds that what is wrong with one has the place of its instance.
func TestPythonResourceFails(t *testing.T) {
	_, _, err := pythonModel(t, `import shop
h = shop::Host(name="h1")
shop::Shelf(host=h, label="fine", size=1)
shop::Shelf(host=h, label="broken", size=1)
`, nil)
	problems, _ := diag.Of(err)
	if len(problems) != 1 || problems[0].Line != 4 || problems[0].Code != "python" ||
		!strings.Contains(problems[0].Message, "KeyError: 'broken'") ||
		len(problems[0].Related) == 0 ||
		!strings.HasPrefix(problems[0].Related[0].Message, "in get_goods: ") {
		t.Errorf("%v %+v", err, problems)
	}
	_, _, err = pythonModel(t, `import shop
shop::Shelf(host=shop::Host(name="h1"), label="half", size=1)
`, nil)
	if err == nil || !strings.Contains(err.Error(),
		"goods of shop::Shelf[h1,label=half] holds a text that is not Unicode") {
		t.Errorf("half of a character: %v", err)
	}
}

// TestTwoClasses holds that an instance becomes a resource of its own class and one of the class of
// what its entity extends, as with the library.
func TestTwoClasses(t *testing.T) {
	c, _, err := pythonModel(t, `import two
b = two::Base(name="b")
s = two::Sub(name="s", requires=b)
two::Base(name="c", requires=s)
`, map[string]string{
		"libs/two/module.yml": "name: two\nversion: 0.1\nlicense: none\n",
		"libs/two/model/_init.cf": `entity Base extends std::PurgeableResource:
    string name
end
entity Sub extends Base:
end
implement Base using std::none
implement Sub using std::none
`,
		"libs/two/plugins/__init__.py": `from inmanta.agent.handler import CRUDHandler, provider
from inmanta.resources import PurgeableResource, resource

@resource("two::Base", agent="name", id_attribute="name")
class Base(PurgeableResource):
    fields = ("name",)

@resource("two::Sub", agent="name", id_attribute="name")
class Sub(Base):
    pass

@provider("two::Base", name="base")
@provider("two::Sub", name="sub")
class Handler(CRUDHandler):
    pass
`,
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Deployable(t.Context(), source.Options{Types: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[resource.ID][]resource.ID{}
	for i := range m.Resources {
		got[m.Resources[i].ID] = m.Resources[i].Requires
	}
	const base, sub = "two::Base[b,name=b]", "two::Sub[s,name=s]"
	want := map[resource.ID][]resource.ID{
		base: nil, "two::Base[s,name=s]": nil, sub: {base}, "two::Base[c,name=c]": {sub},
	}
	if d := cmpdiff.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// TestFactsThroughMappings holds that a fact of a resource of a class, which is not known when a
// model is compiled, stays that fact where a mapping has it as it is, also in a list, and not where
// a function was to compute something from it.
func TestFactsThroughMappings(t *testing.T) {
	null := func(name string, f entity.Fields) entity.Mapping {
		f.Inherits = []entity.Fields{{Map: map[string]string{"name": "name"}}}
		return entity.Mapping{
			Entity: "__config__::" + name, Type: "std::Null", Agent: "name", Fields: f,
		}
	}
	longer := func(_ *entity.Context, e entity.Entity) (any, error) {
		text, err := e.Attribute("value")
		if err != nil {
			return nil, err
		}
		return fmt.Sprint(text, " and more"), nil
	}
	value := map[string]string{"value": "value"}
	c, _, err := pythonModel(t, `import shop
entity Text:
    string name
    string value
end
entity Longer extends Text:
end
entity Many:
    string name
    dict value
end
implement Text using std::none
implement Longer using std::none
implement Many using std::none
low = shop::Shelf(host=shop::Host(name="h1"), label="low", size=1)
Text(name="a", value=std::getfact(low, "depth"))
Many(name="b", value={"all": [std::getfact(low, "depth"), 1]})
Longer(name="c", value=std::getfact(low, "depth"))
`, nil, null("Text", entity.Fields{Map: value}), null("Many", entity.Fields{Map: value}),
		null("Longer", entity.Fields{Funcs: map[string]entity.Func{"value": longer}}))
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Deployable(t.Context(), source.Options{Types: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	got := map[resource.ID]any{}
	for i := range m.Resources {
		got[m.Resources[i].ID] = m.Resources[i].Attributes["value"]
	}
	fact := resource.Fact{Of: "shop::Shelf[h1,label=low]", Name: "depth"}
	want := map[resource.ID]any{
		fact.Of: nil, "std::Null[a,name=a]": fact,
		"std::Null[b,name=b]": map[string]any{"all": []any{fact, int64(1)}},
		"std::Null[c,name=c]": resource.Parameter{Name: "unknown: the fact depth is not known yet"},
	}
	if d := cmpdiff.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestPythonAndMappings holds that a mapping of the program goes before a class of a module, and
// that what the two make can require each other.
func TestPythonAndMappings(t *testing.T) {
	c, _, err := pythonModel(t, `import shop
h = shop::Host(name="h1")
scan = shop::Scan(host=h, label="all", requires=shop::Shelf(host=h, label="low", size=1))
shop::Shelf(host=h, label="high", size=2, requires=scan)
`, nil, entity.Mapping{
		Entity: "shop::Scan", Type: "std::Null", Agent: "host.name",
		Fields: entity.Fields{Map: map[string]string{"name": "label"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	m, err := c.Deployable(t.Context(), source.Options{Types: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	const scan, low, high = "std::Null[h1,name=all]", "shop::Shelf[h1,label=low]",
		"shop::Shelf[h1,label=high]"
	requires := map[resource.ID][]resource.ID{}
	for i := range m.Resources {
		requires[m.Resources[i].ID] = m.Resources[i].Requires
	}
	want := map[resource.ID][]resource.ID{low: nil, scan: {low}, high: {scan}}
	if d := cmpdiff.Diff(want, requires, cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}
