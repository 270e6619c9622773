package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestOneThingUnderTwoNames pins that what different names stand for is described once for an
// agent.
func TestOneThingUnderTwoNames(t *testing.T) {
	t.Parallel()
	types, err := schema.NewRegistry(
		schema.Type{Name: "t::T", Attributes: []schema.Attribute{{Name: "name", Type: "String",
			Behaviour: schema.Namevar}, {Name: "value", Type: "Optional[String]"}},
			Thing: func(attrs map[string]any) schema.Thing {
				v, _ := attrs["value"].(string)
				return schema.NewThing(v)
			}})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	r.e.Types = types
	of := func(agent, name string, value any) resource.Resource {
		return resource.Resource{ID: resource.NewID("t::T", agent,
			resource.Key{Name: "name", Value: name}), Type: "t::T", Agent: agent,
			Attributes: map[string]any{"name": name, "value": value}}
	}
	for why, c := range map[string]struct {
		all  []resource.Resource
		want string
	}{
		"the same thing": {[]resource.Resource{of("a", "x", "v"), of("a", "y", "w"),
			of("a", "z", "v")}, "the same object as t::T[a,name=x]: v"},
		"of agents that may be described elsewhere": {
			[]resource.Resource{of("a", "x", "v"), of("b", "y", "v")}, ""},
		"not known": {[]resource.Resource{of("a", "x", resource.Parameter{Name: "p"}),
			of("a", "y", nil)}, ""},
	} {
		problems := r.e.Validate(&model.Model{Resources: c.all})
		if c.want == "" && len(problems) > 0 ||
			c.want != "" && (len(problems) != 1 || !strings.Contains(problems[0].Message, c.want)) {
			t.Errorf("%s: %v", why, problems)
		}
	}
}

// TestOneSpace pins that types that share a space describe each thing of it once, purged or not,
// beside other problems, and in a set that is exported alone too.
func TestOneSpace(t *testing.T) {
	t.Parallel()
	at := func(attrs map[string]any) string { s, _ := attrs["path"].(string); return s }
	thingAt := func(attrs map[string]any) schema.Thing { return schema.NewThing(at(attrs)) }
	path := []schema.Attribute{{Name: "path", Type: "String", Behaviour: schema.Namevar},
		{Name: "n", Type: "Optional[Integer]"}}
	types, err := schema.NewRegistry(
		schema.Type{Name: "t::File", Attributes: path, Thing: thingAt, Space: "paths"},
		schema.Type{Name: "t::Folder", Attributes: path, Thing: thingAt, Space: "paths"},
		schema.Type{Name: "t::Other", Attributes: path, Thing: thingAt})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schema.NewRegistry(
		schema.Type{Name: "t::File", Attributes: path, Space: "paths"}); err == nil {
		t.Error("a space without a thing was accepted")
	}
	for why, wrong := range map[string]schema.Type{
		"a whole without a thing": {Whole: func(map[string]any) (bool, string) { return true, "" }},
		"a part of no space":      {Within: at},
	} {
		wrong.Name, wrong.Attributes = "t::File", path
		if _, err := schema.NewRegistry(wrong); err == nil {
			t.Errorf("%s was accepted", why)
		}
	}
	r := newRig(t)
	r.e.Types = types
	of := func(typ, set string, attrs map[string]any) resource.Resource {
		return resource.Resource{ID: resource.NewID(typ, "a",
			resource.Key{Name: "path", Value: at(attrs)}), Type: typ, Agent: "a", Set: set,
			Attributes: attrs}
	}
	file, folder := of("t::File", "one", map[string]any{"path": "/x"}),
		of("t::Folder", "two", map[string]any{"path": "/x"})
	purged, wrong := folder, of("t::Folder", "two", map[string]any{"path": "/x", "n": "x"})
	purged.Purged = true
	const want = "it manages the same object as t::File[a,path=/x]: /x"
	for why, c := range map[string]struct {
		all  []resource.Resource
		want string
	}{
		"both are wanted":        {[]resource.Resource{file, folder}, want},
		"one removes the other":  {[]resource.Resource{file, purged}, want},
		"it has another problem": {[]resource.Resource{file, wrong}, want},
		"twice the same":         {[]resource.Resource{file, file}, "described twice"},
		"a type that does not share": {
			[]resource.Resource{file, of("t::Other", "", map[string]any{"path": "/x"})}, ""},
		"another thing of that space": {
			[]resource.Resource{file, of("t::Folder", "", map[string]any{"path": "/y"})}, ""},
	} {
		problems := r.e.ValidateClosed(&model.Model{Resources: c.all})
		if c.want == "" && len(problems) > 0 ||
			c.want != "" && !strings.Contains(problems.Error(), c.want) ||
			strings.Count(problems.Error(), "same object") > 1 {
			t.Errorf("%s: %v", why, problems)
		}
	}
	export := func(partial bool, all ...resource.Resource) error {
		_, err := r.e.Export(t.Context(), "e",
			deploy.Export{Model: &model.Model{Resources: all}, Partial: partial, NoRelease: true})
		return err
	}
	if err := export(false, file); err != nil {
		t.Fatal(err)
	}
	if err := export(true, folder); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("another set: %v", err)
	}
	folder.Set = "one"
	if err := export(true, folder); err != nil {
		t.Errorf("in its place: %v", err)
	}
}

