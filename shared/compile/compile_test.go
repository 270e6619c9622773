package compile_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/compile"
	"southbound/shared/internal/source"
	"southbound/shared/lang/project"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// registry returns all types of the program, and one whose attributes are called as words of the
// language.
func registry(t *testing.T) *schema.Registry {
	t.Helper()
	all := []schema.Type{{
		Name: "odd::deep::Thing", Description: "A \"\"\"thing\"\"\" of C:\\new.\nIt has two lines.",
		Attributes: []schema.Attribute{
			{Name: "index", Type: "String", Behaviour: schema.Namevar},
			{Name: "part", Type: "Integer", Behaviour: schema.Namevar, Default: int64(7)},
			{Name: "provides", Type: "Optional[Array[Integer]]"},
			{Name: "size", Type: "Optional[Integer]", Behaviour: schema.ReadOnly},
			{Name: "either", Type: "Variant[Optional[Boolean], Boolean]"},
			{Name: "both", Type: "Optional[Variant[Enum[a], Pattern[/b/]]]"},
			{Name: "one", Type: "Optional[Variant[Integer, Hash]]"},
			{Name: "ratio", Type: "Float", Default: 0.5},
		},
	}}
	r, err := schema.NewRegistry(append(all, provider.Types(handlers.All())...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compiled(t *testing.T, text string) (*compile.Compiled, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, project.MainFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return compile.Model(context.Background(), compile.Options{Path: dir, Types: registry(t)})
}

// TestEntities holds that every type is an entity that models can import.
func TestEntities(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	seen := map[string]bool{}
	for _, name := range registry(t).Names() {
		family := name[:strings.LastIndex(name, "::")]
		if !seen[family] {
			seen[family] = true
			fmt.Fprintf(&b, "import southbound::%s\n", family)
		}
	}
	c, err := compiled(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
	defined := map[string]bool{}
	for _, e := range c.Entities {
		defined[e.FullName()] = true
	}
	for _, name := range registry(t).Names() {
		if !defined["southbound::"+name] {
			t.Errorf("there is no entity for %s", name)
		}
	}
}

// TestAttributes holds how attributes are called and typed, and that what is null is not said.
func TestAttributes(t *testing.T) {
	t.Parallel()
	c, err := compiled(t, `import southbound::odd::deep
import southbound
a = southbound::Agent(name="a", transport="ssh", lanes=4, options={"host": "h"})
southbound::odd::deep::Thing(agent=a, index_="i", provides_=[1, 2], either=null, one={"x": 1}, purged=true)
southbound::odd::deep::Thing(agent=a, index_="i", part=8, either=true, both="a", ratio=1.5, requires=southbound::odd::deep::Thing[agent=a, index_="i", part=7])
`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(c.Resources)
	if err != nil {
		t.Fatal(err)
	}
	want := `"Agents":[["a",{"host":"h","lanes":4,"transport":"ssh"}]],"Resources":[` +
		`["",{"agent":"a","attributes":{"either":null,"index":"i","one":{"x":1},"part":7,"provides":[1,2]},"purged":true,"type":"odd::deep::Thing"}],` +
		`["",{"agent":"a","attributes":{"both":"a","either":true,"index":"i","part":8,"ratio":1.5},"requires":["odd::deep::Thing[a,index=i,part=7]"],"type":"odd::deep::Thing"}]]`
	if !strings.Contains(string(got), want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	first, err := c.Deployable(context.Background(), source.Options{Types: registry(t)})
	if err != nil {
		t.Fatal(err)
	}
	again, err := c.Deployable(context.Background(), source.Options{Types: registry(t)})
	if err != nil || first.Fingerprint != again.Fingerprint || len(first.Resources) != 2 {
		t.Errorf("%v, %d resources", err, len(first.Resources))
	}
	if at := first.Where(1, "ratio"); at.Line != 5 {
		t.Errorf("the ratio of the second is at %v", at)
	}
}

// TestSets holds that a resource belongs to one set, and an agent has one name.
func TestSets(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, text, want string }{
		{"two sets", `n = southbound::std::Null(agent=a, name="n")
std::ResourceSet(name="one", resources=n)
std::ResourceSet(name="two", resources=n)`, "the resource belongs to two sets, 'one' and 'two'"},
		{"an unknown flag",
			`southbound::std::Null(agent=a, name="n", purged=bool(std::get_env("NOT_SET")))`,
			"purged of a resource is an unknown value"},
		{"transport as an option", `southbound::Agent(name="b", options={"transport": "ssh"})`,
			`"transport" is not an option of a transport`},
		{"a form with what is known later",
			`southbound::std::Null(agent=a, name="n", value={"value": southbound::parameter("p")})`,
			"cannot hold values that are known later"},
		{"not a finite number", `southbound::std::Null(agent=a, name="n", value=float("nan"))`,
			"not a number that a resource can have"},
		{"no agent", `southbound::std::Null(name="n")`, "agent is missing"},
		{"an unknown agent", `southbound::Agent(name=std::get_env("NOT_SET"))`,
			"name of an agent is an unknown value"},
		{"the same twice", `southbound::std::Null(agent=a, name="n", delay_ms=1)
southbound::std::Null(agent=a, name="n", delay_ms=2)`, "is set twice: it is 1 already"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := compiled(t,
				"import southbound\nimport southbound::std\na = southbound::Agent(name=\"a\")\n"+
					test.text+"\n")
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
