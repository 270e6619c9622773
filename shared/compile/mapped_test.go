package compile_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/entity"
	"southbound/shared/internal/source"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// shop is a module whose entities are mapped.
const shop = `
-- project.yml --
name: p
modulepath: libs
-- libs/shop/module.yml --
name: shop
version: 1.0.0
license: none
-- libs/shop/model/_init.cf --
import std
import southbound
entity Host:
    string name
    string? motd = null
end
Host.agent [1] -- southbound::Agent
implement Host using std::none
entity Page extends std::PurgeableResource, std::ManagedResource:
    string path
    string? text = null
    southbound::value? owner = null
    dict labels = {}
end
Page.host [1] -- Host
Page.more [0:] -- Host
implement Page using std::none
entity Draft extends Page:
end
implement Draft using std::none
`

// pageMappings are the mappings of shop.
func pageMappings() []entity.Mapping {
	text := func(ctx *entity.Context, e entity.Entity) (any, error) {
		text, err := e.Attribute("text")
		switch text := text.(type) {
		case nil:
			if err != nil {
				return nil, err
			}
			return nil, entity.Ignored("it has no text")
		case string:
			if text == "panic" {
				panic("no such page")
			}
			name, err := ctx.Text("host.name")
			return ctx.Upload([]byte(text + " on " + name)), err
		}
		return text, err
	}
	return []entity.Mapping{{
		Entity: "shop::Page", Type: "fs::File", Agent: "host.agent.name",
		Fields: entity.Fields{
			Inherits: []entity.Fields{entity.Purgeable(), entity.Managed()},
			Names:    []string{"path", "owner"},
			Funcs:    map[string]entity.Func{"content": text},
		},
	}, {
		Entity: "shop::Draft", Type: "std::Null", Agent: "host.agent.name",
		Fields: entity.Fields{
			Map: map[string]string{"name": "path", "value": "host.motd"},
		},
	}}
}

// mapped compiles a model beside files of an archive.
func mapped(
	t *testing.T, r *schema.Registry, archive, text string, s *lsm.Services, m ...entity.Mapping,
) (*compile.Compiled, error) {
	t.Helper()
	dir := t.TempDir()
	files := txtar.Parse([]byte(archive)).Files
	files = append(files, txtar.File{Name: "main.cf", Data: []byte(text)})
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, f.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	mapper, err := entity.NewMapper(r, m)
	if err != nil {
		t.Fatal(err)
	}
	return compile.Model(context.Background(), compile.Options{
		Path: dir, Types: r, Mapper: mapper, Services: s,
	})
}

const oneHost = `import shop
import southbound
import southbound::fs
import southbound::std
agent = southbound::Agent(name="web1")
host = shop::Host(name="Web One", agent=agent)
`

// deployable returns what a model deploys, and its resources by id.
func deployable(
	t *testing.T, types *schema.Registry, c *compile.Compiled,
) (*model.Model, map[resource.ID]resource.Resource) {
	t.Helper()
	m, err := c.Deployable(context.Background(), source.Options{Types: types})
	if err != nil {
		t.Fatal(err)
	}
	out := map[resource.ID]resource.Resource{}
	for _, r := range m.Resources {
		out[r.ID] = r
	}
	return m, out
}

