package dynamo

import (
	"bytes"
	"time"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
)

// edit is a change of one tablet that is being prepared.
type edit struct {
	rec  *record // as it was read
	next *record
	delta
	size   int  // of the encoded delta, in bytes
	merged bool // the previous tail is now in a run
	dueOut bool // the row with the earliest timer lost it: recount finds the next
}

func newEdit(rec *record) *edit {
	e := &edit{rec: rec, next: rec.clone()}
	e.next.seq++
	return e
}

// count removes the row old from the summary, adds the row now to it, or both.
func (e *edit) count(old, now *state.Row) {
	n := e.next
	if n.counts == nil {
		n.counts = map[rowKind]int{}
	}
	if old != nil {
		kind := kindOf(old)
		if n.counts[kind]--; n.counts[kind] == 0 {
			delete(n.counts, kind)
		}
		if old.Ticket() != 0 {
			n.tickets--
		}
		e.dueOut = e.dueOut || (!old.Timer().IsZero() && !old.Timer().After(n.due))
	}
	if now != nil {
		n.counts[kindOf(now)]++
		if now.Ticket() != 0 {
			n.tickets++
		}
		if !now.Timer().IsZero() && (n.due.IsZero() || now.Timer().Before(n.due)) {
			n.due = now.Timer()
		}
		n.foreign = n.foreign || state.AgentOf(now.Lane) != now.ID.Agent()
	}
}

// put writes a row; old is the row in the same tablet before, or nil.
func (e *edit) put(old *state.Row, now state.Row) {
	e.count(old, &now)
	same := old != nil && old.Version == now.Version && old.Hash == now.Hash &&
		bytes.Equal(old.Body, now.Body)
	e.rows = append(e.rows, rowcodec.Of(now, !same))
}

// remove removes a row from the tablet.
func (e *edit) remove(old *state.Row) {
	e.count(old, nil)
	e.gone = append(e.gone, old.ID)
}

// recount finds the earliest timer if the row that had it lost it.
func (e *edit) recount(m *image) {
	if !e.dueOut {
		return
	}
	over := map[string]bool{}
	for _, id := range e.gone {
		over[string(id)] = true
	}
	due := time.Time{}
	earlier := func(t time.Time) {
		if !t.IsZero() && (due.IsZero() || t.Before(due)) {
			due = t
		}
	}
	for i := range e.rows {
		over[string(e.rows[i].ID)] = true
		earlier(e.rows[i].Timer())
	}
	for id, r := range m.rows {
		if !r.timer.IsZero() && !over[string(id)] {
			earlier(r.timer)
		}
	}
	e.next.due = due
}
