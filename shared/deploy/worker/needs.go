package worker

import (
	"southbound/shared/deploy/run"
)

// needOf returns the required freshness of a list for a claim. The list has to be newer than the
// request for the claim, and newer than the last runs of its requirements, which may have made the
// listed things.
func (b *batch) needOf(c *claim) run.Need {
	l := b.session.Lists()
	n := run.Need{Count: l.NeededFor(c.row.Ticket(), c.waved)}
	if c.node < 0 {
		return n
	}
	for _, q := range b.graph.Requires(c.node) {
		n.Count = max(n.Count, l.ChangedAt(b.graph.IDs[q]))
		switch r := b.deps[q]; {
		case b.rows.of(q) != nil: // this session has run it
		case r == nil: // it was removed, and no row records the time
			n.Count = l.Latest()
		case r.LastAt.After(n.At):
			n.At = r.LastAt
		}
	}
	return n
}