// TestMapped holds that entities become the resources that mappings say, beside others, with what
// they require, their places, their sets and the files that are uploaded for them.
func TestMapped(t *testing.T) {
	t.Parallel()
	types := registry(t)
	c, err := mapped(t, types, shop,
		oneHost+`before = southbound::std::Null(agent=agent, name="before")
a = shop::Page(host=host, path="/a", text="A", requires=[before, left, gone], purge_on_delete=true)
b = shop::Page(host=host, path="/b", text="A", owner="root", requires=a,
    purged=true)
left = shop::Page(host=host, path="/left")
gone = shop::Page(host=host, path="/gone", text="x", managed=false)
draft = shop::Draft(host=host, path="/draft", requires=b)
southbound::fs::File(agent=agent, path="/after", content="", requires=[b, draft])
std::ResourceSet(name="pages", resources=[a, b])
southbound::std::Null(agent=agent, name="fact", value=std::getfact(a, "size"))
`, nil, pageMappings()...)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Warnings) > 0 {
		t.Error(c.Warnings)
	}
	m, got := deployable(t, types, c)
	hash := ""
	for h, blob := range m.Files {
		if hash = h; string(blob.Data) != "A on Web One" || blob.Size != 12 || blob.Hash != h {
			t.Errorf("the file %s has %q", h, blob.Data)
		}
	}
	flags := resource.Flags{ReceiveEvents: true}
	keep, purged := flags, flags
	keep.PurgeOnDelete, purged.Purged = true, true
	content := resource.File{Hash: hash, Size: 12}
	const a, b, draft = "fs::File[web1,path=/a]", "fs::File[web1,path=/b]",
		"std::Null[web1,name=/draft]"
	for _, want := range []resource.Resource{
		{ID: a, Type: "fs::File", Agent: "web1", Set: "pages", Flags: keep,
			Requires:   []resource.ID{"std::Null[web1,name=before]"},
			Attributes: map[string]any{"path": "/a", "content": content}},
		{ID: b, Type: "fs::File", Agent: "web1", Set: "pages", Flags: purged,
			Requires:   []resource.ID{a},
			Attributes: map[string]any{"path": "/b", "content": content, "owner": "root"}},
		{ID: draft, Type: "std::Null", Agent: "web1", Flags: flags, Requires: []resource.ID{b},
			Attributes: map[string]any{"name": "/draft"}},
		{ID: "fs::File[web1,path=/after]", Type: "fs::File", Agent: "web1", Flags: flags,
			Requires:   []resource.ID{b, draft},
			Attributes: map[string]any{"path": "/after", "content": ""}},
		{ID: "std::Null[web1,name=fact]", Type: "std::Null", Agent: "web1", Flags: flags,
			Attributes: map[string]any{"name": "fact",
				"value": resource.Fact{Of: a, Name: "size"}}},
	} {
		if d := cmp.Diff(want, got[want.ID]); d != "" {
			t.Errorf("%s: %s", want.ID, d)
		}
	}
	if len(m.Resources) != 6 || len(m.Files) != 1 {
		t.Errorf("%d resources, %d files", len(m.Resources), len(m.Files))
	}
	i := slices.IndexFunc(m.Resources, func(r resource.Resource) bool { return r.ID == b })
	for name, line := range map[string]int{"": 9, "owner": 9, "purged": 10, "agent": 5,
		"content": 9} {
		if at := m.Where(i, name); at.Line != line || !strings.HasSuffix(at.File, "main.cf") {
			t.Errorf("%s of %s is at %v, not in line %d", name, b, at, line)
		}
	}
}

// TestMappedLater holds what becomes of values that are not known when a model is compiled.
func TestMappedLater(t *testing.T) {
	t.Parallel()
	types := registry(t)
	c, err := mapped(t, types, shop+`-- files/page --
from a file
-- x --
`, oneHost+`shop::Page(host=host, path="/unknown", text=std::get_env("NOT_SET"))
shop::Page(host=host, path="/parameter", owner=southbound::parameter("owner"), text="")
shop::Page(host=host, path="/file", owner=southbound::file("/page"), text="")
shop::Page(host=host, path="/secret", owner={"secret": "env:A"}, text="")
`, nil, func() []entity.Mapping {
		m := pageMappings()
		m[0].Type, m[0].Names, m[0].Map = "std::Null", nil, map[string]string{"name": "path",
			"value": "owner"}
		m[0].Funcs = map[string]entity.Func{
			"delay_ms": func(_ *entity.Context, e entity.Entity) (any, error) {
				_, err := e.Attribute("text")
				return 1, err
			}}
		return m
	}()...)
	if err != nil {
		t.Fatal(err)
	}
	_, got := deployable(t, types, c)
	for name, want := range map[string]map[string]any{
		"/unknown": {
			"delay_ms": resource.Parameter{
				Name: "unknown: the environment variable NOT_SET is not set; set NOT_SET where " +
					"models are compiled"}},
		"/parameter": {"delay_ms": int64(1), "value": resource.Parameter{Name: "owner"}},
		"/file": {"delay_ms": int64(1), "value": resource.File{Hash: "29e5a6c6b9f8e3b6",
			Size: 12}},
		"/secret": {"delay_ms": int64(1), "value": map[string]any{"secret": "env:A"}},
	} {
		want["name"] = name
		id := resource.ID(fmt.Sprintf("std::Null[web1,name=%s]", name))
		r := got[id]
		if f, is := r.Attributes["value"].(resource.File); is { // its hash is that of its bytes
			want["value"] = resource.File{Hash: f.Hash, Size: 12}
		}
		if d := cmp.Diff(want, r.Attributes); d != "" {
			t.Errorf("%s: %s", id, d)
		}
	}
}

