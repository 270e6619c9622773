package planner

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// graph returns the graph that is in force once the version is released: see effectiveGraph. After a
// bounded edit, only the nodes of the resources that it puts or drops can differ.
func (r *releaser) graph(ctx context.Context) (*version.Graph, error) {
	if r.delta == nil {
		return r.effectiveGraph(ctx)
	}
	old, err := r.p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range old.Nodes(r.delta.done) {
		for _, d := range old.Dependants(n) {
			r.edited = append(r.edited, old.IDs[d])
		}
	}
	put, gone := []version.Node(nil), slices.Clone(r.delta.done)
	if !r.delta.stays {
		var more []resource.ID
		if put, more, err = r.editNodes(ctx, old); err != nil {
			return nil, err
		}
		gone = append(gone, more...)
	}
	if r.same = len(put)+len(gone) == 0; r.same {
		return old, nil
	}
	return old.Edit(r.p.env.Graph, gone, put), nil
}

// editNodes returns the nodes of the graph that a bounded edit puts, and those that leave it.
func (r *releaser) editNodes(
	ctx context.Context, old *version.Graph,
) (put []version.Node, gone []resource.ID, err error) {
	stays := map[resource.ID]bool{}
	for _, res := range r.delta.put {
		stays[res.ID] = true
	}
	var left []resource.ID
	for id := range r.before {
		if !stays[id] {
			left = append(left, id)
		}
	}
	slices.Sort(left)
	leaving, rows, err := r.removing(ctx, old, old.Nodes(left))
	if err != nil {
		return nil, nil, err
	}
	for _, id := range left {
		if rows[id] == nil {
			gone = append(gone, id)
		}
	}
	for _, n := range r.p.pl.makeRoom(nodesOf(r.delta.put, r.lanes), r.delta.put, leaving, rows,
		model.TargetsOf(r.v.Agents, true)) {
		if !hasNode(old, &n) {
			put, r.edited = append(put, n), append(r.edited, n.ID)
		}
	}
	return put, gone, nil
}

// hasNode reports whether a graph has an identical node.
func hasNode(g *version.Graph, n *version.Node) bool {
	at := g.Node(n.ID)
	if at < 0 || g.Lane(at) != n.Lane || g.Removing[at] != n.Removing {
		return false
	}
	var has []resource.ID
	for _, q := range g.Requires(at) {
		has = append(has, g.IDs[q])
	}
	return slices.Equal(has, slices.Compact(slices.Sorted(slices.Values(n.Requires))))
}

// nodesOf returns the nodes of resources at agents with numbers of lanes.
func nodesOf(resources []*resource.Resource, lanes map[string]int) []version.Node {
	nodes := make([]version.Node, 0, len(resources))
	purged := map[resource.ID]bool{}
	for _, r := range resources {
		if r.Purged {
			purged[r.ID] = true
		}
		nodes = append(nodes, version.Node{ID: r.ID,
			Lane: state.LaneOf(r.ID, r.Agent, lanes[r.Agent]), Requires: r.Requires})
	}
	return version.ReversePurged(nodes, purged)
}

// effectiveGraph builds the graph that is in force once a version is released. Things are removed
// in the reverse order of their creation. Between two resources that must not exist, the edge is
// reversed. A resource that left the model and is purged waits for all resources that required it.
func (r *releaser) effectiveGraph(ctx context.Context) (*version.Graph, error) {
	all := r.all
	resources, err := version.DecodeAll(all)
	if err != nil {
		return nil, err
	}
	stays := make(map[resource.ID]bool, len(all))
	for i := range all {
		// The graph is kept, so it takes ids from the entries: a decoded id shares memory with the
		// whole body of its resource.
		resources[i].ID, stays[all[i].ID] = all[i].ID, true
	}
	r.decoded = resources
	old, err := r.p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	var leave []int32
	for n, id := range old.IDs {
		if !stays[id] {
			leave = append(leave, int32(n)) // see Graph.Node
		}
	}
	removing, rows, err := r.removing(ctx, old, leave)
	if err != nil {
		return nil, err
	}
	return version.NewGraph(r.p.pl.makeRoom(nodesOf(resources, r.lanes), resources,
		r.p.moves.without(removing), rows, model.TargetsOf(r.v.Agents, true))), nil
}

