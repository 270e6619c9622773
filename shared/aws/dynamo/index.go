package dynamo

import (
	"cmp"
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// A row is active if it has a ticket or a timer. Each transaction that writes active rows adds an
// index item for each of their agents, with an entry for each row. Index items never change. An
// entry is dead if its row has another revision, since the write of that revision has added an
// entry if the row is still active.
//
// The row decides whether it is active, and at which agent. The revision of an entry only decides
// which index items can be removed.

// entry is an entry of an index item.
type entry struct {
	id    resource.ID
	rev   int64
	timer time.Time // zero: the row has a ticket
}

// entriesOf returns the entries for written rows, by agent.
func entriesOf(written []state.Row) map[string][]entry {
	out := map[string][]entry{}
	for i := range written {
		if r := &written[i]; r.Ticket() != 0 || !r.Timer().IsZero() {
			out[r.Agent] = append(out[r.Agent], entry{r.ID, r.Rev, r.Timer()})
		}
	}
	return out
}

// indexBegin returns how the keys of the index items of an agent begin.
func indexBegin(agent string) string { return agent + "\x00" }

// indexItem returns the item with entries.
func (s *store) indexItem(k key, entries []entry) item {
	w := &binform.Writer{}
	w.Len(len(entries))
	for _, e := range entries {
		w.Text(string(e.id))
		w.Int(e.rev)
		w.Time(e.timer)
	}
	return s.setBody(k.item(), w.B)
}

// indexed is an index item that was read.
type indexed struct {
	item    item
	entries []entry
}

// readIndex reads the index of some agents, or of all if none is given.
func (s *store) readIndex(ctx context.Context, env string, agents ...string) ([]indexed, error) {
	const few = 8 // more agents are read with the whole index
	begins := []string{""}
	if len(agents) > 0 && len(agents) <= few {
		begins = nil
		for _, agent := range slices.Compact(slices.Sorted(slices.Values(agents))) {
			begins = append(begins, indexBegin(agent))
		}
	}
	var list []item
	for _, begin := range begins {
		found, err := s.list(ctx, indexPart(env), begin)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	out := make([]indexed, 0, len(list))
	for _, i := range list {
		raw, err := s.body(i)
		if err != nil {
			return nil, err
		}
		d := &binform.Reader{B: raw}
		x := indexed{item: i}
		for n := d.Len(); n > 0 && !d.Bad; n-- {
			x.entries = append(x.entries, entry{resource.ID(d.Text()), d.Int(), d.Time()})
		}
		if !d.Done() {
			return nil, damaged("the index item %s does not decode", keyOf(i).sort)
		}
		out = append(out, x)
	}
	return out, nil
}

// active returns the rows in the index of some agents, or of all if none is given. They may be
// inactive by now, or of another agent. It also returns the index items in which all entries are
// dead.
func (s *rows) active(
	ctx context.Context, env string, agents ...string,
) (found []state.Row, dead []item, err error) {
	index, err := s.readIndex(ctx, env, agents...)
	if err != nil {
		return nil, nil, err
	}
	var ids []resource.ID
	for _, x := range index {
		for _, e := range x.entries {
			ids = append(ids, e.id)
		}
	}
	if found, err = s.Rows(ctx, env, ids); err != nil {
		return nil, nil, err
	}
	revs := make(map[resource.ID]int64, len(found))
	for i := range found {
		revs[found[i].ID] = found[i].Rev
	}
	alive := index[:0]
	for _, x := range index {
		x.entries = slices.DeleteFunc(x.entries, func(e entry) bool { return revs[e.id] != e.rev })
		if len(x.entries) == 0 {
			dead = append(dead, x.item)
		} else {
			alive = append(alive, x)
		}
	}
	if len(agents) == 1 {
		s.live.read(env, agents[0], alive)
	}
	return found, dead, nil
}

// enoughDead is how many dead index items are worth a write.
const enoughDead = 8

// tidy removes dead index items, if there are enough of them. Each transaction also writes the head:
// a reader that overlaps with it may have read the index before a new entry was added, so it has to
// read again. If another process is faster, tidy leaves the rest to the next reader.
func (s *store) tidy(ctx context.Context, h *head, dead []item) {
	const most = 40 // they may be large
	next := *h
	for len(dead) >= enoughDead && h.seq != 0 {
		o, err := next.put(s)
		if err != nil {
			return
		}
		ops, n := []op{o}, min(len(dead), most)
		for _, i := range dead[:n] {
			ops = append(ops, s.replace(i, op{key: keyOf(i), always: true})...)
		}
		if s.write(ctx, ops...) != nil {
			return
		}
		next.seq, dead = next.seq+1, dead[n:]
	}
}

// Due implements state.State. It reads the rows of entries with a timer that has passed, and then,
// in order of time, those of later entries until it knows the next time.
func (s *rows) Due(
	ctx context.Context, env string, at time.Time, limit int,
) ([]resource.ID, time.Time, error) {
	index, err := s.readIndex(ctx, env)
	if err != nil {
		return nil, time.Time{}, err
	}
	var timers []entry
	for _, x := range index {
		for _, e := range x.entries {
			if !e.timer.IsZero() {
				timers = append(timers, e)
			}
		}
	}
	slices.SortFunc(timers, func(a, b entry) int { return a.timer.Compare(b.timer) })
	d := &dueRows{at: at, seen: map[resource.ID]bool{}}
	passed, _ := slices.BinarySearchFunc(timers, at, func(e entry, at time.Time) int {
		if e.timer.After(at) {
			return 1
		}
		return -1
	})
	if err := d.read(ctx, s, env, timers[:passed]); err != nil {
		return nil, time.Time{}, err
	}
	const some = 100
	for timers = timers[passed:]; len(timers) > 0; {
		if !d.next.IsZero() && d.next.Before(timers[0].timer) {
			break
		}
		n := min(some, len(timers))
		if err := d.read(ctx, s, env, timers[:n]); err != nil {
			return nil, time.Time{}, err
		}
		timers = timers[n:]
	}
	slices.SortFunc(d.due, func(a, b entry) int {
		return cmp.Or(a.timer.Compare(b.timer), cmp.Compare(a.id, b.id))
	})
	var out []resource.ID
	for _, e := range d.due[:min(limit, len(d.due))] {
		out = append(out, e.id)
	}
	return out, d.next, nil
}

// dueRows collects the rows whose timers have passed at a time, and the next timer.
type dueRows struct {
	at   time.Time
	due  []entry
	next time.Time
	seen map[resource.ID]bool
}

// read adds the rows of entries.
func (d *dueRows) read(ctx context.Context, s *rows, env string, entries []entry) error {
	var ids []resource.ID
	for _, e := range entries {
		if !d.seen[e.id] {
			d.seen[e.id] = true
			ids = append(ids, e.id)
		}
	}
	found, err := s.Rows(ctx, env, ids)
	for i := range found {
		switch t := found[i].Timer(); {
		case t.IsZero():
		case !t.After(d.at):
			d.due = append(d.due, entry{id: found[i].ID, timer: t})
		case d.next.IsZero() || t.Before(d.next):
			d.next = t
		}
	}
	return err
}
