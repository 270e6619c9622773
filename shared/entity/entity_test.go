package entity

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// node is an entity of a model in memory. It stands in a line of its own, each attribute in the
// column of the length of its name.
type node struct {
	kinds string
	attrs map[string]any
	rels  map[string][]Entity
	line  int
}

func (n *node) Kinds() []string { return strings.Fields(n.kinds) }

func (n *node) Attribute(name string) (any, error) {
	v, ok := n.attrs[name]
	if err, is := v.(error); is {
		return nil, err
	}
	if !ok {
		return nil, errors.New("no attribute " + name)
	}
	return v, nil
}

func (n *node) Relation(name string) ([]Entity, error) {
	to, ok := n.rels[name]
	if !ok {
		return nil, errors.New("no relation " + name)
	}
	return to, nil
}

func (n *node) Pos() diag.Pos { return diag.Pos{File: "main.cf", Line: n.line} }

func (n *node) At(name string) diag.Pos {
	at := n.Pos()
	if _, ok := n.attrs[name]; ok {
		at.Column = len(name)
	}
	return at
}

// later is a value that is known when resources are deployed.
type later struct{}

func (later) ReferenceName() string { return "a secret" }

func types(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(
		schema.Type{Name: "fs::File", Machine: true, Attributes: []schema.Attribute{
			{Name: "path", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "content", Type: "Optional[String]"}, {Name: "mode", Type: "Optional[String]"},
			{Name: "owner", Type: "String", Default: "root"},
			{Name: "size", Type: "Integer", Behaviour: schema.ReadOnly},
		}},
		schema.Type{Name: "svc::Service", Machine: true, Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "ports", Type: "Array[Integer]"},
		}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// mappings are by name, by map, by function, with inherited fields and flags.
func mappings() []Mapping {
	owned := Fields{Names: []string{"owner"}, Map: map[string]string{"mode": "inherited_mode"}}
	return []Mapping{
		{Entity: "std::File", Type: "fs::File", Agent: "host.name", Fields: Fields{
			Inherits: []Fields{Purgeable(), Managed(), owned}, Names: []string{"path"},
			Map:   map[string]string{"mode": "permissions"},
			Flags: map[string]string{"send_event": "reload"},
			Funcs: map[string]Func{"content": content},
		}},
		{Entity: "std::Service", Type: "svc::Service", Agent: "host.name",
			Fields: Fields{Names: []string{"name", "ports"}}},
	}
}

// content uploads a text with the name of the host in it.
func content(ctx *Context, e Entity) (any, error) {
	if v, err := e.Attribute("content"); v == nil && err == nil {
		ctx.Upload([]byte("for nobody"))
		return nil, Ignored("it has no content")
	}
	text, err := ctx.Text("content")
	if err != nil {
		return nil, err
	}
	name, err := ctx.Text("host.name")
	return ctx.Upload([]byte(strings.ReplaceAll(text, "$host", name))), err
}

// file returns a file in a line of its own, with attributes that are changed.
func file(line int, host Entity, changes map[string]any) *node {
	attrs := map[string]any{
		"path": fmt.Sprint("/", line), "content": "on $host\n", "owner": "www",
		"permissions":    "0644",
		"inherited_mode": "0600", "reload": true, "managed": true, "purged": false,
		"purge_on_delete": nil,
	}
	for k, v := range changes {
		if attrs[k] = v; v == "none" {
			delete(attrs, k)
		}
	}
	rels := map[string][]Entity{"host": {host}}
	if host == nil {
		rels["host"] = nil
	}
	return &node{"app::Config std::File Base", attrs, rels, line}
}

func mapper(t *testing.T, mappings ...Mapping) *Mapper {
	t.Helper()
	m, err := NewMapper(types(t), mappings)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMap holds what entities become, and that nothing is left of what is ignored.
func TestMap(t *testing.T) {
	t.Parallel()
	host := &node{kinds: "Host", attrs: map[string]any{"name": "web1"}, line: 1}
	plain := file(2, host, nil)
	same := file(3, host, map[string]any{"purged": true, "owner": nil, "reload": nil})
	unmanaged := file(4, host, map[string]any{"managed": false, "content": 7})
	ignored := file(5, host, map[string]any{"content": nil})
	unknown := file(6, host, map[string]any{"content": Unknown{Why: "of a fact"}, "owner": later{}})
	service := &node{"std::Service", map[string]any{"name": "app", "ports": []int{80, 443}},
		map[string][]Entity{"host": {host}}, 7}
	got, err := mapper(t, mappings()...).Map([]Entity{host, plain, same, unmanaged, ignored,
		unknown, service})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Left{{unmanaged, "not managed"}, {ignored, "it has no content"}},
		got.Ignored,
		cmp.Comparer(func(a, b Entity) bool { return a == b })); d != "" {
		t.Error(d)
	}
	var ref resource.File
	for hash, data := range got.Files {
		if ref = (resource.File{Hash: hash, Size: 8}); string(data) != "on web1\n" {
			t.Errorf("uploaded %q", data)
		}
	}
	want := []Resource{
		{Entity: plain, ID: "fs::File[web1,path=/2]", Type: "fs::File", Agent: "web1",
			Attributes: map[string]any{"path": "/2", "content": ref, "mode": "0644",
				"owner": "www"},
			Flags: map[string]bool{"managed": true, "purged": false, "send_event": true}},
		{Entity: same, ID: "fs::File[web1,path=/3]", Type: "fs::File", Agent: "web1",
			Attributes: map[string]any{"path": "/3", "content": ref, "mode": "0644"},
			Flags:      map[string]bool{"managed": true, "purged": true}},
		{Entity: unknown, ID: "fs::File[web1,path=/6]", Type: "fs::File", Agent: "web1",
			Attributes: map[string]any{"path": "/6", "content": Unknown{Why: "of a fact"},
				"mode": "0644", "owner": later{}},
			Flags: map[string]bool{"managed": true, "purged": false, "send_event": true}},
		{Entity: service, ID: "svc::Service[web1,name=app]", Type: "svc::Service", Agent: "web1",
			Attributes: map[string]any{"name": "app", "ports": []any{int64(80), int64(443)}},
			Flags:      map[string]bool{}},
	}
	if len(got.Files) != 1 || got.Resources[0].Places["mode"] != plain.At("permissions") ||
		got.Resources[0].Places["agent"] != host.At("name") {
		t.Errorf("%d files, places %v", len(got.Files), got.Resources[0].Places)
	}
	for i := range got.Resources {
		got.Resources[i].Places = nil
	}
	if d := cmp.Diff(want, got.Resources,
		cmp.Comparer(func(a, b Entity) bool { return a == b })); d != "" {
		t.Error(d)
	}
}

// TestMapMistakes holds that everything that is wrong with entities is said, with its place.
func TestMapMistakes(t *testing.T) {
	t.Parallel()
	host := &node{kinds: "Host", attrs: map[string]any{"name": "web1"}}
	two := file(4, host, nil)
	two.rels["host"] = []Entity{host, host}
	deep := any("x")
	for range resource.MaxDepth + 2 {
		deep = []any{deep}
	}
	_, err := mapper(t, mappings()...).Map([]Entity{
		file(1, host, map[string]any{"purged": "yes", "permissions": "none"}),
		file(2, host, map[string]any{"content": 7}),
		file(3, host, map[string]any{"content": later{}}),
		two,
		file(5, nil, nil),
		file(6, host, map[string]any{"owner": func() {}}),
		file(7, host, map[string]any{"path": Unknown{Why: "of a fact"}, "purged": Unknown{Why: "of a fact"}}),
		file(8, host, map[string]any{"path": later{}}),
		file(9, &node{attrs: map[string]any{"name": ""}, line: 11}, nil),
		file(10, host, map[string]any{"owner": deep}),
	})
	var got diag.Problems
	if !errors.As(err, &got) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`main.cf:1:6: app::Config: purged: it has to be true or false when the model is compiled`,
		`main.cf:1: app::Config: mode: no attribute permissions`,
		`main.cf:2:7: app::Config: content: content is not text`,
		`main.cf:3:7: app::Config: content: content is a secret, and has to be known when the model is compiled`,
		`main.cf:4:7: app::Config: content: host of app::Config leads to 2 entities, and a path needs one`,
		`main.cf:4: app::Config: agent: host of app::Config leads to 2 entities, and a path needs one`,
		`main.cf:5:7: app::Config: content: host.name leads to nothing`,
		`main.cf:5: app::Config: agent: host.name leads to nothing, so there is no agent`,
		`main.cf:6:5: app::Config: owner: `,
		`main.cf:7:6: app::Config: purged: it has to be known when the model is compiled: of a fact`,
		`main.cf:7:4: app::Config: path: identifying attributes must be known when the model is compiled`,
		`main.cf:8:4: app::Config: path: identifying attributes must be known when the model is compiled`,
		`main.cf:11:4: app::Config: agent: host.name is not a name of an agent`,
		`main.cf:10:5: app::Config: owner: the value is nested deeper than`,
	} {
		i := slices.IndexFunc(got, func(p diag.Problem) bool {
			return strings.HasPrefix(p.String(), want)
		})
		if i < 0 {
			t.Errorf("no problem is %q", want)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 {
		t.Errorf("nobody expects %v", got)
	}
}

// TestNearestKindWins maps an entity by the nearest of its kinds.
func TestNearestKindWins(t *testing.T) {
	t.Parallel()
	special := Mapping{Entity: "app::Config", Type: "svc::Service", Agent: "host.name",
		Fields: Fields{
			Map: map[string]string{"name": "path"},
			Funcs: map[string]Func{"ports": func(*Context, Entity) (any, error) {
				return []any{}, nil
			}},
		}}
	host := &node{kinds: "Host", attrs: map[string]any{"name": "web1"}}
	got, err := mapper(t, append(mappings(), special)...).Map([]Entity{file(1, host, nil)})
	if err != nil || len(got.Resources) != 1 ||
		got.Resources[0].ID != "svc::Service[web1,name=/1]" {
		t.Errorf("%+v, %v", got.Resources, err)
	}
}

// TestMapperMistakes holds that everything that is wrong with mappings is said at once.
func TestMapperMistakes(t *testing.T) {
	t.Parallel()
	_, err := NewMapper(types(t), []Mapping{
		{Entity: "a::A", Type: "fs::Fil", Agent: "x"},
		{Entity: "b::B", Type: "fs::File", Fields: Fields{
			Names: []string{"pth", "size", "owner"}, Map: map[string]string{"owner": "a..b"},
			Funcs: map[string]Func{"mode": nil}, Flags: map[string]string{"purgd": "x"},
		}},
		{Entity: "b::B", Type: "svc::Service", Agent: " ",
			Fields: Fields{Names: []string{"name", "ports"}}},
		{Entity: "Site", Type: "svc::Service", Agent: "host",
			Fields: Fields{Names: []string{"name", "ports"}}},
	})
	var problems diag.Problems
	if !errors.As(err, &problems) {
		t.Fatal(err)
	}
	said := ""
	for _, p := range problems {
		said += p.String() + "; " + p.Hint + "\n"
	}
	for _, want := range []string{
		`a::A: there is no type "fs::Fil"; did you mean "fs::File"?`,
		"b::B: it names no agent",
		`b::B: pth: fs::File has no attribute "pth"; did you mean "path"?`,
		"b::B: size: the attribute is only reported",
		"b::B: owner: the attribute is mapped twice",
		`b::B: owner: the attribute comes from "a..b", which is not a path`,
		"b::B: mode: the function is nil",
		`b::B: there is no flag "purgd"; did you mean "purged"?`,
		"b::B: path: the attribute of fs::File is required, and is not mapped",
		"b::B: the entity is mapped twice",
		`b::B: the agent comes from " "`,
		`Site: "Site" is not the full name of an entity of a module`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no problem says %q in\n%s", want, said)
		}
	}
}

// TestNoMappings holds that a mapper of nothing is nil, and maps nothing.
func TestNoMappings(t *testing.T) {
	t.Parallel()
	m := mapper(t)
	got, err := m.Map([]Entity{file(1, nil, nil)})
	if m != nil || err != nil || len(got.Resources) > 0 || m.Maps([]string{"std::File"}) ||
		m.Entities() != nil {
		t.Errorf("%v, %+v, %v", m, got, err)
	}
}
