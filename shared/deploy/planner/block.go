package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// Blocks: a resource does not run while something that it requires is undefined.

// spreadBlocks blocks resources with an undefined requirement, direct or indirect, and unblocks
// resources that no longer have one. It starts at the planned rows and at the rows of others, and
// follows the dependants of rows that change.
func (p *planning) spreadBlocks(ctx context.Context, g *version.Graph, others []resource.ID) error {
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

// blocker is the working state of one call of spreadBlocks.
type blocker struct {
	p     *planning
	g     *version.Graph
	rows  map[resource.ID]*state.Row
	fresh map[resource.ID]bool // rows that only this spreadBlocks has blocked
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
		ids = append(ids, version.DependantsOf(old, id)...)
		ids = append(ids, version.DependantsOf(b.g, id)...)
	}
	ids = append(ids, version.Rewired(old, b.g)...)
	slices.Sort(ids)
	b.queue = b.g.Nodes(slices.Compact(ids))
	return nil
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

// row returns a planned or stored row, or nil.
func (b *blocker) row(id resource.ID) *state.Row {
	if r := b.p.rows[id]; r != nil {
		return r
	}
	return b.rows[id]
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
	b.p.apply(row, step.Blocked{By: cause, NeverStored: b.fresh[row.ID]})
	return was != row.BlockedBy
}
