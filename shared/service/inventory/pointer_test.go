package inventory_test

import (
	"testing"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// TestPointers pins the JSON pointer of each problem: it counts the members of a list, so that it
// names one value even if keys are empty or occur twice, where the path by keys cannot.
func TestPointers(t *testing.T) {
	t.Parallel()
	s := &definition.Service{Name: "network", Part: definition.Part{
		Attributes: []definition.Attribute{
			{Name: "name", Type: "string", Modifier: definition.Once},
		},
		Embedded: []definition.Embedded{{
			Name: "routers", Modifier: definition.ReadWrite,
			Part: definition.Part{KeyAttributes: []string{"id"}, Attributes: []definition.Attribute{
				{Name: "id", Type: "string", Modifier: definition.ReadWrite},
				{Name: "size", Type: "int", Modifier: definition.ReadWrite},
			}},
		}},
	}}
	router := func(id, size any) map[string]any { return map[string]any{"id": id, "size": size} }
	for why, c := range map[string]struct {
		given map[string]any
		want  string
	}{
		"an attribute":        {map[string]any{"name": 1}, "/attributes/name"},
		"a missing one":       {map[string]any{}, "/attributes/name"},
		"a name with / and ~": {map[string]any{"name": "n", "x/y~z": 1}, "/attributes/x~1y~0z"},
		"a member with an empty key": {
			map[string]any{"name": "n", "routers": []any{router("a", 1), router("", "x")}},
			"/attributes/routers/1/size",
		},
		"a key that occurs twice": {
			map[string]any{"name": "n", "routers": []any{router("a", 1), router("a", 2)}},
			"/attributes/routers/1",
		},
		"no object": {
			map[string]any{"name": "n", "routers": []any{router("a", 1), 5}},
			"/attributes/routers/1",
		},
	} {
		_, err := inventory.Ordered(s, c.given)
		problems, _ := diag.Of(err)
		if len(problems) != 1 || problems[0].Pointer != c.want {
			t.Errorf("%s: %+v, expected %s", why, problems, c.want)
		}
	}
	is, err := inventory.Ordered(s, map[string]any{"name": "n", "routers": []any{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = inventory.Changed(s, is, map[string]any{"name": "other"})
	if p, _ := diag.Of(err); len(p) != 1 || p[0].Pointer != "/attributes/name" {
		t.Errorf("an attribute that is set once: %+v", p)
	}
	_, err = inventory.Edited(s, is, []inventory.Edit{
		{Operation: inventory.Replace, Target: "name", Value: "other"},
	})
	if p, _ := diag.Of(err); len(p) != 1 || p[0].Pointer != "" {
		t.Errorf("the body of an edit has no attributes, and the problem is %+v", p)
	}
}
