package worker

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// fetchDeps reads the rows of direct requirements that were not read yet.
func (b *batch) fetchDeps(ctx context.Context, group []*claim) error {
	var ids []resource.ID
	for _, c := range group {
		if c.node < 0 {
			continue
		}
		for _, q := range b.graph.Requires(c.node) {
			if b.rows.of(q) == nil {
				if _, known := b.deps[q]; !known {
					b.deps[q] = nil
					ids = append(ids, b.graph.IDs[q])
				}
			}
		}
	}
	rows, err := b.Rows(ctx, b.env, ids)
	for _, n := range b.graph.Nodes(ids) {
		b.deps[n] = rows[b.graph.IDs[n]]
	}
	return err
}

// dep returns the row of a requirement; nil: it is gone.
func (p *part) dep(n int32) *state.Row {
	if r := p.rows.of(n); r != nil {
		return r
	}
	return p.deps[n]
}

// requirements returns the rows of the requirements of a claim. Requirements that have run in the
// same batch are not recorded yet.
func (p *part) requirements(c *claim) []*state.Row {
	if c.node < 0 {
		return nil
	}
	var out []*state.Row
	for _, q := range p.graph.Requires(c.node) {
		out = append(out, c.dep(p, q))
	}
	return out
}

// dep returns the row of a requirement, as a run in the same batch has left it.
func (c *claim) dep(p *part, n int32) *state.Row {
	for _, o := range c.waits {
		if o.node == n && o.wrote != nil {
			return o.wrote
		}
	}
	return p.dep(n)
}

// superseded reports whether a requirement of c has been scheduled again since the worker read its
// rows. Then it is not yet decided whether c has to be skipped.
func (p *part) superseded(c *claim) bool {
	if c.node < 0 {
		return false
	}
	return slices.ContainsFunc(p.graph.Requires(c.node), func(q int32) bool {
		r := p.dep(q)
		return r != nil && p.rows.of(q) == nil && r.Ticket() != 0 && !r.AsWanted()
	})
}

// joinIDs lists ids for a message: the first of them up to limit, and whether there are more.
func joinIDs(ids []resource.ID, limit int) string {
	var b strings.Builder
	for i, id := range ids {
		if i == limit {
			b.WriteString(" and more")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(id))
	}
	return b.String()
}
