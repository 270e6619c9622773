package sim

import (
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// purgedLeft notes that something was purged that had left the model: what required it, and stays,
// owes a reload for that.
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

// owesStill reports whether a reload for a purge is owed in a new version: what left may have come
// back, and what hears of it may have left or want to hear nothing.
func (b *books) owesStill(r *run, id resource.ID, o owed) bool {
	en := b.released.entries[id]
	return en != nil && en.res.ReceiveEvents && !en.res.Purged && b.released.entries[o.by] == nil
}

// subscribed reports whether d is told of the changes of id because of a type, as what is released
// says. That this is so where the types say so is for checkContent and checkTargeted: what a
// targeted export is not about stays as it was, and receives nothing new.
func (b *books) subscribed(d, id resource.ID) bool {
	one, other := b.released.entries[d], b.released.entries[id]
	return one != nil && other != nil && slices.Contains(one.res.Subscriptions, id)
}

// intentSays reports whether a text is in the intent of a resource.
func intentSays(r *run, id resource.ID, text string) bool {
	row := r.state.read(env).rows[id]
	return row != nil && strings.Contains(string(row.Body), text)
}

// notified records a notice.
func (b *books) notified(r *run, notice state.Notice) {
	if t := r.sched.cur; t != nil {
		t.books.notices++
	}
	checkText(r, "a message", notice.Lane)
	for _, id := range notice.Done {
		checkText(r, "a message", string(id))
	}
}