// TestMappedMistakes holds that what is wrong in a mapping is said with the place in the model.
func TestMappedMistakes(t *testing.T) {
	t.Parallel()
	with := func(change func(m *entity.Mapping)) []entity.Mapping {
		m := pageMappings()[:1]
		change(&m[0])
		return m
	}
	same := func(*entity.Mapping) {}
	types := registry(t)
	for _, test := range []struct {
		name, text string
		change     func(m *entity.Mapping)
		want       string
	}{
		{"a panic", `shop::Page(host=host, path="/a", text="panic")`, same,
			`main.cf:7:1: shop::Page: content: the function of the mapping has panicked: no such page`},
		{"an attribute that the entity lacks", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) {
				m.Map = map[string]string{"owner": "host.nme"}
				m.Names = []string{"path"}
			},
			`main.cf:6:8: shop::Page: owner: shop::Host has no attribute "nme"; it has "name"`},
		{"a relation that the entity lacks", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) { m.Agent = "hst.agent.name" },
			`main.cf:7:1: shop::Page: agent: shop::Page has no relation "hst"; it has "host"`},
		{"a relation as a value", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) { m.Agent = "host" },
			`main.cf:7:17: shop::Page: agent: host of shop::Page is a relation`},
		{"a relation to several",
			`shop::Page(host=host, path="/a", text="a", more=[host, shop::Host(name="2", agent=agent)])`,
			func(m *entity.Mapping) { m.Agent = "more.agent.name" },
			`more of shop::Page leads to 2 entities, and a path needs one`},
		{"no agent", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) { m.Agent = "more.agent.name" },
			`more.agent.name leads to nothing, so there is no agent`},
		{"a value that does not fit", `shop::Page(host=host, path="/a", text="a", owner=["x"])`,
			same,
			`main.cf:7:50: `},
		{"a resource that is there twice", "shop::Page(host=host, path=\"/a\", text=\"a\")\n" +
			`southbound::fs::File(agent=agent, path="/a", content="")`, same, `main.cf:7:1: `},
		{"a circle", "a = shop::Page(host=host, path=\"/a\", text=\"a\", requires=b)\n" +
			`b = shop::Page(host=host, path="/b", text="a", requires=a)`, same, `cycle`},
		{"what names the resource is null",
			`shop::Page(host=host, path="/a", text="a", owner=null)`,
			func(m *entity.Mapping) { m.Names, m.Map = nil, map[string]string{"path": "owner"} },
			`main.cf:7:1: path: the attribute is missing and names the resource`},
		{"what names the resource is unknown",
			`shop::Page(host=host, path=std::get_env("NOT_SET"), text="a")`, same,
			`main.cf:7:28: shop::Page: path: identifying attributes must be known when the model is compiled`},
		{"an unknown flag",
			`shop::Page(host=host, path="/a", text="a", purged=bool(std::get_env("NOT_SET")))`,
			same,
			`purged: it has to be known when the model is compiled`},
		{"a flag that is none", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) { m.Flags = map[string]string{"send_event": "path"} },
			`send_event: it has to be true or false`},
		{"a value of Go that is none", `shop::Page(host=host, path="/a", text="a")`,
			func(m *entity.Mapping) {
				m.Funcs["content"] = func(*entity.Context, entity.Entity) (any, error) {
					return struct{}{}, nil
				}
			}, `main.cf:7:1: shop::Page: content: `},
		{"a form with what is known later",
			`shop::Page(host=host, path="/a", text="a", labels={"secret": std::get_env("NOT_SET")})`,
			func(m *entity.Mapping) {
				m.Names, m.Map = []string{"path"}, map[string]string{"owner": "labels"}
			},
			`a map with the keys of a form of documents`},
		{"an entity that the module lacks", "",
			func(m *entity.Mapping) { m.Entity = "shop::Pages" },
			`_init.cf:1: this program maps the entity shop::Pages to a resource, and shop has none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := mapped(t, types, shop, oneHost+test.text+"\n", nil, with(test.change)...)
			if err == nil {
				var m *model.Model
				m, err = c.Deployable(context.Background(), source.Options{Types: types})
				if err == nil {
					err = deploy.New(deploy.Config{Types: types}).ValidateClosed(m).Err()
				}
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// TestMappedOfAService holds that what a mapping makes of the instance of a service is in its set.
func TestMappedOfAService(t *testing.T) {
	t.Parallel()
	types := registry(t)
	services := lsm.NewServices([]lsm.Instance{
		{ID: "i1", Service: "site", State: "up", Attributes: map[string]any{"name": "a"}},
		{ID: "i2", Service: "site", State: "deleting", Purge: true,
			Attributes: map[string]any{"name": "b"}},
	})
	c, err := mapped(t, types, shop, oneHost+`import lsm
import lsm::fsm
entity Site extends lsm::ServiceEntity:
    string name
end
index Site(instance_id)
implementation page for Site:
    self.owned_resources += shop::Page(
        host=host, path="/srv/{{ self.name }}", text="x", purged=self.purge_resources,
    )
end
implement Site using parents, page
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Site", lifecycle=lsm::fsm::simple, service_entity_name="site",
)
for one in lsm::all(binding):
    Site(instance_id=one["id"], entity_binding=binding, name=one["attributes"]["name"])
end
`, services, pageMappings()...)
	if err != nil {
		t.Fatal(err)
	}
	_, got := deployable(t, types, c)
	for id, set := range map[resource.ID]string{
		"fs::File[web1,path=/srv/a]": "i1", "fs::File[web1,path=/srv/b]": "i2",
	} {
		if r := got[id]; r.Set != set || r.Flags.Purged != (set == "i2") {
			t.Errorf("%s is %+v", id, r)
		}
	}
	if len(got) != 2 {
		t.Errorf("%d resources", len(got))
	}
}
