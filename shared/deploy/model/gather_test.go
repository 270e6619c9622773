package model

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestGather completes rooms by the paths that all others keep on the same machine, whichever agent
// they have and wherever they stand in the model.
func TestGather(t *testing.T) {
	types, err := schema.NewRegistry(schema.Type{
		Name: "test::Room", Description: "a room",
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "keeps", Type: "Optional[String]", Description: "a path"},
			{Name: "asks", Type: "Boolean", Default: false, Description: "wants to know"},
			{Name: "others", Type: "Optional[Array]", Description: "what the others keep"},
		},
		Keeps:   schema.KeepsPaths("keeps"),
		Gathers: func(attrs map[string]any) bool { return attrs["asks"] == true },
		Gather: func(attrs map[string]any, kept []schema.Kept) map[string]any {
			out := maps.Clone(attrs)
			var paths []any
			for _, k := range kept {
				paths = append(paths, k.Path)
			}
			out["others"] = paths
			return out
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	room := func(agent, name, keeps string, asks bool) resource.Resource {
		return resource.Resource{ID: resource.ID("test::Room[" + agent + ",name=" + name + "]"),
			Type: "test::Room", Agent: agent,
			Attributes: map[string]any{"name": name, "keeps": keeps, "asks": asks}}
	}
	far := func(name, user string) resource.Agent {
		return resource.Agent{Name: name, Transport: "ssh",
			Options: map[string]any{"host": "far.example.com", "user": user}}
	}
	m := &Model{Resources: []resource.Resource{room("a", "1", "/1", false),
		room("b", "2", "/2/", true), room("far", "3", "/3", false), room("away", "4", "/4", true),
		room("c", "5", "/5", true), {Type: "test::Unknown"}},
		Agents: []resource.Agent{LocalAgent("a"), far("far", "x"), far("away", "y")}}
	given := m.Resources[1].Attributes
	NewChecker(types, nil, nil, nil).Gather(m)
	var others []any
	for _, r := range m.Resources {
		others = append(others, r.Attributes["others"])
	}
	if d := cmp.Diff([]any{nil, []any{"/1", "/5"}, nil, []any{"/3"}, []any{"/1", "/2"}, nil},
		others); d != "" {
		t.Error(d)
	}
	if _, changed := given["others"]; changed {
		t.Error("the attributes of the author were changed")
	}
}
