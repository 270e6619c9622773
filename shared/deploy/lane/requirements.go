package lane

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// fetchDeps reads the rows of direct requirements that are not known yet.
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

// dep returns the row of a requirement, nil when it is gone.
func (p *part) dep(n int32) *state.Row {
	if r := p.rows.of(n); r != nil {
		return r
	}
	return p.deps[n]
}

// superseded reports whether something that c requires has been scheduled again since the worker
// read its rows, so that it cannot be told yet whether c has to be skipped.
func (p *part) superseded(c *claim) bool {
	if c.node < 0 {
		return false
	}
	return slices.ContainsFunc(p.graph.Requires(c.node), func(q int32) bool {
		r := p.dep(q)
		return r != nil && p.rows.of(q) == nil && r.Ticket != 0 && !r.AsWanted()
	})
}

// unready returns the root causes for which a resource has to be skipped: its direct requirements
// that are not deployed, or, where these were skipped themselves, the causes of that.
func (p *part) unready(c *claim) []resource.ID {
	if c.node < 0 {
		return nil
	}
	var causes []resource.ID
	for _, q := range p.graph.Requires(c.node) {
		r := p.dep(q)
		if r == nil || r.Gone || r.AsWanted() {
			continue
		}
		for _, id := range r.RootCauses() {
			if !slices.Contains(causes, id) {
				causes = append(causes, id)
			}
		}
	}
	return causes
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

// changedSince reports whether something that a resource requires, and of whose changes it is told,
// has changed since its own last success. A resource that never succeeded has missed every change.
func (p *part) changedSince(c *claim, res *resource.Resource) bool {
	if c.node < 0 || !res.ReceiveEvents {
		return false
	}
	if len(c.row.LeftBehind()) > 0 {
		return true
	}
	for _, q := range p.graph.Requires(c.node) {
		if r := p.dep(q); r != nil && r.ChangedSince(c.row.SucceededAt) && r.SendsEventsTo(res) {
			return true
		}
	}
	return false
}