// removing returns the nodes of resources that are purged because they left the model, with their
// rows: resources that leave with this version, and those of earlier versions whose purge is not
// finished.
func (r *releaser) removing(
	ctx context.Context, old *version.Graph, leave []int32,
) ([]version.Node, map[resource.ID]*state.Row, error) {
	var out []version.Node
	for _, n := range leave {
		id := old.IDs[n]
		node := version.Node{
			ID:       id,
			Lane:     old.Lane(n),
			Removing: true,
		}
		switch row := r.rows[id]; {
		case old.Removing[n]:
			for _, q := range old.Requires(n) {
				if came := old.IDs[q]; !old.Removing[q] || !r.index[came] ||
					r.rows[came] != nil { // otherwise it is purged, and returns as a new resource
					node.Requires = append(node.Requires, came)
				}
			}
		case row != nil && !row.Orphaned && (row.Removing || row.PurgeOnDelete()) &&
			!(&mover{r}).keptIn(row):
			for _, d := range old.Dependants(n) {
				if !old.Removing[d] {
					node.Requires = append(node.Requires, old.IDs[d])
				}
			}
		default:
			continue
		}
		out = append(out, node)
	}
	return r.stillRemoving(ctx, out)
}

// stillRemoving drops nodes whose purge is finished, and returns the rows of the others.
func (r *releaser) stillRemoving(
	ctx context.Context, nodes []version.Node,
) ([]version.Node, map[resource.ID]*state.Row, error) {
	var unknown []resource.ID
	for _, n := range nodes {
		if r.rows[n.ID] == nil {
			unknown = append(unknown, n.ID)
		}
	}
	rows, err := r.p.load(ctx, unknown)
	if err != nil {
		return nil, nil, err
	}
	nodes = slices.DeleteFunc(nodes, func(n version.Node) bool {
		return r.rows[n.ID] == nil && (rows[n.ID] == nil || !rows[n.ID].Removing)
	})
	for _, n := range nodes {
		if rows[n.ID] == nil {
			rows[n.ID] = r.rows[n.ID]
		}
	}
	return nodes, rows, nil
}

// orderBy sorts the planned rows so that requirements come first and every prefix makes sense: see
// Commit.Rows.
func (p *changes) orderBy(g *version.Graph) {
	if len(p.order) < 2 {
		return
	}
	g = g.Behind(g.Nodes(p.order))
	rank := make([]int32, len(g.IDs))
	for i, n := range g.Order() {
		rank[n] = int32(i)
	}
	at := func(id resource.ID) int32 {
		if p.moves.to[id] != "" {
			return math.MaxInt32 // after the rows that have taken over its state
		}
		if n := g.Node(id); n >= 0 {
			return rank[n]
		}
		return -1
	}
	keys := make(map[resource.ID]int32, len(p.order))
	for _, id := range p.order {
		keys[id] = at(id)
	}
	slices.SortStableFunc(p.order, func(a, b resource.ID) int { return cmp.Compare(keys[a], keys[b]) })
}

// inOrder sorts a part of the planned rows in the order of all. Rows of moves are added out of
// order.
func (p *changes) inOrder(rows []state.Row) {
	if len(p.moves.from) == 0 {
		return
	}
	rank := make(map[resource.ID]int, len(p.order))
	for i, id := range p.order {
		rank[id] = i
	}
	slices.SortStableFunc(rows, func(a, b state.Row) int { return rank[a.ID] - rank[b.ID] })
}

// reblock blocks resources with an undefined requirement, direct or indirect, and unblocks
// resources that no longer have one. It starts at the planned rows and at the rows of others, and
// follows the dependants of rows that change.
func (p *planning) reblock(ctx context.Context, g *version.Graph, others []resource.ID) error {
	undefined := 0
	for _, r := range p.rows {
		if r.Undefined() {
			undefined++
		}
	}
	if undefined == 0 {
		if n, err := lacking(ctx, p); err != nil || n == 0 {
			return err
		}
	}
	b := blocker{p: p, g: g, rows: map[resource.ID]*state.Row{}, fresh: map[resource.ID]bool{}}
	if err := b.begin(ctx, others); err != nil {
		return err
	}
	return b.run(ctx)
}

// blocker is the working state of one call of reblock.
type blocker struct {
	p     *planning
	g     *version.Graph
	rows  map[resource.ID]*state.Row
	fresh map[resource.ID]bool // rows that only this reblock has blocked
	queue []int32              // nodes to visit next
}

