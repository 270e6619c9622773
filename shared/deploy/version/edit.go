package version

import (
	"cmp"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// A graph is stored whole, or as its changes to a stored graph: see docs/design/export.md. Its name
// is the hash of its file, or "BASE+CHANGE", the hashes of both.

// Bounds of the changes to a stored graph, beyond which the whole graph is stored again.
const (
	leastAdded = 8  // nodes, also of a small graph
	addedShare = 32 // or one in so many of the nodes of the graph
)

// edit is the difference between a graph and another one.
type edit struct {
	put []Node // sorted by id: new nodes, and replacements
	// ascending. It may have ids that the other graph lacks, and ids that are also put: these were
	// removed and added again, and only nodes that are put require them.
	gone []resource.ID
	adds bool // it only adds nodes
}

// GraphFiles returns the files of the graph with a name, the whole one first; none for "".
func GraphFiles(name string) []string {
	if name == "" {
		return nil
	}
	return strings.Split(name, "+")
}

// Stored returns the name of a graph, and the file that has to be stored for it: the whole graph,
// or its changes to a stored one.
func (g *Graph) Stored() (name string, file state.Blob) {
	n := len(g.since.put) + len(g.since.gone)
	if g.base == "" || n > max(leastAdded, len(g.IDs)/addedShare) {
		file = FileOf(g.encode())
		return file.Hash, file
	}
	file = FileOf(g.encodeEdit())
	return g.base + "+" + file.Hash, file
}

// Edit returns the graph, given its name, without the nodes of gone, and with put: new nodes, and
// replacements of nodes with the same ids. Edges to nodes that go are removed.
func (g *Graph) Edit(name string, gone []resource.ID, put []Node) *Graph {
	e := edit{put: slices.SortedFunc(slices.Values(put), compareNodes),
		gone: slices.Compact(slices.Sorted(slices.Values(gone)))}
	out := g.edited(&e)
	switch files := GraphFiles(name); len(files) {
	case 0:
	case 1: // it is stored whole, whichever edits produced it
		out.base, out.since = files[0], e
	default:
		out.base, out.since = files[0], g.since.then(e)
	}
	return out
}

// then returns the combination of this edit and the next one.
func (e edit) then(next edit) edit {
	goes := func(id resource.ID) bool {
		_, is := slices.BinarySearch(next.gone, id)
		return is
	}
	out := edit{put: slices.Clone(next.put), adds: e.adds && next.adds,
		gone: slices.Concat(e.gone, next.gone)}
	for _, n := range e.put {
		if goes(n.ID) || next.puts(n.ID) {
			continue
		}
		n.Requires = slices.DeleteFunc(slices.Clone(n.Requires), goes)
		out.put = append(out.put, n)
	}
	slices.SortFunc(out.put, compareNodes)
	slices.Sort(out.gone)
	out.gone = slices.Compact(out.gone)
	return out
}

// puts reports whether a node is put.
func (e *edit) puts(id resource.ID) bool {
	_, is := slices.BinarySearchFunc(e.put, id, func(n Node, id resource.ID) int {
		return cmp.Compare(n.ID, id)
	})
	return is
}

func compareNodes(a, b Node) int { return cmp.Compare(a.ID, b.ID) }

// edited returns the graph that results from an edit. It records in the edit whether it only adds
// nodes, and removes requirements of put nodes that do not exist.
func (g *Graph) edited(e *edit) *Graph {
	n := len(g.IDs) + len(e.put)
	out := &Graph{IDs: make([]resource.ID, 0, n), Removing: make([]bool, 0, n)}
	from, now, at := make([]int32, 0, n), make([]int32, len(g.IDs)), 0
	keep := func(to int) {
		out.IDs = append(out.IDs, g.IDs[at:to]...)
		out.Removing = append(out.Removing, g.Removing[at:to]...)
		for ; at < to; at++ {
			now[at] = int32(len(from)) // see Node
			from = append(from, int32(at))
		}
	}
	e.adds = true
	put, gone := e.put, e.gone
	for len(put)+len(gone) > 0 {
		puts := len(put) > 0 && (len(gone) == 0 || put[0].ID <= gone[0])
		goes := len(gone) > 0 && (len(put) == 0 || gone[0] <= put[0].ID)
		id := resource.ID("")
		if goes {
			id, gone = gone[0], gone[1:]
		} else {
			id = put[0].ID
		}
		to, there := slices.BinarySearch(g.IDs, id)
		keep(to)
		if there {
			now[to], at, e.adds = -1, to+1, false
		}
		if !puts {
			continue
		}
		if there && !goes {
			now[to] = int32(len(from)) // see Node
		}
		from = append(from, int32(-1-len(e.put)+len(put)))
		out.IDs, out.Removing = append(out.IDs, id), append(out.Removing, put[0].Removing)
		put = put[1:]
	}
	keep(len(g.IDs))
	for i := range e.put {
		e.put[i].Requires = slices.DeleteFunc(slices.Clone(e.put[i].Requires),
			func(id resource.ID) bool { return out.Node(id) < 0 || id == e.put[i].ID })
	}
	out.connect(g, from, now, func(i int) *Node { return &e.put[-1-from[i]] })
	return out
}

// connect gives a graph with ids its edges. A node that is not negative in from keeps the
// edges of another graph, whose nodes have the numbers now. All other nodes come from which.
func (g *Graph) connect(of *Graph, from, now []int32, which func(i int) *Node) {
	buf := make([]int32, 0, 16)
	g.dag = of.dag.Edit(from, now, func(i int) []int32 {
		buf = buf[:0]
		for _, id := range which(i).Requires {
			buf = append(buf, g.Node(id))
		}
		return buf
	})
}

const (
	additionFormat = 2 // of an edit that only adds nodes
	editFormat     = 3
)

// encodeEdit returns the stored form of the edit of a graph: the format, and then for each put node
// its id, the number of its requirements with the removing flag, and their ids. Unless the edit only
// adds nodes, the ids of removed nodes precede them.
func (g *Graph) encodeEdit() []byte {
	w := &binform.Writer{}
	if g.since.adds {
		w.Uint(additionFormat)
	} else {
		w.Uint(editFormat)
	}
	if !g.since.adds {
		w.Len(len(g.since.gone))
		for _, id := range g.since.gone {
			w.Text(string(id))
		}
	}
	w.Len(len(g.since.put))
	for i := range g.since.put {
		n := &g.since.put[i]
		w.Text(string(n.ID))
		w.Uint(edgesOf(len(n.Requires), n.Removing))
		for _, id := range n.Requires {
			w.Text(string(id))
		}
	}
	return compress(w.B)
}

// decodeEdit returns the graph that a stored edit produces from g, given the name of the result.
// Its error is Damaged.
func decodeEdit(g *Graph, name string, stored []byte) (*Graph, error) {
	b, err := decompress(stored)
	if err != nil {
		return nil, damagedGraph()
	}
	r := &binform.Reader{B: b}
	format := r.Uint()
	if format != additionFormat && format != editFormat {
		return nil, damagedGraph()
	}
	var gone []resource.ID
	if format == editFormat {
		gone = make([]resource.ID, r.Len())
		for i := range gone {
			gone[i] = resource.ID(r.Text())
		}
	}
	put := make([]Node, r.Len())
	for i := range put {
		n := &put[i]
		n.ID = resource.ID(r.Text())
		var count int
		count, n.Removing = readEdges(r)
		for range count {
			n.Requires = append(n.Requires, resource.ID(r.Text()))
		}
		if format == additionFormat && g.Node(n.ID) >= 0 || i > 0 && put[i-1].ID >= n.ID {
			return nil, damagedGraph()
		}
	}
	if !r.Done() || !slices.IsSorted(gone) {
		return nil, damagedGraph()
	}
	out := g.Edit(name, gone, put)
	out.since.gone, out.since.adds = gone, format == additionFormat // to keep the name
	return out, nil
}

// damagedGraph returns the error of a graph that does not decode.
func damagedGraph() error {
	return fault.New(fault.Damaged, "read graph", "the stored graph does not decode").
		WithHint("the stored files were changed by something else; restore them, or export again")
}
