package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Commit implements deploy.State.
func (s *State) Commit(ctx context.Context, env string, in deploy.Commit) (deploy.Committed, error) {
	c := &commit{s: s, env: env, in: &in, guard: keyOf(in.Guard.Key), known: map[string]*record{}}
	if err := c.run(ctx); err != nil {
		return deploy.Committed{}, err
	}
	return c.conclude(ctx)
}

// commit is one Commit.
type commit struct {
	s     *State
	env   string
	in    *deploy.Commit
	guard string             // key of the guard's record
	known map[string]*record // what was read during this commit, by key
	used  map[string]*record // what was decided by: a bag is used as it was at one instant
	lanes []*record          // all lanes, when they were read
	tries int

	head      *head // when the commit changes it
	edits     map[string]*edit
	where     map[resource.ID]place
	conflicts []deploy.Row
	forward   *forward // when it is rolled forward
	more      []put    // items that are written with it
	objects   []entry  // that nothing names when it is done

	versionDoc *document
}

// place is where a row was found.
type place struct {
	key string // of the bag; "": nowhere
	row deploy.Row
}

func (c *commit) run(ctx context.Context) error {
	return contend(ctx, func() error {
		for {
			err := c.prepare(ctx)
			if err == errLost { //nolint:errorlint // it is never wrapped
				return err
			}
			if (err == nil && len(c.conflicts) == 0) || c.certain() {
				if err != nil {
					return err
				}
				break
			}
			// It was decided by what may be outdated.
			if err := c.refresh(ctx); err != nil {
				return err
			}
		}
		c.tries++
		err := c.write(ctx)
		if err == errLost { //nolint:errorlint // it is never wrapped
			c.lanes = nil
			clear(c.known) // the records that were in the way are known by their refusal
		}
		return err
	})
}

// record returns the record of a bag: as it was read in this commit, else as it is known, else as it is now.
func (c *commit) record(ctx context.Context, key string) (*record, error) {
	if r := c.used[key]; r != nil {
		return r, nil
	}
	r := c.known[key]
	if r == nil {
		r = c.s.known(bagKey{c.env, key})
	}
	if r == nil {
		var err error
		if r, err = c.s.readRecord(ctx, c.env, key); err != nil {
			return nil, err
		}
		c.known[key] = r
	}
	c.used[key] = r
	return r, nil
}

// all returns the records of all lanes as they are now.
func (c *commit) all(ctx context.Context) ([]*record, error) {
	if c.lanes == nil {
		recs, err := c.s.readRecords(ctx, c.env)
		if err != nil {
			return nil, err
		}
		c.lanes = recs
		for _, r := range recs {
			c.known[r.key] = r
		}
	}
	for _, r := range c.lanes {
		if u := c.used[r.key]; u != nil && u.seq != r.seq {
			return nil, errLost // something was decided by an older one
		}
	}
	return c.lanes, nil
}

// certain reports whether all that was decided by was read in this commit.
func (c *commit) certain() bool {
	for key, u := range c.used {
		if k := c.known[key]; k == nil || k.seq != u.seq {
			return false
		}
	}
	return true
}

// refresh reads what was decided by and is not certain.
func (c *commit) refresh(ctx context.Context) error {
	for key := range c.used {
		if c.known[key] != nil {
			continue
		}
		r, err := c.s.readRecord(ctx, c.env, key)
		if err != nil {
			return err
		}
		c.known[key] = r
	}
	return nil
}

// edit returns the edit of a bag.
func (c *commit) edit(ctx context.Context, key string) (*edit, error) {
	if e := c.edits[key]; e != nil {
		return e, nil
	}
	rec, err := c.record(ctx, key)
	if err != nil {
		return nil, err
	}
	e := newEdit(rec)
	c.edits[key] = e
	return e, nil
}

// prepare decides what is to be written.
func (c *commit) prepare(ctx context.Context) error {
	c.edits, c.where, c.conflicts, c.head = map[string]*edit{}, map[resource.ID]place{}, nil, nil
	c.used = map[string]*record{}
	c.more, c.objects = nil, nil
	if c.forward != nil {
		c.forward = &forward{parts: map[string]*part{}}
	}
	e, err := c.edit(ctx, c.guard)
	if err != nil {
		return err
	}
	if e.rec.holder == "" || e.rec.fence != c.in.Guard.Fence {
		return fault.New(fault.Fenced, "commit", "the lease of %s was taken over", c.in.Guard.Key)
	}
	for _, step := range []func(context.Context) error{c.changeEnv, c.version, c.forget, c.agents, c.locate, c.rows, c.drops, c.lease, c.parameters, c.recount} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// changeEnv prepares the head.
func (c *commit) changeEnv(ctx context.Context) error {
	if c.in.Env == nil && !c.in.Plan && c.forward == nil {
		return nil
	}
	h, err := c.s.readHead(ctx, c.env)
	if err != nil {
		return err
	}
	h.rest = time.Time{}
	if c.in.Env != nil {
		if err := h.replace(*c.in.Env); err != nil {
			return err
		}
	}
	if c.in.Plan {
		h.plan++
	}
	c.head = h
	return nil
}

// locate finds the rows of the commit: in their lanes, and, those that are not there, wherever else they could be.
func (c *commit) locate(ctx context.Context) error {
	byLane := map[string][]resource.ID{}
	for i := range c.in.Rows {
		if r := &c.in.Rows[i]; r.Lane != "" { // a row to be removed may be named without its lane
			byLane[keyOf(r.Lane)] = append(byLane[keyOf(r.Lane)], r.ID)
		}
	}
	for key, ids := range byLane {
		if err := c.find(ctx, key, ids); err != nil {
			return err
		}
	}
	var missing []*deploy.Row
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
		agent := agentOf(lane)
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
	return nil
}

// find looks for rows in one bag.
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
			if r := m.rows[id]; r != nil {
				c.where[id] = place{key, r.Row}
			}
		}
		return nil
	})
}

