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

// Commit implements state.State.
func (s *State) Commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	if err := s.keepFirst(ctx, env, &in); err != nil {
		return state.Committed{}, err
	}
	return s.commit(ctx, env, in)
}

// commit is Commit for a limited number of kept states.
func (s *State) commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	kept, err := s.newKeptPuts(ctx, env, &in)
	if err != nil {
		return state.Committed{}, err
	}
	c := &commit{
		kept:  kept,
		view:  &view{s: s, env: env, known: map[string]*record{}},
		in:    &in,
		guard: keyOf(in.Guard.Key),
	}
	if err := c.run(ctx); err != nil {
		return state.Committed{}, err
	}
	return c.conclude(ctx)
}

// commit is one Commit. It is prepared and written, and prepared again if another process writes
// first. The view holds the records that it has read, and the draft holds its writes.
type commit struct {
	*view
	in    *state.Commit
	guard string // key of the guard's record

	tries   int      // number of writes that were tried
	headNow bool     // read the head instead of using the cached head
	forward *forward // if the commit is rolled forward
	// versionDoc is the stored version. It is made once; if it is large, it is already in an
	// object.
	versionDoc *document
	kept       keptPuts
	draft      *draft
}

func (c *commit) run(ctx context.Context) error {
	return c.s.contend(ctx, func() error {
		for {
			err := c.prepare(ctx)
			if err == errLost { // it is never wrapped
				return err
			}
			if (err == nil && len(c.draft.conflicts) == 0) || c.settled() {
				if err != nil {
					return err
				}
				break
			}
			// A cached record, which may be outdated, led to this result.
			c.headNow = true
			if err := c.refresh(ctx); err != nil {
				return err
			}
		}
		c.tries++
		err := c.write(ctx)
		if err == errLost { // it is never wrapped
			c.lanes, c.headNow = nil, true
			clear(c.known) // write caches the records that conflicted
		}
		return err
	})
}

// settled reports whether every record that the decision used, including the head, was read in this
// commit.
func (c *commit) settled() bool {
	return c.certain() && (c.draft.head == nil || c.headNow)
}

// prepare decides the writes of the commit.
func (c *commit) prepare(ctx context.Context) error {
	c.used = map[string]*record{}
	d := &draft{commit: c, edits: map[string]*edit{}, where: map[resource.ID]place{}}
	c.draft = d
	if c.forward != nil {
		c.forward = &forward{parts: map[string]*part{}}
	}
	e, err := d.edit(ctx, c.guard)
	if err != nil {
		return err
	}
	if e.rec.holder == "" || e.rec.fence != c.in.Guard.Fence {
		return fault.New(fault.Fenced, "commit", "the lease of %s was taken over", c.in.Guard.Key)
	}
	for _, step := range []func(context.Context) error{
		d.changeEnv, d.version, d.forget, d.agents, d.locate, d.rows, d.drops, d.lease,
		d.parameters, d.keep,
		d.recount,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// byKey returns edits sorted by the key of their tablet. All processes write tablets in this order.
func byKey(edits map[string]*edit) []*edit {
	return slices.SortedFunc(
		maps.Values(edits),
		func(a, b *edit) int { return strings.Compare(a.next.key, b.next.key) },
	)
}

// write writes the edits in one transaction. If there are too many, or the transaction was lost too
// often, it rolls the commit forward.
func (c *commit) write(ctx context.Context) error {
	const losses = 3
	edits := byKey(c.draft.edits)
	if c.forward != nil {
		return c.begin(ctx, edits)
	}
	if len(edits) > c.s.limits.together || (len(edits) > 2 && c.tries > losses) {
		c.forward = &forward{}
		return errLost // prepare again, for a roll-forward
	}
	if err := c.s.write(ctx, c.env, edits, c.draft.head, c.draft.more...); err != nil {
		return err
	}
	c.s.dropObjects(ctx, c.draft.objects...)
	for _, e := range edits {
		c.s.tidy(ctx, c.env, e.next)
	}
	return nil
}

// conclude returns the result of the commit, and decides whether Next may start. It reads the head
// after the record lists Next as running. So it sees every pause and every schedule that was
// finished before.
func (c *commit) conclude(ctx context.Context) (state.Committed, error) {
	if c.forward != nil {
		if err := c.finish(ctx); err != nil {
			return state.Committed{}, err
		}
		if err := c.endRunning(ctx); err != nil {
			return state.Committed{}, err
		}
	}
	out := state.Committed{Conflicts: c.draft.conflicts}
	h := c.draft.head
	if h == nil || len(c.in.Next) > 0 {
		var err error
		if h, err = c.s.readHead(ctx, c.env); err != nil {
			return out, err
		}
	}
	if !h.quietUntil.IsZero() {
		if _, err := c.s.wake(ctx, c.env); err != nil {
			return out, err
		}
	}
	out.PlanSeq, out.Paused = h.plan, h.stopped(state.AgentOf(c.in.Guard.Key))
	if len(c.in.Next) == 0 {
		return out, nil
	}
	if out.Started = !out.Paused && out.PlanSeq == c.in.SeenPlan; out.Started {
		c.s.hasStarted(
			tabletKey{c.env, c.guard},
			started{c.in.Guard.Fence, c.draft.edits[c.guard].next.running},
		)
		return out, nil
	}
	return out, c.correctRunning(
		ctx,
		"refuse",
		func(e *edit) { e.next.running, e.next.before = e.rec.before, idList{} },
	)
}

// endRunning removes finished rows from the running list, after a commit without Next was rolled
// forward. Only then are the conflicting rows known.
func (c *commit) endRunning(ctx context.Context) error {
	open := state.StillRunning(c.draft.open, c.draft.conflicts)
	if len(open) == len(c.draft.open) {
		return nil
	}
	left, err := c.s.keepIDs(ctx, open)
	if err != nil {
		return err
	}
	return c.correctRunning(ctx, "ran", func(e *edit) { e.next.running = left })
}

// correctRunning corrects the running list that this commit wrote.
func (c *commit) correctRunning(ctx context.Context, purpose string, correct func(*edit)) error {
	_, err := c.s.change(
		withPurpose(ctx, Purpose{Name: purpose}),
		c.env,
		c.guard,
		func(e *edit) error {
			if e.rec.fence != c.in.Guard.Fence || e.rec.holder == "" {
				return errNothing // another process wrote the list since
			}
			correct(e)
			return nil
		},
	)
	if err == errNothing { // it is never wrapped
		err = nil
	}
	return err
}
