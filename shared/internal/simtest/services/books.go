package services

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// said is the last request of a customer for an instance that was written.
type said struct {
	gives   map[string]any
	deletes bool
	version int64
}

// change is a write to an instance.
type change struct {
	wish    *wish             // nil: written by a worker
	by      *runner           // the process of that worker
	was     *inventory.Record // nil: the instance is new
	is      *inventory.Record
	events  []inventory.Event
	service definition.Service // its definition
}

// wrote checks a write.
func (r *run) wrote(
	w *wish, by *runner, before map[string]*instance, changes []inventory.Change,
) {
	if w != nil {
		w.written++
		r.notifyOrders(changes)
	}
	for i := range changes {
		id := changes[i].Record.ID
		c := &change{
			wish: w, by: by, is: &r.instances.look(env)[id].record, events: changes[i].Events,
		}
		if was := before[id]; was != nil {
			c.was = &was.record
		}
		k, err := r.definitions.Of(context.Background(), env, c.is.Service, c.is.ServiceVersion,
			c.is.Definition)
		if err != nil {
			r.bench.Violate("I6", "the definition of %s is not there: %v", id, err)
			return
		}
		c.service = k.Service
		r.bench.Tracef("%s: %s, version %d, %s, tasks %v, candidate %v, active %v, problems %s", id,
			c.is.State, c.is.Version, c.is.Outcome, c.is.Tasks, c.is.Candidate, c.is.Active,
			c.is.Problems)
		r.checkSteps(c)
		r.checkModifiers(c)
		r.checkFailure(c)
		r.checkEnd(c)
		r.checkFollowed(c)
		r.checkDefinition(c)
		r.checkMove(c)
		r.checkGiven(c)
		r.note(c)
	}
}

// notifyOrders sends a notice of written orders.
func (r *run) notifyOrders(changes []inventory.Change) {
	var ids []string
	for i := range changes {
		if len(changes[i].Record.Tasks) > 0 {
			ids = append(ids, changes[i].Record.ID)
		}
	}
	if r.plan.Visits {
		r.notify(notice{ids: ids})
	}
}

// note records the request and the events of a write.
func (r *run) note(c *change) {
	if c.was == nil || c.was.State != c.is.State {
		r.happened("state " + c.is.State)
	}
	if c.wish == nil {
		return
	}
	op := c.wish.op
	if op.Kind == opState {
		delete(r.said, c.is.ID) // it may drop earlier requests
	}
	s := said{gives: c.wish.gives, deletes: c.wish.deletes, version: c.is.Version}
	for i := range op.More {
		if item := &op.More[i]; idOf(item.Slot) == c.is.ID {
			s.deletes = item.Kind == opDelete
			if !s.deletes {
				s.gives = item.Attributes
			}
		}
	}
	if s.gives != nil || s.deletes {
		r.said[c.is.ID] = s
	}
}

// checkSteps checks that an instance makes one transfer after the other: I1.
func (r *run) checkSteps(c *change) {
	id := c.is.ID
	if c.was == nil {
		if c.wish == nil || c.is.Version != 1 {
			r.bench.Violate("I1", "%s is made with version %d", id, c.is.Version)
		}
		return
	}
	if n := c.is.Version - c.was.Version; n < 0 || n > 1 {
		r.bench.Violate("I1", "%s goes from version %d to %d", id, c.was.Version, c.is.Version)
	}
	if w := c.wish; w != nil && w.version != nil && *w.version != c.was.Version {
		r.bench.Violate("I1", "%s has version %d, and is changed by somebody who has seen %d",
			id, c.was.Version, *w.version)
	}
	if c.was.State != c.is.State {
		r.checkTransfer(c)
	}
	seen := map[int64]bool{}
	for _, e := range r.instances.look(env)[id].events {
		if e.To == "" || e.From == "" {
			continue
		}
		if seen[e.Version] {
			r.bench.Violate("I1", "%s has two transfers to version %d", id, e.Version)
		}
		seen[e.Version] = true
	}
}