// begin queues the planned rows and others, their dependants, and the nodes whose requirements in
// the graph have changed. Edges between resources that must not exist are reversed, or restored. So
// a row may have to be blocked or unblocked although nothing else about it changes.
func (b *blocker) begin(ctx context.Context, others []resource.ID) error {
	old, err := b.p.inForce(ctx)
	if err != nil {
		return err
	}
	var ids []resource.ID
	for _, id := range slices.Concat(b.p.order, others) {
		ids = append(ids, id)
		for _, g := range []*version.Graph{old, b.g} {
			if n := g.Node(id); n >= 0 {
				for _, d := range g.Dependants(n) {
					ids = append(ids, g.IDs[d])
				}
			}
		}
	}
	ids = append(ids, version.Rewired(old, b.g)...)
	slices.Sort(ids)
	b.queue = b.g.Nodes(slices.Compact(ids))
	return nil
}

// row returns a planned or stored row, or nil.
func (b *blocker) row(id resource.ID) *state.Row {
	if r := b.p.rows[id]; r != nil {
		return r
	}
	return b.rows[id]
}

// run visits the queued nodes and the dependants of rows that change, until no row changes.
func (b *blocker) run(ctx context.Context) error {
	for len(b.queue) > 0 {
		level := b.queue
		b.queue = nil
		if err := b.fetch(ctx, level); err != nil {
			return err
		}
		var gone []int32
		for _, n := range level {
			row := b.row(b.g.IDs[n])
			if row == nil {
				gone = append(gone, n) // forgotten: its dependants wait for its requirements
				continue
			}
			if row.Orphaned {
				continue
			}
			cause := b.cause(n, row)
			if _, planned := b.p.rows[row.ID]; row.BlockedBy == cause && !planned {
				continue
			}
			if b.apply(row, cause) {
				b.queue = append(b.queue, b.g.Dependants(n)...)
			}
		}
		slices.Sort(gone)
		for _, n := range slices.Compact(gone) {
			b.queue = append(b.queue, b.g.Dependants(n)...)
		}
	}
	return nil
}

// fetch loads the missing rows of level and of its requirements, including requirements of
// forgotten resources.
func (b *blocker) fetch(ctx context.Context, level []int32) error {
	asked := map[int32]bool{}
	for len(level) > 0 {
		var nodes []int32
		var ids []resource.ID
		want := func(n int32) {
			if id := b.g.IDs[n]; !asked[n] && b.row(id) == nil {
				asked[n], nodes, ids = true, append(nodes, n), append(ids, id)
			}
		}
		for _, n := range level {
			want(n)
			for _, q := range b.g.Requires(n) {
				want(q)
			}
		}
		slices.Sort(ids)
		rows, err := b.p.load(ctx, ids)
		if err != nil {
			return err
		}
		maps.Copy(b.rows, rows)
		level = slices.DeleteFunc(nodes, func(n int32) bool { return b.row(b.g.IDs[n]) != nil })
	}
	return nil
}

// cause returns the undefined resource by which node is blocked; "": none, or it is undefined itself.
// It looks
// through forgotten resources to their requirements, since dependants wait for these nevertheless.
func (b *blocker) cause(n int32, row *state.Row) resource.ID {
	if row.Undefined() {
		return ""
	}
	seen, behind := map[int32]bool(nil), []int32{n} // n, and forgotten resources
	for len(behind) > 0 {
		at := behind[len(behind)-1]
		behind = behind[:len(behind)-1]
		for _, q := range b.g.Requires(at) {
			r := b.row(b.g.IDs[q])
			switch {
			case r == nil && !seen[q]:
				if seen == nil {
					seen = map[int32]bool{}
				}
				seen[q], behind = true, append(behind, q)
			case r == nil:
			case r.Undefined():
				return r.ID
			case r.BlockedBy != "":
				return r.BlockedBy
			}
		}
	}
	return ""
}

// apply blocks or unblocks a row. It reports whether dependants have to be visited, since they
// record the same cause.
func (b *blocker) apply(row *state.Row, cause resource.ID) bool {
	was := row.BlockedBy
	b.fresh[row.ID] = b.fresh[row.ID] || was == "" && cause != ""
	b.p.apply(row, step.Blocked{By: cause, Brief: b.fresh[row.ID]})
	return was != row.BlockedBy
}
