package model

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestGather completes boxes by what is in them: boxes say what they are in, and those that want to
// know are told.
func TestGather(t *testing.T) {
	types, err := schema.NewRegistry(schema.Type{
		Name: "test::Box", Description: "a box",
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "in", Type: "Optional[String]", Description: "the box it is in"},
			{Name: "asks", Type: "Boolean", Default: false, Description: "wants to know"},
			{Name: "count", Type: "Optional[Integer]", Description: "how many are in it"},
		},
		Relations: []schema.Relation{
			{Kind: schema.Require, Type: "test::Box", Keys: map[string]string{"name": "$in"}},
		},
		Gathers: func(attrs map[string]any) bool { return attrs["asks"] == true },
		Gather: func(attrs map[string]any, dependents []schema.Dependent) map[string]any {
			return map[string]any{"name": attrs["name"], "asks": true,
				"count": int64(len(dependents))}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	box := func(agent, name, in string, asks bool) resource.Resource {
		return resource.Resource{ID: resource.ID("test::Box[" + agent + ",name=" + name + "]"),
			Type: "test::Box", Agent: agent,
			Attributes: map[string]any{"name": name, "in": in, "asks": asks}}
	}
	m := &Model{Resources: []resource.Resource{box("a", "1", "2", false), box("a", "2", "", true),
		box("a", "3", "2", true), box("b", "4", "2", false),
		box("a", "5", "1", false), box("a", "6", "6", true), {Type: "test::Unknown"}}}
	given := m.Resources[1].Attributes
	NewChecker(types, nil).Gather(m)
	var counts []any
	for _, r := range m.Resources {
		counts = append(counts, r.Attributes["count"])
	}
	if d := cmp.Diff([]any{nil, int64(2), int64(0), nil, nil, int64(0), nil}, counts); d != "" {
		t.Error(d)
	}
	if _, changed := given["count"]; changed {
		t.Error("the attributes of the author were changed")
	}
}
