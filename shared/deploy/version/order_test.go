package version

import (
	"slices"
	"testing"

	"southbound/shared/resource"
)

// TestReversePurged turns edges of what is purged round, but in a circle, which concerns nothing
// beside it.
func TestReversePurged(t *testing.T) {
	t.Parallel()
	nodes := []Node{
		{ID: "a", Requires: []resource.ID{"b", "elsewhere"}}, {ID: "b"},
		{ID: "c", Requires: []resource.ID{"d", "e", "a"}}, {ID: "d", Requires: []resource.ID{"e"}},
		{ID: "e"},
	}
	purged := map[resource.ID]bool{"a": true, "b": true, "c": true, "e": true}
	want := map[resource.ID][]resource.ID{
		"a": {"elsewhere", "c"}, "b": {"a"}, "c": {"d", "e"}, "d": {"e"},
	}
	for _, n := range ReversePurged(nodes, purged) {
		if !slices.Equal(n.Requires, want[n.ID]) {
			t.Errorf("%s requires %v, not %v", n.ID, n.Requires, want[n.ID])
		}
	}
}
