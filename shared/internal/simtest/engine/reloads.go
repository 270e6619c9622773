package engine

import (
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// purgedLeft records the purge of an object whose resource had left the model: its former
// dependants in the model owe a reload.
func (b *books) purgedLeft(r *run, id resource.ID) {
	if !intentSays(r, id, `"send_event":true`) {
		return
	}
	for d := range b.removing[id] {
		row := r.state.read(env).rows[d]
		if b.released.entries[d] == nil || row == nil ||
			intentSays(r, d, `"receive_events":false`) {
			continue
		}
		b.purged[d] = true
		if _, exists := r.world.thing(d).observe(r.sched.now); exists && d.Type() == typeThing &&
			!row.SucceededAt.IsZero() {
			b.events[d] = owed{at: r.sched.now, by: id, purged: true}
		}
	}
}

// owesStill reports whether a new version still requires a reload for a purge. The purged resource
// may have been added again, and the dependant may have left the model or ignore events.
func (b *books) owesStill(r *run, id resource.ID, o owed) bool {
	en := b.released.entries[id]
	return en != nil && en.res.ReceiveEvents && !en.res.Purged && b.released.entries[o.by] == nil
}

// subscribed reports whether d receives the changes of id because of a type, according to the
// released version. That this agrees with the types is checked by checkContent and checkTargeted.
// Resources outside a targeted export are unchanged and receive no new changes.
func (b *books) subscribed(d, id resource.ID) bool {
	one, other := b.released.entries[d], b.released.entries[id]
	return one != nil && other != nil && slices.Contains(one.res.Subscriptions, id)
}

// intentSays reports whether the intent of a resource contains a text.
func intentSays(r *run, id resource.ID, text string) bool {
	row := r.state.read(env).rows[id]
	return row != nil && strings.Contains(string(row.Body), text)
}

// notified records a notice.
func (b *books) notified(r *run, notice state.Notice) {
	if t := r.sched.cur; t != nil {
		t.books.notices++
	}
	checkText(r, "a message", notice.Agent)
	for _, id := range notice.Done {
		checkText(r, "a message", string(id))
	}
}
