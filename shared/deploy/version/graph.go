package version

import (
	"slices"
	"sort"
	"sync"

	"southbound/shared/internal/binform"
	"southbound/shared/internal/dag"
	"southbound/shared/resource"
)

// Graph holds the dependencies between the resources of a released version, by direct edges only.
// It is immutable, stored as a file, and small, since it holds no attributes. Where things are
// removed, its edges run in the opposite direction to those of the model: see
// releaser.buildGraph in package planner.
type Graph struct {
	IDs      []resource.ID // ascending
	Removing []bool        // by node: left the model and is being purged
	dag      *dag.Graph
	orderMu  sync.Mutex
	order    []int32

	agentsOnce sync.Once
	agentIndex *AgentIndex
	nodesOnce  sync.Once
	nodesOf    [][]int32 // by agent

	base  string // the stored graph that this one is an edit of; "": none
	since edit   // the changes to that graph
}

// EmptyGraph returns the graph of an environment without a release.
func EmptyGraph() *Graph { return &Graph{dag: dag.New(0, func(int) []int32 { return nil })} }

// Node returns the index of id, or -1.
func (g *Graph) Node(id resource.ID) int32 {
	i := sort.Search(len(g.IDs), func(i int) bool { return g.IDs[i] >= id })
	if i < len(g.IDs) && g.IDs[i] == id {
		return int32(i) // graphs have far fewer than 2^31 nodes
	}
	return -1
}

// Requires returns the nodes that must be finished before node.
func (g *Graph) Requires(node int32) []int32 { return g.dag.Requires(int(node)) }

// DirectlyRequires reports whether a requires b directly.
func (g *Graph) DirectlyRequires(a, b resource.ID) bool {
	n, q := g.Node(a), g.Node(b)
	return n >= 0 && q >= 0 && slices.Contains(g.Requires(n), q)
}

// Dependants returns the nodes that wait for node.
func (g *Graph) Dependants(node int32) []int32 { return g.dag.Dependants(int(node)) }

// DependantsOf returns the ids of the resources that wait for a resource.
func DependantsOf(g *Graph, id resource.ID) []resource.ID {
	n := g.Node(id)
	if n < 0 {
		return nil
	}
	var out []resource.ID
	for _, d := range g.Dependants(n) {
		out = append(out, g.IDs[d])
	}
	return out
}

// Agent returns the agent of node.
func (g *Graph) Agent(node int32) string { return g.Agents().Names[g.AgentOf(node)] }

// Order returns all nodes, requirements first.
func (g *Graph) Order() []int32 {
	g.orderMu.Lock()
	defer g.orderMu.Unlock()
	if g.order == nil {
		g.order = g.dag.Order()
	}
	return g.order
}

// Node is the input of NewGraph for one resource.
type Node struct {
	ID       resource.ID
	Removing bool
	Requires []resource.ID // ids that are not nodes are left out
}

// NewGraph builds a graph of nodes, which it sorts; their ids have to be distinct.
func NewGraph(nodes []Node) *Graph {
	slices.SortFunc(nodes, compareNodes)
	g := &Graph{
		IDs:      make([]resource.ID, len(nodes)),
		Removing: make([]bool, len(nodes)),
	}
	index := make(map[resource.ID]int32, len(nodes))
	for i, n := range nodes {
		g.IDs[i], g.Removing[i] = n.ID, n.Removing
		index[n.ID] = int32(i) // see Node
	}
	buf := make([]int32, 0, 16)
	g.dag = dag.New(len(nodes), func(i int) []int32 {
		buf = buf[:0]
		for _, id := range nodes[i].Requires {
			if j, ok := index[id]; ok && int(j) != i {
				buf = append(buf, j)
			}
		}
		return buf
	})
	return g
}

const graphFormat = 1

// encode returns the stored form: the format, and then for each node its id, the number of its
// edges with the removing flag, and the edges as distances.
func (g *Graph) encode() []byte {
	w := &binform.Writer{}
	w.Uint(graphFormat)
	w.Len(len(g.IDs))
	for i, id := range g.IDs {
		w.Text(string(id))
		reqs := g.dag.Requires(i)
		w.Uint(edgesOf(len(reqs), g.Removing[i]))
		for _, r := range reqs {
			w.Int(int64(r) - int64(i))
		}
	}
	return compress(w.B)
}

// edgesOf returns the stored form of a number of edges and the removing flag.
func edgesOf(n int, removing bool) uint64 {
	edges := uint64(n) << 1 // not negative
	if removing {
		edges |= 1
	}
	return edges
}

// readEdges is the inverse of edgesOf. The number is at most the number of bytes left, as that of
// Reader.Len.
func readEdges(r *binform.Reader) (n int, removing bool) {
	edges := r.UintTo(uint64(len(r.B))*2 + 1)
	return int(edges >> 1), edges&1 == 1 // checked
}

// decodeGraph reads a stored graph. Its error is Damaged.
func decodeGraph(stored []byte) (*Graph, error) {
	damaged := damagedGraph()
	b, err := decompress(stored)
	if err != nil {
		return nil, damaged
	}
	r := &binform.Reader{B: b}
	if r.Uint() != graphFormat {
		return nil, damaged
	}
	n := r.Len()
	g := &Graph{
		IDs:      make([]resource.ID, n),
		Removing: make([]bool, n),
	}
	edges := make([][]int32, n)
	for i := 0; i < n && !r.Bad; i++ {
		g.IDs[i] = resource.ID(r.Text())
		var count int
		count, g.Removing[i] = readEdges(r)
		edges[i] = make([]int32, count)
		for j := range edges[i] {
			to := r.Int() + int64(i)
			if to < 0 || to >= int64(n) {
				r.Fail()
				break
			}
			edges[i][j] = int32(to) // bounded
		}
	}
	if !r.Done() || !slices.IsSorted(g.IDs) {
		return nil, damaged
	}
	g.dag = dag.New(n, func(i int) []int32 { return edges[i] })
	return g, nil
}
