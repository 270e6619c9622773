package version

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// heldFiles holds files, and counts those that are read.
type heldFiles struct {
	state.Files
	byHash map[string][]byte
	read   int
}

// Get implements state.Files.
func (f *heldFiles) Get(_ context.Context, hashes []string) ([][]byte, error) {
	var out [][]byte
	for _, h := range hashes {
		if f.byHash[h] == nil {
			return nil, fault.New(fault.NotFound, "read file", "%s is not there", h)
		}
		out = append(out, f.byHash[h])
	}
	f.read += len(hashes)
	return out, nil
}

// nodesAt makes up nodes that are not in a graph, which may require what is.
func nodesAt(rng *rand.Rand, g *Graph, n int) []Node {
	ids := 20 + n + len(g.IDs) // few, so that what was there comes again
	var out []Node
	seen := map[resource.ID]bool{}
	for len(out) < n {
		id := resource.ID(fmt.Sprintf("t::T[a%d,n=%d]", rng.IntN(3), rng.IntN(ids)))
		if seen[id] || g.Node(id) >= 0 {
			continue
		}
		seen[id] = true
		one := Node{ID: id, Removing: rng.IntN(9) == 0}
		for range rng.IntN(3) {
			if rng.IntN(2) == 0 && len(out) > 0 {
				one.Requires = append(one.Requires, out[rng.IntN(len(out))].ID)
			} else if len(g.IDs) > 0 {
				one.Requires = append(one.Requires, g.IDs[rng.IntN(len(g.IDs))])
			}
		}
		out = append(out, one)
	}
	return out
}

// TestEdits edits graphs at random, and wants what is made, stored and read to be what a graph of
// all nodes is.
func TestEdits(t *testing.T) {
	t.Parallel()
	additions := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		files := &heldFiles{byHash: map[string][]byte{}}
		var all []Node
		g, name := EmptyGraph(), ""
		for step := range 12 {
			put, gone := nodesAt(rng, g, 1+rng.IntN(5)), []resource.ID(nil)
			for range rng.IntN(3) * rng.IntN(2) {
				if len(all) == 0 {
					break
				}
				n := rng.IntN(len(all))
				what := rng.IntN(3)
				if what > 0 {
					gone = append(gone, all[n].ID)
				}
				if what < 2 { // in the place of what was there, or as another one
					again := nodesAt(rng, g, 1)[0]
					again.ID = all[n].ID
					put = append(put, again)
				}
				all = slices.Delete(all, n, n+1)
			}
			for i := range all { // what goes is required no more, though it may come again
				all[i].Requires = slices.DeleteFunc(slices.Clone(all[i].Requires),
					func(id resource.ID) bool { return slices.Contains(gone, id) })
			}
			all = append(all, put...)
			for i := range all {
				all[i].Requires = slices.DeleteFunc(slices.Clone(all[i].Requires),
					func(id resource.ID) bool {
						is := func(n Node) bool { return n.ID == id }
						return !slices.ContainsFunc(all, is)
					})
			}
			g = g.Edit(name, gone, put)
			var file state.Blob
			name, file = g.Stored()
			files.byHash[file.Hash] = file.Data
			if got := len(GraphFiles(name)); got == 2 {
				additions++
			} else if got != 1 || !strings.HasSuffix(name, file.Hash) {
				t.Fatalf("a graph is named %s, and its file %s", name, file.Hash)
			}
			want := NewGraph(slices.Clone(all)).encode()
			if !bytes.Equal(g.encode(), want) {
				t.Fatalf("seed %d, step %d: the graph differs from that of all nodes", seed, step)
			}
			read, err := NewGraphs(files).Get(t.Context(), name)
			if err != nil || !bytes.Equal(read.encode(), want) {
				t.Fatalf("seed %d, step %d: it is read as another one: %v", seed, step, err)
			}
			if again, _ := read.Stored(); again != name {
				t.Errorf("what was read is named %s, and not %s", again, name)
			}
			if rng.IntN(2) == 0 {
				g = read
			}
		}
	}
	if additions < 50 {
		t.Errorf("%d graphs were stored as additions", additions)
	}
}

// TestAdditionsFold pins that a graph is stored whole again once much was added to it.
func TestAdditionsFold(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	g := NewGraph(nodesAt(rng, EmptyGraph(), 400))
	base, _ := g.Stored()
	name, most := base, 0
	for range 20 {
		g = g.Edit(name, nil, nodesAt(rng, g, 1))
		if name, _ = g.Stored(); GraphFiles(name)[0] == base {
			most++
		}
	}
	if most < leastAdded || most > 2*400/addedShare {
		t.Errorf("%d nodes were added to 400 before the graph was stored whole", most)
	}
	whole := 0
	for range 100 {
		g = g.Edit(name, nil, nodesAt(rng, g, 1))
		if name, _ = g.Stored(); len(GraphFiles(name)) == 1 {
			whole++
		}
	}
	if whole < 2 || whole > 100/leastAdded {
		t.Errorf("of 100 graphs with one more node each, %d were stored whole", whole)
	}
}

// TestGraphsKeepBase pins that what an addition is to is read once.
func TestGraphsKeepBase(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	files := &heldFiles{byHash: map[string][]byte{}}
	g := NewGraph(nodesAt(rng, EmptyGraph(), 300))
	name, file := g.Stored()
	files.byHash[file.Hash] = file.Data
	graphs := NewGraphs(files)
	for i := range 2 * maxGraphs {
		g = g.Edit(name, nil, nodesAt(rng, g, 1))
		name, file = g.Stored()
		files.byHash[file.Hash] = file.Data
		if _, err := graphs.Get(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if files.read != 2+i {
			t.Fatalf("%d files were read for %d graphs of one base", files.read, i+1)
		}
	}
}

// TestDamagedAddition refuses additions that are cut, and those of nodes that are there.
func TestDamagedAddition(t *testing.T) {
	t.Parallel()
	base := NewGraph([]Node{{ID: "a"}})
	more := []Node{{ID: "b", Requires: []resource.ID{"a"}}}
	stored := base.Edit("base", nil, more).encodeEdit()
	edited := base.Edit("base", []resource.ID{"a"}, more).encodeEdit()
	for _, stored := range [][]byte{stored, edited} {
		for i := range stored {
			if _, err := decodeEdit(base, "base", stored[:i]); !fault.Is(err, fault.Damaged) {
				t.Errorf("an edit cut at byte %d: %v", i, err)
			}
		}
	}
	has := NewGraph([]Node{{ID: "b"}})
	if _, err := decodeEdit(has, "base", stored); !fault.Is(err, fault.Damaged) {
		t.Errorf("an addition of what is there: %v", err)
	}
	if _, err := decodeEdit(base, "base", base.encode()); !fault.Is(err, fault.Damaged) {
		t.Errorf("a whole graph as an addition: %v", err)
	}
	if _, err := decodeGraph(stored); !fault.Is(err, fault.Damaged) {
		t.Errorf("an addition as a whole graph: %v", err)
	}
}

// TestRewired compares it with a search for each node.
func TestRewired(t *testing.T) {
	t.Parallel()
	a := NewGraph([]Node{{ID: "a"}, {ID: "b", Requires: []resource.ID{"a"}}, {ID: "d"}, {ID: "e"}})
	b := NewGraph([]Node{{ID: "b"}, {ID: "c"}, {ID: "d", Requires: []resource.ID{"c"}}, {ID: "e"},
		{ID: "f"}})
	if got := Rewired(a, b); !slices.Equal(got, []resource.ID{"b", "d"}) {
		t.Errorf("rewired: %v", got)
	}
}
