package entity

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// node is an entity of a model in memory.
type node struct {
	kinds []string
	attrs map[string]any
	rels  map[string][]Entity
	line  int
}

func (n *node) Kinds() []string { return n.kinds }

func (n *node) Attribute(name string) (any, bool) { v, ok := n.attrs[name]; return v, ok }

func (n *node) Relation(name string) ([]Entity, bool) { to, ok := n.rels[name]; return to, ok }

func (n *node) Pos() diag.Pos { return diag.Pos{File: "main.cf", Line: n.line} }

// At implements Placer: attributes stand behind each other.
func (n *node) At(attribute string) diag.Pos {
	if _, ok := n.attrs[attribute]; ok {
		return diag.Pos{File: "main.cf", Line: n.line, Column: len(attribute)}
	}
	return diag.Pos{}
}

// entities builds entities, each on a line of its own.
type entities struct{ all []Entity }

func (m *entities) add(kinds string, attrs map[string]any, rels map[string][]Entity) *node {
	if rels == nil {
		rels = map[string][]Entity{}
	}
	if _, ok := rels[Requires]; !ok {
		rels[Requires] = nil
	}
	n := &node{strings.Fields(kinds), attrs, rels, len(m.all) + 1}
	m.all = append(m.all, n)
	return n
}

func types(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(
		schema.Type{Name: "fs::File", Machine: true, Attributes: []schema.Attribute{
			{Name: "path", Type: "String[1]", Behaviour: schema.Namevar}, {Name: "content", Type: "Optional[String]"}, {Name: "mode", Type: "Optional[String]"},
			{Name: "owner", Type: "String", Default: "root"}, {Name: "size", Type: "Integer", Behaviour: schema.ReadOnly},
		}},
		schema.Type{Name: "svc::Service", Machine: true, Attributes: []schema.Attribute{{Name: "name", Type: "String[1]", Behaviour: schema.Namevar}, {Name: "ports", Type: "Array[Integer]"}}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mappings are those of the manual: by name, by map, by function, with inherited fields and flags.
func mappings() []Mapping {
	owned := Fields{Names: []string{"owner"}, Map: map[string]string{"mode": "inherited_mode"}}
	return []Mapping{
		{Kind: "std::File", Type: "fs::File", Agent: "host.name", Fields: Fields{
			Inherits: []Fields{Purgeable(), Managed(), owned}, Names: []string{"path"}, Map: map[string]string{"mode": "permissions"},
			Flags: map[string]string{"send_event": "reload", "set": "host.site.name"},
			Funcs: map[string]Func{"content": func(ctx *Context, e Entity) (any, error) {
				text, _ := e.Attribute("content")
				switch text := text.(type) {
				case nil:
					return nil, Ignored("it has no content")
				case string:
					if text == "bad" {
						return nil, errors.New("cannot be rendered")
					}
					name, _, err := ctx.Lookup("host.name")
					return ctx.Upload([]byte(strings.ReplaceAll(text, "$host", fmt.Sprint(name)))), err
				}
				return text, nil
			}},
		}},
		{Kind: "std::Service", Type: "svc::Service", Agent: "host.name", Fields: Fields{Names: []string{"name", "ports"}}},
	}
}

func agents() AgentMapping {
	return AgentMapping{Kind: "std::Host", Name: "name", Transport: "transport", Lanes: "lanes", Options: map[string]string{"host": "ip", "user": "site.user"}}
}

func mapper(t *testing.T) *Mapper {
	t.Helper()
	m, err := NewMapper(types(t), mappings(), agents())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// world is a site with a host.
func world(m *entities) *node {
	site := m.add("Site", map[string]any{"name": "frontend", "user": "deploy"}, nil)
	return m.add("std::Host Base", map[string]any{"name": "web1", "transport": "ssh", "lanes": 4, "ip": "10.0.0.7"}, map[string][]Entity{"site": {site}})
}

func file(m *entities, host *node, path string, more map[string]any, requires ...Entity) *node {
	attrs := map[string]any{"path": path, "content": "on $host\n", "owner": "www", "permissions": "0644", "inherited_mode": "0600", "reload": true, "managed": true, "purged": false,
		"purge_on_delete": true}
	for k, v := range more {
		attrs[k] = v
	}
	return m.add("app::Config std::File Base", attrs, map[string][]Entity{"host": {host}, Requires: requires})
}

func TestMap(t *testing.T) {
	var m entities
	host := world(&m)
	group := m.add("app::Group Base", nil, nil) // no resource, but order goes through it
	a := file(&m, host, "/a", nil)
	b := file(&m, host, "/b", map[string]any{"content": resource.Secret{Source: "env:A"}, "purged": true}, group)
	other := file(&m, host, "/other", map[string]any{"managed": false}, a)
	left := file(&m, host, "/left", map[string]any{"content": nil})
	group.rels[Requires] = []Entity{a, group, other}
	service := m.add("std::Service", map[string]any{"name": "app", "ports": []int{80, 443}}, map[string][]Entity{"host": {host}, Requires: {b, left}})
	got, err := mapper(t).Map(m.all)
	if err != nil {
		t.Fatal(err)
	}
	model := got.Model
	ref := resource.File{Hash: "54cc5ab28cf8b0c2a4a7de3b4aec1a5ab0c6ea3d3bf5cbbd3aa1c43a0fb1ae2c", Size: 8}
	for h := range model.Files {
		ref.Hash = h
	}
	flags := resource.Flags{ReceiveEvents: true, PurgeOnDelete: true, SendEvent: true}
	purged := flags
	purged.Purged = true
	want := []resource.Resource{
		{ID: "fs::File[web1,path=/a]", Type: "fs::File", Agent: "web1", Set: "frontend", Flags: flags,
			Attributes: map[string]any{"path": "/a", "content": ref, "mode": "0644", "owner": "www"}},
		{ID: "fs::File[web1,path=/b]", Type: "fs::File", Agent: "web1", Set: "frontend", Flags: purged, Requires: []resource.ID{"fs::File[web1,path=/a]"},
			Attributes: map[string]any{"path": "/b", "content": resource.Secret{Source: "env:A"}, "mode": "0644", "owner": "www"}},
		{ID: "svc::Service[web1,name=app]", Type: "svc::Service", Agent: "web1", Flags: resource.Flags{ReceiveEvents: true}, Requires: []resource.ID{"fs::File[web1,path=/b]"},
			Attributes: map[string]any{"name": "app", "ports": []any{int64(80), int64(443)}}},
	}
	if d := cmp.Diff(want, model.Resources); d != "" {
		t.Error(d)
	}
	if len(model.Files) != 1 || string(model.Files[ref.Hash].Data) != "on web1\n" {
		t.Errorf("files: %v", model.Files)
	}
	if d := cmp.Diff([]resource.Agent{{Name: "web1", Transport: "ssh", Lanes: 4, Options: map[string]any{"host": "10.0.0.7", "user": "deploy"}}}, model.Agents); d != "" {
		t.Error(d)
	}
	if len(got.Ignored) != 2 || got.Ignored[0].Entity != Entity(other) || got.Ignored[0].Reason != "not managed" || got.Ignored[1].Reason != "it has no content" {
		t.Errorf("ignored: %+v", got.Ignored)
	}
	if at := model.Where(0, "path").String(); at != fmt.Sprintf("main.cf:%d:4", a.line) {
		t.Errorf("path is at %s", at)
	}
	if at := model.Where(2, ""); at.Line != service.line {
		t.Errorf("the service is at %s", at)
	}
	// What is mapped is a model like any other.
	if problems := deploy.New(deploy.Config{Types: types(t)}).ValidateClosed(model); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestMapMistakes names everything that is wrong with entities, with its place.
func TestMapMistakes(t *testing.T) {
	var m entities
	host := world(&m)
	file(&m, host, "/bad", map[string]any{"content": "bad"})
	n := file(&m, host, "/x", map[string]any{"purged": "yes"})
	delete(n.attrs, "permissions")
	two := file(&m, host, "/two", nil)
	two.rels["host"] = []Entity{host, host}
	none := file(&m, host, "/none", nil)
	none.rels["host"] = nil
	file(&m, host, "", nil)
	file(&m, host, "/fn", map[string]any{"owner": func() {}})
	m.add("std::Host", map[string]any{"name": "web1", "transport": "ssh", "lanes": 1, "ip": "10.0.0.8"}, map[string][]Entity{"site": nil})
	m.add("std::Host", map[string]any{"name": "", "transport": "ssh", "lanes": 0, "ip": nil}, map[string][]Entity{"site": nil})
	_, err := mapper(t).Map(m.all)
	var problems diag.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	want := []string{
		"main.cf:3:7: app::Config: content: cannot be rendered",
		"main.cf:4: app::Config: purged is true or false",
		"main.cf:4: app::Config: mode: app::Config has no attribute \"permissions\"",
		"main.cf:5: app::Config: set: host of app::Config leads to 2 entities, and a path needs one",
		"main.cf:5:7: app::Config: content: host of app::Config leads to 2 entities, and a path needs one",
		"main.cf:5: app::Config: the agent: host of app::Config leads to 2 entities, and a path needs one",
		"main.cf:6: app::Config: the agent: host.name leads to nothing",
		"main.cf:7:4: app::Config: path: the attribute names the resource, and is ",
		"main.cf:8:5: app::Config: owner: ",
		"main.cf:9: std::Host: the agent \"web1\" is described differently elsewhere",
		"main.cf:10: std::Host: an agent has a name, a transport and one lane or more",
	}
	text := err.Error()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no problem says %q", w)
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems, expected %d", len(problems), len(want))
	}
	if t.Failed() {
		t.Log("\n" + text)
	}
}

// TestMapCycleAndDuplicate pins that deploy's problems have the places of entities.
func TestMapCycleAndDuplicate(t *testing.T) {
	var m entities
	host := world(&m)
	group := m.add("app::Group", nil, nil)
	a := file(&m, host, "/a", nil, group)
	group.rels[Requires] = []Entity{a} // a requires itself, through the group
	got, err := mapper(t).Map(m.all)
	if err != nil {
		t.Fatal(err)
	}
	engine := deploy.New(deploy.Config{Types: types(t)})
	if problems := engine.ValidateClosed(got.Model); len(problems) != 1 || !strings.Contains(problems[0].Message, "dependency cycle: fs::File[web1,path=/a] requires fs::File[web1,path=/a]") {
		t.Errorf("the cycle: %v", problems)
	}
	group.rels[Requires] = nil
	file(&m, host, "/a", nil)
	if got, err = mapper(t).Map(m.all); err != nil {
		t.Fatal(err)
	}
	if problems := engine.ValidateClosed(got.Model); len(problems) != 1 || problems[0].Line != 5 || problems[0].Related[0].Line != 4 {
		t.Errorf("the duplicate: %v", problems)
	}
}

// TestNearestKindWins maps an entity by the nearest of its kinds.
func TestNearestKindWins(t *testing.T) {
	special := Mapping{Kind: "app::Config", Type: "svc::Service", Agent: "host.name", Fields: Fields{Map: map[string]string{"name": "path"}, Funcs: map[string]Func{
		"ports": func(*Context, Entity) (any, error) { return []any{}, nil }}}}
	m, err := NewMapper(types(t), append(mappings(), special))
	if err != nil {
		t.Fatal(err)
	}
	var w entities
	host := world(&w)
	file(&w, host, "/a", nil)
	got, err := m.Map(w.all)
	if err != nil || len(got.Model.Resources) != 1 || got.Model.Resources[0].ID != "svc::Service[web1,name=/a]" {
		t.Errorf("%+v, %v", got.Model, err)
	}
}

func TestMapperMistakes(t *testing.T) {
	bad := []Mapping{
		{Kind: "a::A", Type: "fs::Fil", Agent: "x"},
		{Kind: "b::B", Type: "fs::File", Fields: Fields{Names: []string{"pth", "size", "owner"}, Map: map[string]string{"owner": "a..b"}, Funcs: map[string]Func{"mode": nil},
			Flags: map[string]string{"purgd": "x"}}},
		{Kind: "b::B", Type: "svc::Service", Agent: " ", Fields: Fields{Names: []string{"name", "ports"}}},
	}
	_, err := NewMapper(types(t), bad, AgentMapping{Kind: "h", Name: "", Options: map[string]string{"host": "."}}, AgentMapping{Kind: "h", Name: "name"})
	var problems diag.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`a::A: there is no type "fs::Fil"`, "b::B: it does not say the agent", `b::B: pth: fs::File has no attribute "pth"`, "b::B: size: the attribute is only reported",
		"b::B: owner: the attribute is mapped twice", `b::B: owner: the attribute comes from "a..b", which is not a path`, "b::B: mode: the function is nil",
		`b::B: there is no flag "purgd"`, "b::B: path: the attribute of fs::File is required, and is not mapped", "b::B: the entity is mapped twice", `b::B: the agent comes from " "`,
		`h: the name of the agent comes from ""`, `h: host: the option comes from "."`, "h: the agent is mapped twice",
	} {
		if !strings.Contains(problems.Error(), want) {
			t.Errorf("no problem says %q in\n%v", want, problems)
		}
	}
	hints := ""
	for _, p := range problems {
		hints += p.Hint + "\n"
	}
	for _, want := range []string{`did you mean "fs::File"?`, `did you mean "path"?`, `did you mean "purged"?`} {
		if !strings.Contains(hints, want) {
			t.Errorf("no hint says %s", want)
		}
	}
}
