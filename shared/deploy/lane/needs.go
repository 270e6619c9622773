package lane

import (
	"southbound/shared/deploy/run"
	"southbound/shared/resource"
)

// needOf returns how new a list has to be for a claim: newer than what asked for it, and than what
// it requires, which may have made what is listed.
func (w *worker) needOf(c *claim) run.Need {
	l := w.session.Lists()
	n := run.Need{Count: l.NeededFor(c.row.Ticket, c.waved)}
	if c.node < 0 {
		return n
	}
	for _, q := range w.graph.Requires(c.node) {
		n.Count = max(n.Count, l.ChangedAt(w.graph.IDs[q]))
		switch r := w.deps[q]; {
		case w.rows[q] != nil:
		case r == nil: // it was removed, and no row says any more when
			n.Count = l.Latest()
		case r.LastAt.After(n.At):
			n.At = r.LastAt
		}
	}
	return n
}

// sawTickets tells the session which tickets are known.
func (w *worker) sawTickets() {
	newest := int64(0)
	for _, r := range w.rows {
		newest = max(newest, r.Ticket)
	}
	for _, r := range w.loose {
		newest = max(newest, r.Ticket)
	}
	w.session.Lists().Learn(newest, w.sched.Wave.Epoch)
}

// scheduledOf returns what is scheduled of a type in this lane.
func (w *worker) scheduledOf(typ string) []resource.ID {
	var out []resource.ID
	for n, r := range w.rows {
		if w.frontier.needs[n] && !w.skips(r) && r.ID.Type() == typ {
			out = append(out, r.ID)
		}
	}
	return out
}