// checkTransfer checks that a transfer belongs to the lifecycle and has exactly one event.
func (r *run) checkTransfer(c *change) {
	from, to := c.was.State, c.is.State
	all := c.service.Lifecycle.Transfers
	if !slices.ContainsFunc(all, func(t lifecycle.Transfer) bool {
		return t.Source == from && (t.Target == to || t.Error == to)
	}) {
		r.bench.Violate("I1", "%s goes from %s to %s, which its lifecycle has not", c.is.ID, from,
			to)
	}
	if c.is.Version == c.was.Version {
		r.bench.Violate("I1", "%s goes from %s to %s with the version that it had", c.is.ID, from,
			to)
	}
	told := 0
	for _, e := range c.events {
		if e.From == from && e.To == to && e.Version == c.is.Version {
			told++
		}
	}
	if told != 1 {
		r.bench.Violate("I1", "%s goes from %s to %s, and %d events say so", c.is.ID, from, to,
			told)
	}
}

// checkEnd checks that a deleted instance has no resources, and that no other instance needs it:
// I5.
func (r *run) checkEnd(c *change) {
	if !c.is.Deleted || c.was != nil && c.was.Deleted {
		return
	}
	if by := referredBy(r.instances.look(env), c.is.ID); len(by) > 0 {
		r.bench.Violate("I5", "%s is deleted, and %v lead to it", c.is.ID, by)
	}
	for id, row := range r.rows() {
		_, there := r.world.pages[id]
		// The claimed page belongs to an export by hand, perhaps from before the instance existed.
		if there && row.set == c.is.ID && !row.Orphaned && !r.world.late[id] &&
			id != page(claimed) {
			r.bench.Violate("I5", "%s is deleted, and its %s is there", c.is.ID, id)
		}
	}
}

// checkFollowed checks that an instance counts as deployed only after the pages that it follows
// were deployed: I5.
func (r *run) checkFollowed(c *change) {
	rows := r.rows()
	for _, id := range r.followed[c.is.ID] {
		row, known := rows[id]
		switch {
		case !known || row.Orphaned || len(r.runners) > 1: // unwanted, or replaced by now
		case row.Deployed == "" && c.is.Outcome == lifecycle.Deployed &&
			(c.was == nil || c.was.Outcome != lifecycle.Deployed) && c.wish == nil && !c.is.Deleted:
			r.bench.Violate("I5", "%s is as wanted, and %s, which it follows, was never deployed",
				c.is.ID, id)
		case row.Status() == state.StatusFailed && c.is.Outcome == lifecycle.Failed:
			r.happened("page that is followed fails")
		}
	}
	if c.is.Deleted {
		delete(r.followed, c.is.ID)
	}
}

// row is a row of the engine, with its set and its text.
type row struct {
	*state.Row
	set  string
	text string
}

// rows returns all rows of the engine.
func (r *run) rows() map[resource.ID]row {
	out := map[resource.ID]row{}
	all, err := r.bench.State.ScanRows(context.Background(), env, "", 1000)
	if err != nil {
		r.bench.Violate("rows", "%v", err)
	}
	for i := range all {
		one := row{Row: &all[i]}
		if res, err := resource.Decode(all[i].Body); err == nil {
			one.set = res.Set
			one.text, _ = res.Attributes["text"].(string)
		}
		out[all[i].ID] = one
	}
	return out
}

// checkGiven checks that no two instances have the same value of an allocator: I7.
func (r *run) checkGiven(c *change) {
	mine := ports(c.is)
	all := r.instances.look(env)
	for _, id := range sorted(all) {
		for port := range ports(&all[id].record) {
			if id != c.is.ID && mine[port] {
				r.bench.Violate("I7", "%s and %s have the port %d", c.is.ID, id, port)
			}
		}
	}
	if len(mine) > 0 {
		r.happened("value of an allocator")
	}
}

// ports returns the values of the allocator that an instance has.
func ports(rec *inventory.Record) map[int64]bool {
	out := map[int64]bool{}
	for _, set := range []map[string]any{rec.Candidate, rec.Active, rec.Rollback} {
		if n, ok := number(set["port"]); ok && rec.Service == "site" && !rec.Deleted {
			out[n] = true
		}
	}
	return out
}
