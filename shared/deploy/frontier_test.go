package deploy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestFrontier finishes random schedules on random graphs in random order: what is ready is exactly what has no scheduled, unfinished
// ancestor (invariant D1), and everything gets its turn.
func TestFrontier(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rnd.IntN(12)
		nodes := make([]graphNode, n)
		for i := range nodes {
			nodes[i] = graphNode{ID: resource.ID(fmt.Sprintf("t::T[a,n=%02d]", i)), Lane: "a/0"}
			for j := range i {
				if rnd.IntN(3) == 0 {
					nodes[i].Requires = append(nodes[i].Requires, nodes[j].ID)
				}
			}
		}
		g := buildGraph(nodes)
		scheduled := make([]bool, n)
		left := 0
		for i := range scheduled {
			if scheduled[i] = rnd.IntN(2) == 0; scheduled[i] {
				left++
			}
		}
		f := newFrontier(g, scheduled)
		for ; left > 0; left-- {
			var ready []int32
			for i := range int32(n) { //nolint:gosec // small
				if want := f.needs[i] && !waits(g, f.needs, i); f.ready(i) != want {
					t.Fatalf("seed %d: node %d ready %v, want %v", seed, i, f.ready(i), want)
				}
				if f.ready(i) {
					ready = append(ready, i)
				}
			}
			if len(ready) == 0 {
				t.Fatalf("seed %d: %d left and none ready", seed, left)
			}
			f.done(ready[rnd.IntN(len(ready))], func(int32, bool) {})
		}
	}
}

// waits is the plain definition: an ancestor is scheduled.
func waits(g *Graph, needs []bool, n int32) bool {
	for _, r := range g.Requires(n) {
		if needs[r] || waits(g, needs, r) {
			return true
		}
	}
	return false
}

// TestGraphRoundTrip stores and reads graphs, and refuses what is cut or changed.
func TestGraphRoundTrip(t *testing.T) {
	t.Parallel()
	g := buildGraph([]graphNode{{ID: "t::T[a,n=1]", Lane: "a/0"}, {ID: "t::T[b,n=2]", Lane: "b/1", Removing: true, Requires: []resource.ID{"t::T[a,n=1]", "t::T[x,n=9]"}}})
	stored := g.encode()
	back, err := decodeGraph(stored)
	if err != nil || len(back.IDs) != 2 || back.Lane(1) != "b/1" || !back.Removing[1] || len(back.Requires(1)) != 1 {
		t.Fatalf("%v: %+v", err, back)
	}
	for i := range stored {
		if _, err := decodeGraph(stored[:i]); err == nil {
			t.Errorf("a graph cut at byte %d decodes", i)
		}
	}
}

// TestGlob pins what * and ? match.
func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, s string
		want       bool
	}{{"*", "", true}, {"a*c", "abc", true}, {"a*c", "abd", false}, {"a?c", "abc", true}, {"a?c", "ac", false}, {"*b*", "abc", true},
		{"fs::File[web*,*]", "fs::File[web1,path=/a/b]", true}, {"**", "x", true}, {"", "x", false},
		{"a?c", "aéc", true}, {"a??c", "aéc", false}, {"a*??c", "a€c", false}, {"?*?", "€é", true}} {
		if got := state.Glob(c.pattern, c.s); got != c.want {
			t.Errorf("glob(%q, %q) = %v", c.pattern, c.s, got)
		}
	}
}

// TestFilterTwice pins that all terms of a filter count: one that is there twice is not taken for the last.
func TestFilterTwice(t *testing.T) {
	t.Parallel()
	for _, terms := range [][]string{{"type=a::B", "type=a::C"}, {"status=failed", "agent=a", "status=skipped"}, {"set=", "set=s"}} {
		if f, err := state.ParseFilter(terms); !fault.Is(err, fault.Usage) {
			t.Errorf("%q: %+v, %v", terms, f, err)
		}
	}
}

// TestLaneOf pins that a lane follows from the id alone.
func TestLaneOf(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range 100 {
		id := resource.ID(fmt.Sprintf("t::T[a,n=%d]", i))
		if state.LaneOf(id, "a", 4) != state.LaneOf(id, "a", 4) {
			t.Fatal("the lane changed")
		}
		seen[state.LaneOf(id, "a", 4)] = true
	}
	if len(seen) != 4 || state.LaneOf("x", "a", 1) != "a/0" {
		t.Errorf("lanes %v", seen)
	}
}
