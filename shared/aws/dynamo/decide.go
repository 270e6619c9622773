package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/state/rowcodec"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// What follows are the steps of commit.prepare: each decides a part of what is to be written.

// changeEnv prepares the head.
func (c *commit) changeEnv(ctx context.Context) error {
	if c.in.Env == nil && !c.in.Plan && c.forward == nil {
		return nil
	}
	if err := c.takeHead(ctx); err != nil {
		return err
	}
	if c.in.Env != nil {
		if err := c.head.replace(*c.in.Env); err != nil {
			return err
		}
	}
	if c.in.Plan {
		c.head.plan++
	}
	return nil
}

// takeHead has the commit change the head, if it does not yet.
func (c *commit) takeHead(ctx context.Context) error {
	if c.head != nil {
		return nil
	}
	h, err := c.s.readHead(ctx, c.env)
	if err != nil {
		return err
	}
	h.quietUntil, h.tentative = time.Time{}, false
	c.head = h
	return nil
}

// locate finds the rows of the commit: in their lanes, and, those that are not there, wherever else
// they could be.
func (c *commit) locate(ctx context.Context) error {
	byLane := map[string][]resource.ID{}
	for i := range c.in.Rows {
		if r := &c.in.Rows[i]; r.Lane != "" { // a row to be removed may be named without its lane
			byLane[keyOf(r.Lane)] = append(byLane[keyOf(r.Lane)], r.ID)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byLane)) {
		if err := c.find(ctx, key, byLane[key]); err != nil {
			return err
		}
	}
	var missing []*state.Row
	for i := range c.in.Rows {
		if r := &c.in.Rows[i]; c.where[r.ID].key == "" {
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	lanes, err := c.all(ctx)
	if err != nil {
		return err
	}
	for _, rec := range lanes {
		if rec.total() == 0 {
			continue
		}
		lane, _ := laneOf(rec.key)
		agent := state.AgentOf(lane)
		var ids []resource.ID
		for _, r := range missing {
			if r.Lane != lane && (rec.foreign || r.ID.Agent() == agent) {
				ids = append(ids, r.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := c.find(ctx, rec.key, ids); err != nil {
			return err
		}
	}
	return c.rereadMissing(missing)
}

// rereadMissing has all lanes read again, as they are at one instant, when a row that was there is
// in none of them: it may have moved from one not read yet to one read already.
func (c *commit) rereadMissing(missing []*state.Row) error {
	gone := func(r *state.Row) bool { return r.Rev != 0 && c.where[r.ID].key == "" }
	if c.atOnce || !slices.ContainsFunc(missing, gone) {
		return nil
	}
	c.atOnce, c.lanes = true, nil
	clear(c.known)
	return errLost
}

// find looks for rows in one tablet.
func (c *commit) find(ctx context.Context, key string, ids []resource.ID) error {
	rec, err := c.record(ctx, key)
	if err != nil || rec.total() == 0 {
		return err
	}
	return c.s.withImage(ctx, c.env, rec, func(m *image) error {
		if m.seq != rec.seq {
			return c.outdated(key)
		}
		for _, id := range ids {
			if r, has := m.row(id); has {
				c.where[id] = place{key, &r}
			}
		}
		return nil
	})
}

// outdated notes that a record that was used is not the newest.
func (c *commit) outdated(key string) error {
	delete(c.known, key)
	c.s.forget(tabletKey{c.env, key})
	c.lanes = nil
	return errLost
}

// rows decides row by row.
func (c *commit) rows(ctx context.Context) error {
	perLane := map[string]int{}
	for i := range c.in.Rows {
		perLane[c.in.Rows[i].Lane]++
	}
	for i := range c.in.Rows {
		r := c.in.Rows[i]
		at := c.where[r.ID]
		if at.rev() != r.Rev {
			c.conflicts = append(c.conflicts, conflictOf(r.ID, at))
			continue
		}
		if at.key == "" && r.Gone {
			continue
		}
		if at.key != "" && !c.in.Plan {
			r.Body = at.row.Body // a result never changes what is wanted
		}
		if c.forward != nil {
			c.forward.row(at.key, r, c.in.FirstRev())
			continue
		}
		if at.key != "" && (r.Gone || at.key != keyOf(r.Lane)) {
			if err := c.remove(ctx, at, r.Gone); err != nil {
				return err
			}
			c.where[r.ID] = place{}
		}
		if r.Gone {
			continue
		}
		e, err := c.edit(ctx, keyOf(r.Lane))
		if err != nil {
			return err
		}
		var old *state.Row
		if at.key == keyOf(r.Lane) {
			old = at.row
		}
		if e.rows == nil { // there may be very many
			e.rows = make([]rowcodec.Stored, 0, perLane[r.Lane])
		}
		if r.Rev++; at.key == "" {
			r.Rev = c.in.FirstRev()
		}
		e.put(old, r)
		c.where[r.ID] = place{at.key, &e.rows[len(e.rows)-1].Row}
	}
	return nil
}

// remove takes a row from the tablet that it is in. One that moves to another changes the head: see
// unmoved.
func (c *commit) remove(ctx context.Context, at place, gone bool) error {
	if !gone {
		if err := c.takeHead(ctx); err != nil {
			return err
		}
	}
	e, err := c.edit(ctx, at.key)
	if err != nil {
		return err
	}
	e.remove(at.row)
	return nil
}

func conflictOf(id resource.ID, at place) state.Row {
	if at.key == "" {
		return state.Row{ID: id}
	}
	return *at.row
}

// mayDrop reports whether entries of the outbox are dropped: not while a row conflicts. Of a commit
// that is rolled forward that is known only in the end, see complete.
func (c *commit) mayDrop() bool { return len(c.in.DropOutbox) > 0 && len(c.conflicts) == 0 }

// drops finds the tablets that hold the entries of the outbox that are to be dropped.
func (c *commit) drops(ctx context.Context) error {
	if !c.mayDrop() {
		return nil
	}
	lanes, err := c.all(ctx)
	if err != nil {
		return err
	}
	for _, r := range lanes {
		if r.outbox == 0 {
			continue
		}
		var have []string
		if err := c.s.withImage(ctx, c.env, r, func(m *image) error {
			if m.seq != r.seq {
				return c.outdated(r.key)
			}
			for _, id := range c.in.DropOutbox {
				if _, ok := m.outbox[id]; ok {
					have = append(have, id)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(have) == 0 {
			continue
		}
		if c.forward != nil {
			p := c.forward.part(r.key)
			p.drop = append(p.drop, have...)
			continue
		}
		e, err := c.edit(ctx, r.key)
		if err != nil {
			return err
		}
		e.drop = have
		e.next.outbox -= len(have)
	}
	return nil
}

// lease prepares the guard: what the lease says, and what of the commit has no other place.
func (c *commit) lease(ctx context.Context) error {
	e := c.edits[c.guard]
	n := e.next
	if err := c.running(ctx, e); err != nil {
		return err
	}
	if c.in.Until.After(n.until) {
		n.until = c.in.Until
	}
	n.wave = max(n.wave, c.in.WaveDone)
	e.waveDone, e.epoch, e.checked, e.actions = c.in.WaveDone, c.in.Epoch, state.Counted(c.in.Checked, c.conflicts), c.in.Actions
	if c.forward != nil {
		c.forward.guard, c.forward.epoch, c.forward.checked = c.guard, e.epoch, e.checked
		e.checked = nil
	}
	if len(c.in.AddOutbox) == 0 {
		return nil
	}
	e.add = c.in.AddOutbox
	return c.s.withImage(ctx, c.env, e.rec, func(m *image) error {
		if m.seq != e.rec.seq {
			return c.outdated(c.guard)
		}
		fresh := map[string]bool{}
		for _, o := range c.in.AddOutbox {
			if _, have := m.outbox[o.ID]; !have {
				fresh[o.ID] = true
			}
		}
		n.outbox += len(fresh)
		if !c.mayDrop() {
			return nil
		}
		for _, id := range c.in.DropOutbox { // added and dropped at once
			switch {
			case !fresh[id]:
			case c.forward != nil:
				p := c.forward.part(c.guard)
				p.drop = append(p.drop, id)
			default:
				n.outbox--
				e.drop = append(e.drop, id)
			}
		}
		return nil
	})
}

// running prepares what is said to run: Next, and, until that is accepted, what ran before. Without
// Next it is what ran and is not known to be recorded: rows that conflict and, as long as a commit
// is being rolled forward, all of its rows.
func (c *commit) running(ctx context.Context, e *edit) error {
	n := e.next
	n.running, n.before, c.open = idList{}, idList{}, nil
	open := c.conflicts
	if c.forward != nil {
		open = c.in.Rows
	}
	if len(c.in.Next) == 0 && len(open) == 0 {
		return nil
	}
	ran, err := c.ran(ctx, e.rec)
	if isLost(err) {
		ran, err = c.derived(ctx, e.rec)
	}
	if fault.Is(err, fault.NotFound) {
		return c.outdated(c.guard)
	}
	if err != nil {
		return err
	}
	if len(c.in.Next) == 0 {
		c.open = state.StillRunning(ran, open)
		n.running, err = c.s.keepIDs(ctx, c.open)
		return err
	}
	if n.before, err = c.s.keepIDs(ctx, ran); err != nil {
		return err
	}
	n.running, err = c.s.keepIDs(ctx, c.in.Next)
	return err
}

// ran returns what may be running. What was running before that is of interest only as long as
// nobody knows whether its successors were accepted: this process knows of its own.
func (c *commit) ran(ctx context.Context, rec *record) ([]resource.ID, error) {
	if have, ok := c.s.startedBy(tabletKey{c.env, c.guard}); ok && have.fence == rec.fence && have.ids.is(rec.running) {
		return c.s.idsOf(ctx, rec.running)
	}
	return c.s.ran(ctx, rec)
}

// derived returns what may be running when the list of that is lost: what the commit is about, as a
// commit has all that has run. It is NotFound when the record has changed.
func (c *commit) derived(ctx context.Context, rec *record) ([]resource.ID, error) {
	now, err := c.s.readRecord(ctx, c.env, c.guard)
	if err != nil {
		return nil, err
	}
	if !now.running.is(rec.running) || !now.before.is(rec.before) {
		return nil, fault.New(fault.NotFound, "commit", "what runs was written anew")
	}
	out := slices.Clone(c.in.Next)
	for i := range c.in.Rows {
		if id := c.in.Rows[i].ID; !slices.Contains(c.in.Next, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (c *commit) parameters(ctx context.Context) error {
	if len(c.in.Parameters)+len(c.in.DropParameters) == 0 {
		return nil
	}
	e, err := c.edit(ctx, paramsKey)
	if err != nil {
		return err
	}
	e.params = c.in.Parameters
	for _, k := range c.in.DropParameters {
		e.without = append(e.without, droppedParameter{k, c.s.Host.Now().UTC()})
	}
	return nil
}