// outdated notes that a record that was used is not the newest.
func (c *commit) outdated(key string) error {
	delete(c.known, key)
	c.lanes = nil
	return errLost
}

// rows decides row by row.
func (c *commit) rows(ctx context.Context) error {
	for i := range c.in.Rows {
		r := c.in.Rows[i]
		at := c.where[r.ID]
		if at.row.Rev != r.Rev {
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
			c.forward.row(at.key, r)
			continue
		}
		if at.key != "" && (r.Gone || at.key != keyOf(r.Lane)) {
			e, err := c.edit(ctx, at.key)
			if err != nil {
				return err
			}
			e.remove(&at.row)
			c.where[r.ID] = place{}
		}
		if r.Gone {
			continue
		}
		e, err := c.edit(ctx, keyOf(r.Lane))
		if err != nil {
			return err
		}
		var old *deploy.Row
		if at.key == keyOf(r.Lane) {
			old = &at.row
		}
		r.Rev++
		e.put(old, r)
		c.where[r.ID] = place{at.key, r}
	}
	return nil
}

func conflictOf(id resource.ID, at place) deploy.Row {
	if at.key == "" {
		return deploy.Row{ID: id}
	}
	return at.row
}

// drops finds the bags that hold the entries of the outbox that are to be dropped.
func (c *commit) drops(ctx context.Context) error {
	if len(c.in.DropOutbox) == 0 {
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
	e.waveDone, e.epoch, e.checked, e.actions = c.in.WaveDone, c.in.Epoch, c.in.Checked, c.in.Actions
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
		for _, id := range c.in.DropOutbox { // added and dropped at once
			if fresh[id] {
				n.outbox--
				e.drop = append(e.drop, id)
			}
		}
		return nil
	})
}

// running prepares what is said to run: Next, and, until that is accepted, what ran before.
func (c *commit) running(ctx context.Context, e *edit) error {
	n := e.next
	n.running, n.before = idList{}, idList{}
	if len(c.in.Next) == 0 {
		return nil
	}
	ran, err := c.s.ran(ctx, e.rec)
	if fault.Is(err, fault.NotFound) {
		return c.outdated(c.guard)
	}
	if err != nil {
		return err
	}
	if n.before, err = c.s.keepIDs(ctx, ran); err != nil {
		return err
	}
	n.running, err = c.s.keepIDs(ctx, c.in.Next)
	return err
}

func (c *commit) parameters(ctx context.Context) error {
	if len(c.in.Parameters)+len(c.in.DropParameters) == 0 {
		return nil
	}
	e, err := c.edit(ctx, paramsKey)
	if err != nil {
		return err
	}
	e.params, e.without = c.in.Parameters, c.in.DropParameters
	return nil
}

// recount completes the summaries.
func (c *commit) recount(ctx context.Context) error {
	for _, e := range c.edits {
		if !e.dueOut {
			continue
		}
		if err := c.s.withImage(ctx, c.env, e.rec, func(m *image) error {
			if m.seq != e.rec.seq {
				return c.outdated(e.rec.key)
			}
			e.recount(m)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// write makes the edits: together, or rolled forward when they are many or lost too often.
func (c *commit) write(ctx context.Context) error {
	const losses = 3
	edits := slices.SortedFunc(maps.Values(c.edits), func(a, b *edit) int { return strings.Compare(a.next.key, b.next.key) })
	if c.forward != nil {
		return c.begin(ctx, edits)
	}
	if len(edits) > c.s.limits.together || (len(edits) > 2 && c.tries > losses) {
		c.forward = &forward{}
		return errLost // prepared anew, to be rolled forward
	}
	if err := c.s.write(ctx, c.env, edits, c.head, c.more...); err != nil {
		return err
	}
	c.s.dropObjects(ctx, c.objects...)
	for _, e := range edits {
		c.s.tidy(ctx, c.env, e.next)
	}
	return nil
}

// conclude reads what the commit has to tell and decides about Next. The head is read after the record said what is to run: a pause or a
// schedule that was finished before is seen.
func (c *commit) conclude(ctx context.Context) (deploy.Committed, error) {
	if c.forward != nil {
		if err := c.finish(ctx); err != nil {
			return deploy.Committed{}, err
		}
	}
	out := deploy.Committed{Conflicts: c.conflicts}
	h := c.head
	if h == nil || len(c.in.Next) > 0 {
		var err error
		if h, err = c.s.readHead(ctx, c.env); err != nil {
			return out, err
		}
	}
	if !h.rest.IsZero() {
		if err := c.s.wake(ctx, c.env); err != nil {
			return out, err
		}
	}
	out.PlanSeq, out.Paused = h.plan, h.stopped(agentOf(c.in.Guard.Key))
	if len(c.in.Next) == 0 {
		return out, nil
	}
	if out.Started = !out.Paused && out.PlanSeq == c.in.SeenPlan; out.Started {
		return out, nil
	}
	_, err := c.s.change(ctx, c.env, c.guard, func(e *edit) error {
		if e.rec.fence != c.in.Guard.Fence || e.rec.holder == "" {
			return errNothing // another says now what runs
		}
		e.next.running, e.next.before = e.rec.before, idList{}
		return nil
	})
	if err == errNothing { //nolint:errorlint // it is never wrapped
		err = nil
	}
	return out, err
}
