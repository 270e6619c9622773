package definition_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// TestDiff names what is new, dropped and changed, at any depth, and nothing of what only people read.
func TestDiff(t *testing.T) {
	t.Parallel()
	text := "other words"
	was := definition.Service{
		Part: definition.Part{
			Attributes: []definition.Attribute{{Name: "a", Type: "int"}, {Name: "b", Type: "int"}},
			Embedded: []definition.Embedded{{
				Name: "parts", Part: definition.Part{Attributes: []definition.Attribute{{Name: "x"}}},
			}},
		},
		Lifecycle: lifecycle.Machine{
			States:    []lifecycle.State{{Name: "up"}, {Name: "down"}},
			Transfers: []lifecycle.Transfer{{Source: "up", Target: "down"}},
		},
	}
	is := was
	is.Attributes = []definition.Attribute{
		{Name: "a", Type: "string", Description: &text}, {Name: "c", Type: "int"},
	}
	is.Embedded = slices.Clone(was.Embedded)
	is.Embedded[0].Attributes = []definition.Attribute{{Name: "y"}}
	is.Lifecycle.States = []lifecycle.State{{Name: "up", ExportResources: true}}
	is.Lifecycle.Transfers = []lifecycle.Transfer{{Source: "up", Target: "up"}}
	want := []string{
		"attribute a: changed", "attribute b: dropped", "attribute c: new",
		"attribute parts.x: dropped", "attribute parts.y: new", "state up: changed",
		"state down: dropped", "transfer up → down: dropped", "transfer up → up: new",
	}
	if d := cmp.Diff(want, definition.Diff(&was, &is)); d != "" {
		t.Error(d)
	}
	words := was
	words.Attributes = slices.Clone(was.Attributes)
	words.Attributes[0].Description = &text
	if got := definition.Diff(&was, &words); len(got) > 0 {
		t.Errorf("words change %v", got)
	}
}
