package graphs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// collector collects rows in the nodes of a graph.
type collector struct {
	query        Query
	dependencies *version.Graph
	byAgent      bool
	byType       bool
	open         map[string]bool
	index        map[string]int32
	boxes        []Node
	nodeBox      []int32 // by node of the graph: its box and 1; 0: none
}

func newCollector(g *version.Graph, q Query) *collector {
	c := &collector{query: q, dependencies: g, open: map[string]bool{}, index: map[string]int32{},
		nodeBox: make([]int32, len(g.IDs)),
		byAgent: slices.Contains(q.Fold, FoldAgent), byType: slices.Contains(q.Fold, FoldType)}
	for _, key := range q.Open {
		c.open[key] = true
	}
	return c
}

// box returns the node of a resource, without its counts. A box of selected resources has no others:
// the key of a box of requirements outside of the selection ends with +.
func (c *collector) box(id resource.ID, outside bool) Node {
	n := Node{Key: string(id), ID: id, Agent: id.Agent(), Type: id.Type(), Outside: outside}
	if !c.byAgent && !c.byType || c.query.ID != "" {
		return n
	}
	b := Node{Outside: outside}
	if c.byType {
		b.Type = n.Type
	}
	if c.byAgent {
		b.Agent = n.Agent
	}
	b.Key = b.Type + "[" + b.Agent + "]"
	if outside {
		b.Key += "+"
	}
	if c.open[b.Key] {
		return n
	}
	return b
}

// add counts a row in its node, and returns that node.
func (c *collector) add(r *state.Row, status state.Status, outside bool) *Node {
	b := c.box(r.ID, outside)
	at, known := c.index[b.Key]
	if !known {
		at = int32(len(c.boxes)) // fewer than 2^31 resources
		c.index[b.Key] = at
		b.Counts = map[state.Status]int{}
		c.boxes = append(c.boxes, b)
	}
	n := &c.boxes[at]
	n.Count++
	n.Counts[status]++
	if state.Worse(status, n.Status) {
		n.Status = status
	}
	if n.ID != "" {
		n.Reason = r.Why()
	}
	if node := c.dependencies.Node(r.ID); node >= 0 {
		c.nodeBox[node] = at + 1
	}
	return n
}

// outside returns the resources that collected ones require, and that are not collected.
func (c *collector) outside() []resource.ID {
	seen := map[int32]bool{}
	var out []resource.ID
	for n, box := range c.nodeBox {
		if box == 0 {
			continue
		}
		for _, q := range c.dependencies.Requires(int32(n)) { // fewer than 2^31 nodes
			if c.nodeBox[q] == 0 && !seen[q] {
				seen[q] = true
				out = append(out, c.dependencies.IDs[q])
			}
		}
	}
	slices.Sort(out)
	return out
}

// graph returns the collected nodes within the limit, with the edges between them.
func (c *collector) graph() Graph {
	edges := map[[2]int32]int{}
	for n, box := range c.nodeBox {
		if box == 0 {
			continue
		}
		for _, q := range c.dependencies.Requires(int32(n)) { // fewer than 2^31 nodes
			switch to := c.nodeBox[q]; {
			case to == 0:
			case to == box:
				c.boxes[box-1].Inside++
			default:
				edges[[2]int32{box - 1, to - 1}]++
			}
		}
	}
	out := Graph{Nodes: []Node{}, Edges: []Edge{}}
	for i := range c.boxes {
		out.Total += c.boxes[i].Count
	}
	kept := c.keep(edges)
	out.Left = len(c.boxes) - len(kept)
	for at := range kept {
		out.Nodes = append(out.Nodes, c.boxes[at])
	}
	slices.SortFunc(out.Nodes, func(a, b Node) int { return strings.Compare(a.Key, b.Key) })
	for e, n := range edges {
		if kept[e[0]] && kept[e[1]] {
			out.Edges = append(out.Edges, Edge{c.boxes[e[0]].Key, c.boxes[e[1]].Key, n})
		}
	}
	slices.SortFunc(out.Edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To))
	})
	return out
}

// keep returns the nodes within the limit: all, or only the unhealthy ones and their neighbours, or
// the largest ones if all are healthy.
func (c *collector) keep(edges map[[2]int32]int) map[int32]bool {
	kept := make(map[int32]bool, len(c.boxes))
	for i := range c.boxes {
		kept[int32(i)] = true // see add
	}
	if len(kept) <= c.query.Limit {
		return kept
	}
	wrong := map[int32]bool{}
	for i := range c.boxes {
		if unhealthy(c.boxes[i].Status) {
			wrong[int32(i)] = true
		}
	}
	near := maps.Clone(wrong)
	for e := range edges {
		if wrong[e[0]] || wrong[e[1]] {
			near[e[0]], near[e[1]] = true, true
		}
	}
	if len(wrong) == 0 {
		near = kept
	}
	order := slices.SortedFunc(maps.Keys(near), func(a, b int32) int {
		x, y := &c.boxes[a], &c.boxes[b]
		rank := func(at int32, n *Node) int {
			if wrong[at] {
				return state.Urgency(n.Status)
			}
			return -1
		}
		return cmp.Or(cmp.Compare(rank(b, y), rank(a, x)), cmp.Compare(y.Count, x.Count),
			strings.Compare(x.Key, y.Key))
	})
	out := map[int32]bool{}
	for _, at := range order[:min(len(order), c.query.Limit)] {
		out[at] = true
	}
	return out
}

// unhealthy reports whether a status needs attention, and not only time.
func unhealthy(s state.Status) bool {
	return state.Urgency(s) > state.Urgency(state.StatusDeploying)
}
