package version

import (
	"testing"

	"southbound/shared/resource"
)

// TestGraphRoundTrip stores and reads graphs, and refuses what is cut or changed.
func TestGraphRoundTrip(t *testing.T) {
	t.Parallel()
	g := NewGraph(
		[]Node{
			{ID: "t::T[a,n=1]"},
			{
				ID:       "t::T[b,n=2]",
				Removing: true,
				Requires: []resource.ID{"t::T[a,n=1]", "t::T[x,n=9]"},
			},
		},
	)
	stored := g.encode()
	back, err := decodeGraph(stored)
	if err != nil || len(back.IDs) != 2 || back.Agent(1) != "b" || !back.Removing[1] ||
		len(back.Requires(1)) != 1 {
		t.Fatalf("%v: %+v", err, back)
	}
	for i := range stored {
		if _, err := decodeGraph(stored[:i]); err == nil {
			t.Errorf("a graph cut at byte %d decodes", i)
		}
	}
}

// FuzzDecodeGraph: damaged bytes are an error, and what decodes encodes to the same graph again.
func FuzzDecodeGraph(f *testing.F) {
	f.Add(
		NewGraph(
			[]Node{{ID: "a"}, {ID: "b", Requires: []resource.ID{"a"}}},
		).encode(),
	)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, stored []byte) {
		g, err := decodeGraph(stored)
		if err != nil {
			return
		}
		again, err := decodeGraph(g.encode())
		if err != nil || len(again.IDs) != len(g.IDs) {
			t.Errorf("encoded again: %v", err)
		}
	})
}

// TestNumberOf pins that an agent of which a graph has no resource is not taken for the first one.
func TestNumberOf(t *testing.T) {
	g := NewGraph([]Node{{ID: "t::T[b,name=x]"}, {ID: "t::T[a,name=x]"}})
	x := g.Agents()
	for name, want := range map[string]int32{"a": 0, "b": 1, "c": -1} {
		if got := x.NumberOf(name); got != want {
			t.Errorf("the number of %s is %d, want %d", name, got, want)
		}
	}
}