// TestPartsInOtherSets pins that an export of some sets of many is refused where it describes as a
// whole what another set changes a part of, or the other way round.
func TestPartsInOtherSets(t *testing.T) {
	t.Parallel()
	at := func(attrs map[string]any) string { s, _ := attrs["path"].(string); return s }
	thingAt := func(attrs map[string]any) schema.Thing { return schema.NewThing(at(attrs)) }
	path := []schema.Attribute{{Name: "path", Type: "String", Behaviour: schema.Namevar},
		{Name: "content", Type: "Optional[String]"}}
	whole := func(a map[string]any) (bool, string) { return a["content"] != nil, "no content" }
	r := newSetsRig(t)
	r.types = must(schema.NewRegistry(
		schema.Type{Name: "t::File", Attributes: path, Thing: thingAt, Space: "paths", Whole: whole},
		schema.Type{Name: "t::Line", Attributes: path, Within: at, Space: "paths"}))(t)
	r.fresh()
	of := func(typ, set, path, content string) resource.Resource {
		out := resource.Resource{ID: resource.NewID(typ, "a",
			resource.Key{Name: "path", Value: path}), Type: typ, Agent: "a", Set: set,
			Attributes: map[string]any{"path": path}}
		if content != "" {
			out.Attributes["content"] = content
		}
		return out
	}
	export := func(all ...resource.Resource) error {
		_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: modelOf(all...), Partial: true})
		return err
	}
	for i := range 40 { // several chunks, of which few are read
		set := fmt.Sprintf("other%d", i)
		if err := export(of("t::File", set, "/"+set, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if err := export(of("t::File", "files", "/a", "x"), of("t::File", "files", "/b", "")); err != nil {
		t.Fatal(err)
	}
	const want = "it changes a part of an object that t::File[a,path=/a] describes whole"
	if err := export(of("t::Line", "lines", "/a", "")); err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("a line of what is whole: %v", err)
	}
	if err := export(of("t::Line", "lines", "/b", "")); err != nil {
		t.Errorf("a line of a file without content: %v", err)
	}
	if err := export(of("t::File", "files", "/b", "x")); err == nil ||
		!strings.Contains(err.Error(), "t::Line[a,path=/b]") {
		t.Errorf("content for a file of which another set has a line: %v", err)
	}
	if err := export(of("t::File", "files", "/a", "")); err != nil {
		t.Errorf("without content: %v", err)
	}
	if err := export(of("t::Line", "lines", "/a", "")); err != nil {
		t.Errorf("a line of what is whole no longer: %v", err)
	}
}
