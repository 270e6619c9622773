package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Commit implements deploy.State.
func (s *State) Commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	c := &commit{s: s, env: env, in: &in, guard: keyOf(in.Guard.Key), known: map[string]*record{}}
	if err := c.run(ctx); err != nil {
		return state.Committed{}, err
	}
	return c.conclude(ctx)
}

// commit is one Commit.
type commit struct {
	s     *State
	env   string
	in    *state.Commit
	guard string             // key of the guard's record
	known map[string]*record // what was read during this commit, by key
	used  map[string]*record // what was decided by: a tablet is used as it was at one instant
	lanes []*record          // all lanes, when they were read
	tries int

	atOnce bool // lanes are read as they are at one instant

	head      *head // when the commit changes it
	edits     map[string]*edit
	where     map[resource.ID]place
	conflicts []state.Row
	forward   *forward      // when it is rolled forward
	more      []put         // items that are written with it
	objects   []entry       // that nothing names when it is done
	open      []resource.ID // what is left in what runs, without Next

	versionDoc *document
}

// place is where a row was found.
type place struct {
	key string     // of the tablet; "": nowhere
	row *state.Row // as it is there, which nobody changes; nil: there is none
}

func (p place) rev() int64 {
	if p.row == nil {
		return 0
	}
	return p.row.Rev
}

func (c *commit) run(ctx context.Context) error {
	return c.s.contend(ctx, func() error {
		for {
			err := c.prepare(ctx)
			if err == errLost { // it is never wrapped
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
		if err == errLost { // it is never wrapped
			c.lanes = nil
			clear(c.known) // the records that were in the way are known by their refusal
		}
		return err
	})
}

// record returns the record of a tablet: as it was read in this commit, else as it is known, else
// as it is now.
func (c *commit) record(ctx context.Context, key string) (*record, error) {
	if r := c.used[key]; r != nil {
		return r, nil
	}
	r := c.known[key]
	if r == nil {
		r = c.s.known(tabletKey{c.env, key})
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
		recs, err := c.readLanes(ctx)
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

// readLanes reads the records of all lanes.
func (c *commit) readLanes(ctx context.Context) ([]*record, error) {
	if !c.atOnce {
		return c.s.readRecords(ctx, c.env)
	}
	var recs []*record
	err := c.s.unmoved(ctx, c.env, func() (err error) {
		recs, err = c.s.readRecords(ctx, c.env)
		return err
	})
	return recs, err
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
	for _, key := range slices.Sorted(maps.Keys(c.used)) {
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

// edit returns the edit of a tablet.
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

// recount completes the summaries.
func (c *commit) recount(ctx context.Context) error {
	for _, e := range byKey(c.edits) {
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

// byKey returns edits by the keys of their tablets: everybody writes tablets in one order.
func byKey(edits map[string]*edit) []*edit {
	return slices.SortedFunc(maps.Values(edits), func(a, b *edit) int { return strings.Compare(a.next.key, b.next.key) })
}

// write makes the edits: together, or rolled forward when they are many or lost too often.
func (c *commit) write(ctx context.Context) error {
	const losses = 3
	edits := byKey(c.edits)
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

// conclude reads what the commit has to tell and decides about Next. The head is read after the
// record said what is to run: a pause or a schedule that was finished before is seen.
func (c *commit) conclude(ctx context.Context) (state.Committed, error) {
	if c.forward != nil {
		if err := c.finish(ctx); err != nil {
			return state.Committed{}, err
		}
		if err := c.endRunning(ctx); err != nil {
			return state.Committed{}, err
		}
	}
	out := state.Committed{Conflicts: c.conflicts}
	h := c.head
	if h == nil || len(c.in.Next) > 0 {
		var err error
		if h, err = c.s.readHead(ctx, c.env); err != nil {
			return out, err
		}
	}
	if !h.quietUntil.IsZero() {
		if err := c.s.wake(ctx, c.env); err != nil {
			return out, err
		}
	}
	out.PlanSeq, out.Paused = h.plan, h.stopped(state.AgentOf(c.in.Guard.Key))
	if len(c.in.Next) == 0 {
		return out, nil
	}
	if out.Started = !out.Paused && out.PlanSeq == c.in.SeenPlan; out.Started {
		c.s.hasStarted(tabletKey{c.env, c.guard}, started{c.in.Guard.Fence, c.edits[c.guard].next.running})
		return out, nil
	}
	return out, c.correctRunning(ctx, "refuse", func(e *edit) { e.next.running, e.next.before = e.rec.before, idList{} })
}

// endRunning ends what runs after a commit without Next was rolled forward: now it is known which
// rows conflict.
func (c *commit) endRunning(ctx context.Context) error {
	open := state.StillRunning(c.open, c.conflicts)
	if len(open) == len(c.open) {
		return nil
	}
	left, err := c.s.keepIDs(ctx, open)
	if err != nil {
		return err
	}
	return c.correctRunning(ctx, "ran", func(e *edit) { e.next.running = left })
}

// correctRunning corrects what this commit has written of what runs.
func (c *commit) correctRunning(ctx context.Context, purpose string, correct func(*edit)) error {
	_, err := c.s.change(withPurpose(ctx, Purpose{Name: purpose}), c.env, c.guard, func(e *edit) error {
		if e.rec.fence != c.in.Guard.Fence || e.rec.holder == "" {
			return errNothing // another says now what runs
		}
		correct(e)
		return nil
	})
	if err == errNothing { // it is never wrapped
		err = nil
	}
	return err
}
