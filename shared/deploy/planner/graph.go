package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// The graph in force: a release builds it, or edits that of the version before.

// graph returns the graph that is in force once the version is released: see buildGraph. After a
// bounded edit, only the nodes of the resources that it puts or drops can differ.
func (r *releaser) graph(ctx context.Context) (*version.Graph, error) {
	if r.delta == nil {
		return r.buildGraph(ctx)
	}
	old, err := r.p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range r.delta.done {
		r.edited = append(r.edited, version.DependantsOf(old, id)...)
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

// buildGraph builds the graph that is in force once a version is released. Things are removed
// in the reverse order of their creation. Between two resources that must not exist, the edge is
// reversed. A resource that left the model and is purged waits for all resources that required it.
func (r *releaser) buildGraph(ctx context.Context) (*version.Graph, error) {
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
	removing, rows, err := r.removedNodes(ctx, old, leave)
	if err != nil {
		return nil, err
	}
	return version.NewGraph(r.p.pl.withRemovals(nodesOf(resources), resources,
		r.p.moves.without(removing), rows, model.TargetsOf(r.v.Agents, true))), nil
}

// removedNodes returns the nodes of resources that are purged because they left the model, with their
// rows: resources that leave with this version, and those of earlier versions whose purge is not
// finished.
func (r *releaser) removedNodes(
	ctx context.Context, old *version.Graph, leave []int32,
) ([]version.Node, map[resource.ID]*state.Row, error) {
	var out []version.Node
	for _, n := range leave {
		id := old.IDs[n]
		node := version.Node{
			ID:       id,
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
	return r.withoutPurged(ctx, out)
}

// withoutPurged drops nodes whose purge is finished, and returns the rows of the others.
func (r *releaser) withoutPurged(
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
	leaving, rows, err := r.removedNodes(ctx, old, old.Nodes(left))
	if err != nil {
		return nil, nil, err
	}
	for _, id := range left {
		if rows[id] == nil {
			gone = append(gone, id)
		}
	}
	for _, n := range r.p.pl.withRemovals(nodesOf(r.delta.put), r.delta.put, leaving, rows,
		model.TargetsOf(r.v.Agents, true)) {
		if !hasSameNode(old, &n) {
			put, r.edited = append(put, n), append(r.edited, n.ID)
		}
	}
	return put, gone, nil
}

// hasSameNode reports whether a graph has an identical node.
func hasSameNode(g *version.Graph, n *version.Node) bool {
	at := g.Node(n.ID)
	if at < 0 || g.Removing[at] != n.Removing {
		return false
	}
	var has []resource.ID
	for _, q := range g.Requires(at) {
		has = append(has, g.IDs[q])
	}
	return slices.Equal(has, slices.Compact(slices.Sorted(slices.Values(n.Requires))))
}

// nodesOf returns the nodes of resources.
func nodesOf(resources []*resource.Resource) []version.Node {
	nodes := make([]version.Node, 0, len(resources))
	purged := map[resource.ID]bool{}
	for _, r := range resources {
		if r.Purged {
			purged[r.ID] = true
		}
		nodes = append(nodes, version.Node{ID: r.ID, Requires: r.Requires})
	}
	return version.ReversePurged(nodes, purged)
}
