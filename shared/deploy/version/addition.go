package version

import (
	"cmp"
	"slices"
	"strings"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// A graph is stored whole, or as what it adds to one that is: see docs/design/export.md. Its name
// is the hash of its file, or "BASE+ADDITION", the hashes of both.

// Of what may be added until the whole is stored anew.
const (
	leastAdded = 8  // nodes, also to a small graph
	addedShare = 32 // or one in so many of the nodes of the graph
)

// GraphFiles returns the files of the graph with a name, that of the whole one first; of "" none.
func GraphFiles(name string) []string {
	if name == "" {
		return nil
	}
	return strings.Split(name, "+")
}

// Stored returns the name of a graph, and the file that has to be stored for it: the graph, or what
// it adds to one that is stored.
func (g *Graph) Stored() (name string, file state.Blob) {
	if g.base == "" || len(g.added) > max(leastAdded, len(g.IDs)/addedShare) {
		file = blobOf(g.encode())
		return file.Hash, file
	}
	file = blobOf(g.encodeAdded())
	return g.base + "+" + file.Hash, file
}

// With returns the graph, of which it gets the name, with more nodes, which it has not and no node
// of it requires.
func (g *Graph) With(name string, more []Node) *Graph {
	more = slices.SortedFunc(slices.Values(more), compareNodes)
	out := g.with(more)
	switch files := GraphFiles(name); len(files) {
	case 0:
	case 1: // it is stored whole, whatever was added to make it
		out.base, out.added = files[0], more
	default:
		out.base, out.added = files[0], slices.Concat(g.added, more)
		slices.SortFunc(out.added, compareNodes)
	}
	return out
}

func compareNodes(a, b Node) int { return cmp.Compare(a.ID, b.ID) }

// with returns the graph with more nodes, which are sorted by id.
func (g *Graph) with(more []Node) *Graph {
	n := len(g.IDs) + len(more)
	out := &Graph{IDs: make([]resource.ID, 0, n), LaneOf: make([]int32, 0, n),
		Removing: make([]bool, 0, n), Lanes: g.lanesWith(more)}
	at, from := make([]int, len(more)), 0
	keep := func(to int) {
		out.IDs = append(out.IDs, g.IDs[from:to]...)
		out.Removing = append(out.Removing, g.Removing[from:to]...)
		out.LaneOf = append(out.LaneOf, g.LaneOf[from:to]...)
		from = to
	}
	for i := range more {
		at[i], _ = slices.BinarySearch(g.IDs, more[i].ID)
		keep(at[i])
		out.IDs, out.Removing = append(out.IDs, more[i].ID), append(out.Removing, more[i].Removing)
		out.LaneOf = append(out.LaneOf, 0)
	}
	keep(len(g.IDs))
	out.renumberLanes(g, at, more)
	buf := make([]int32, 0, 16)
	out.dag = g.dag.With(at, func(i int) []int32 {
		buf = buf[:0]
		for _, id := range more[i].Requires {
			if q := out.Node(id); q >= 0 && int(q) != at[i]+i {
				buf = append(buf, q)
			}
		}
		return buf
	})
	return out
}

// lanesWith returns the lanes of the graph with more nodes.
func (g *Graph) lanesWith(more []Node) []string {
	out := slices.Clone(g.Lanes)
	for i := range more {
		if lane, known := slices.BinarySearch(out, more[i].Lane); !known {
			out = slices.Insert(out, lane, more[i].Lane)
		}
	}
	return out
}

// renumberLanes gives nodes the numbers of their lanes: those that were copied from g have the
// numbers that these have there, and of more the i-th is before the node at[i] of g.
func (g *Graph) renumberLanes(of *Graph, at []int, more []Node) {
	if len(g.Lanes) != len(of.Lanes) {
		now := make([]int32, len(of.Lanes))
		for i, lane := range of.Lanes {
			now[i] = g.laneOf(lane)
		}
		for n, lane := range g.LaneOf {
			if len(now) > 0 {
				g.LaneOf[n] = now[lane]
			}
		}
	}
	for i := range more {
		g.LaneOf[at[i]+i] = g.laneOf(more[i].Lane)
	}
}

// laneOf returns the index of a lane.
func (g *Graph) laneOf(lane string) int32 {
	i, _ := slices.BinarySearch(g.Lanes, lane)
	return int32(i) // see Node
}

const additionFormat = 2

// encodeAdded returns the stored form of what a graph adds: the format, the lanes, and then for
// each node its id, its lane with the removing flag, and the ids of what it requires.
func (g *Graph) encodeAdded() []byte {
	w := &binform.Writer{}
	w.Uint(additionFormat)
	w.Texts(g.Lanes)
	w.Len(len(g.added))
	for i := range g.added {
		n := &g.added[i]
		w.Text(string(n.ID))
		flag := uint64(g.laneOf(n.Lane)) << 1 // not negative
		if n.Removing {
			flag |= 1
		}
		w.Uint(flag)
		w.Len(len(n.Requires))
		for _, id := range n.Requires {
			w.Text(string(id))
		}
	}
	return compress(w.B)
}

// decodeAddition returns the graph that a stored addition makes of the graph with a name. Its error
// is Damaged.
func decodeAddition(g *Graph, name string, stored []byte) (*Graph, error) {
	b, err := decompress(stored)
	if err != nil {
		return nil, damagedGraph()
	}
	r := &binform.Reader{B: b}
	if r.Uint() != additionFormat {
		return nil, damagedGraph()
	}
	lanes := r.Texts()
	more := make([]Node, r.Len())
	for i := range more {
		n := &more[i]
		n.ID = resource.ID(r.Text())
		flag := r.UintTo(uint64(len(lanes))*2 + 1)
		if int(flag>>1) >= len(lanes) { // bounded
			return nil, damagedGraph()
		}
		n.Lane, n.Removing = lanes[flag>>1], flag&1 == 1
		for range r.Len() {
			n.Requires = append(n.Requires, resource.ID(r.Text()))
		}
		if g.Node(n.ID) >= 0 || i > 0 && more[i-1].ID >= n.ID {
			return nil, damagedGraph()
		}
	}
	if !r.Done() {
		return nil, damagedGraph()
	}
	return g.With(name, more), nil
}

// damagedGraph is the error of a graph that does not decode.
func damagedGraph() error {
	return fault.New(fault.Damaged, "read graph", "the stored graph does not decode").
		WithHint("the data directory was changed by something else; restore it, or export again")
}
