package engine

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// env is the name of the environment of a simulation.
const env = "sim"

// recorder is between the processes and the models: it observes every call that takes effect, and
// its caller.
type recorder struct {
	state.State
	state.Files
	r *run
}

// Acquire implements state.State.
func (c *recorder) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	l, err := c.State.Acquire(ctx, env, key, holder, now, until)
	if err != nil {
		return l, err
	}
	r, t := c.r, c.r.sched.cur
	if was := r.books.leases[key]; was != nil {
		if !was.freed && was.by != t.books.worker && !was.proc.dead && r.time().Before(was.until) {
			r.violate("D2", "%s takes %q, which is held until %s by another live holder", t.name,
				key, r.since(was.until))
		}
		if l.Fence <= was.fence {
			r.violate("D3", "the fence of %q does not grow: %d after %d", key, l.Fence, was.fence)
		}
	}
	if until.Equal(now) { // a fence: it takes over nothing, and the lease has no holder from now on
		r.books.leases[key] = &held{by: t.books.worker, proc: t.proc, fence: l.Fence, until: until, freed: true}
		r.happened("holder fenced")
		r.tracef("%s fences the holder of %q", t.name, key)
		return l, nil
	}
	t.books.inherits[key] = slices.DeleteFunc(slices.Clone(l.Running),
		func(id resource.ID) bool { return !tellsOthers(r, id) })
	for _, id := range t.books.inherits[key] {
		if row := r.state.read(env).rows[id]; row != nil {
			t.books.changed[id] = row.ChangedAt
		}
	}
	r.books.leases[key] = &held{by: t.books.worker, proc: t.proc, fence: l.Fence, until: l.Until}
	t.books.leases[key] = l.Fence
	if key == planKey {
		t.books.removes, t.books.planned = l.Until, r.books.law.step
		t.books.failing = map[resource.ID]int64{}
		for id, row := range r.state.read(env).rows {
			if (t.books.retries || t.books.clears && row.Removing) &&
				row.LastRun == state.RunFailed && !isRunning(r, row) {
				t.books.failing[id] = row.Rev
			}
		}
	}
	if e := r.state.read(env); key == planKey && !t.books.waving {
		t.books.waving = e.waving()
	}
	r.tracef("%s takes %q, fence %d, until %s", t.name, key, l.Fence, r.since(l.Until))
	return l, nil
}

// Release implements state.State.
func (c *recorder) Release(ctx context.Context, env string, l state.Lease) error {
	if have := c.r.books.leases[l.Key]; have != nil && have.fence == l.Fence {
		checkInherited(c.r, c.r.sched.cur, l.Key)
		checkLeft(c.r, c.r.sched.cur, l.Key)
	}
	err := c.State.Release(ctx, env, l)
	if have := c.r.books.leases[l.Key]; err == nil && have != nil && have.fence == l.Fence {
		have.freed = true
		if l.Key == planKey {
			c.r.sched.cur.books.removes = time.Time{}
		}
		c.r.tracef("%s gives up %q", c.r.sched.cur.name, l.Key)
	}
	return err
}

// Pause implements state.State.
func (c *recorder) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	err := c.State.Pause(ctx, env, paused, agents...)
	if err == nil {
		for _, a := range agents {
			c.r.books.paused[a] = paused
		}
	}
	return err
}

// Halt implements state.State.
func (c *recorder) Halt(ctx context.Context, env string, halted bool) error {
	err := c.State.Halt(ctx, env, halted)
	if err == nil {
		c.r.books.halted, c.r.books.haltedAt = halted, c.r.sched.now
	}
	return err
}

// Leases implements state.State.
func (c *recorder) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	leases, err := c.State.Leases(ctx, env)
	if err == nil {
		seen := map[resource.ID]bool{}
		for i := range leases {
			for _, id := range leases[i].Running {
				seen[id] = true
			}
		}
		c.r.sched.cur.books.sawRunning = seen
	}
	return leases, err
}

// Rows implements state.State.
func (c *recorder) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	rows, err := c.State.Rows(ctx, env, ids)
	if b := c.r.sched.cur.books; err == nil && b.lane != "" && !b.dry {
		for _, id := range ids {
			delete(b.saw, id) // it may have been removed
		}
		for i := range rows {
			b.saw[rows[i].ID] = rows[i]
		}
	}
	return rows, err
}

// AgentRows implements state.State.
func (c *recorder) AgentRows(ctx context.Context, env, lane string, all bool) ([]state.Row, error) {
	rows, err := c.State.AgentRows(ctx, env, lane, all)
	if b := c.r.sched.cur.books; err == nil && !b.dry && lane == b.lane {
		for i := range rows {
			delete(b.saw, rows[i].ID) // it has moved here since the read
		}
	}
	return rows, err
}

// Put implements state.Files.
func (c *recorder) Put(ctx context.Context, blobs []state.Blob) error {
	err := c.Files.Put(ctx, blobs)
	for i := range blobs {
		if have, ok := c.r.files.stored[blobs[i].Hash]; ok && sumOf(have.data) != blobs[i].Hash {
			c.r.violate("V2", "file %s is stored with other bytes", blobs[i].Hash)
		}
	}
	return err
}

// Delete implements state.Files.
func (c *recorder) Delete(ctx context.Context, hashes []string) error {
	checkCollected(c.r, hashes)
	c.r.books.removed = c.r.sched.now
	return c.Files.Delete(ctx, hashes)
}

// DropActions implements state.State.
func (c *recorder) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	if kept := c.r.time().Sub(before); kept < actionsKept {
		c.r.violate("L1", "%s removes records that are only %s old", c.r.sched.cur.name, kept)
	}
	return c.State.DropActions(ctx, env, before)
}

// Commit implements state.State.
func (c *recorder) Commit(
	ctx context.Context, name string, in state.Commit,
) (state.Committed, error) {
	r := c.r
	r.books.whole = wholeOf(ctx)
	noteCommit(r, &in)
	before := rowsBefore(r, &in)
	out, err := c.State.Commit(ctx, name, in)
	if err != nil {
		if r.sched.trace != nil && !fault.Is(err, fault.Fenced) {
			r.tracef("%s commit: %v", r.sched.cur.name, err)
		}
		return out, err
	}
	traceCommit(r, &in, &out)
	r.books.learned(r.sched.now, r.state.read(name), before.known)
	r.moves++
	listsAsked(r, &in, &out, before)
	if t := r.sched.cur; t.books.dry && in.Guard.Key == planKey {
		r.violate("dry", "%s plans", t.name)
	}
	happenedBy(r, &in, &out, before)
	checkCommit(r, &in, &out, before)
	return out, nil
}

// wholeKey is the key of a commit in a context, under which its pages are written.
type wholeKey struct{}

// wholeOf returns the commit that the page under a context belongs to; nil: it is a whole commit.
func wholeOf(ctx context.Context) *state.Commit {
	c, _ := ctx.Value(wholeKey{}).(*state.Commit)
	return c
}

// noteCommit occasionally simulates a concurrent write of a row just before it is written. The
// other writer is a planner if a worker writes, and a worker if a planner does.
func noteCommit(r *run, c *state.Commit) {
	if !r.faulty || len(c.Rows) == 0 || r.plan.touches == 0 ||
		r.sched.rng.Float64() >= r.plan.touches {
		return
	}
	e := r.state.read(env)
	if row := e.rows[c.Rows[r.sched.rng.IntN(len(c.Rows))].ID]; row != nil {
		row.Rev++
		if c.Guard.Key != planKey {
			e.env.PlanSeq++
		}
		r.tracef("somebody else has written %s", row.ID)
	}
}

// before is the state before a commit, as far as the checks need it.
type before struct {
	env   state.Env
	rows  map[resource.ID]state.Row
	known map[state.ParameterKey]bool // whether the parameters that the commit removes were known
	kept  map[resource.ID]state.Kept  // the states that the commit replaces
}

func rowsBefore(r *run, c *state.Commit) before {
	e := r.state.read(env)
	b := before{env: e.env, rows: make(map[resource.ID]state.Row, len(c.Rows)),
		known: map[state.ParameterKey]bool{}, kept: map[resource.ID]state.Kept{}}
	for _, k := range c.Keep {
		if was, had := e.kept[k.ID]; had {
			b.kept[k.ID] = was
		}
	}
	for _, k := range c.DropParameters {
		_, b.known[k] = e.parameters[k]
	}
	for i := range c.Rows {
		if have := e.rows[c.Rows[i].ID]; have != nil {
			b.rows[have.ID] = *have
		}
	}
	return b
}

// since returns a time as traces show it.
func (r *run) since(t time.Time) time.Duration { return t.Sub(r.epoch) }

func traceCommit(r *run, c *state.Commit, out *state.Committed) {
	if r.sched.trace == nil {
		return
	}
	name := r.sched.cur.name
	if c.Env != nil {
		r.tracef("%s commit: released %d, last %d, wave %d, releasing %d", name, c.Env.Released,
			c.Env.Last, c.Env.Wave.Epoch, c.Env.Releasing)
	}
	for i := range c.Rows {
		row := &c.Rows[i]
		gone := ""
		if row.Gone {
			gone = " and goes"
		}
		if slices.ContainsFunc(out.Conflicts, func(o state.Row) bool { return o.ID == row.ID }) {
			gone = " (conflict: not written)"
		}
		r.tracef("%s commit: %s is %s, ticket %d, last run %s, blocked %s, causes %v%s", name,
			row.ID, row.Status(), row.Ticket(), row.LastRun, row.Block(), row.RootCauses(), gone)
	}
	if len(c.Checked) > 0 {
		r.tracef("%s commit: checked in wave %d: %v", name, c.Epoch, c.Checked)
	}
	if c.WaveDone > 0 {
		r.tracef("%s commit: wave %d is done in %s", name, c.WaveDone, c.Guard.Key)
	}
	for _, o := range c.AddOutbox {
		r.tracef("%s commit: to follow: %s of %s", name, o.Kind, o.Of)
	}
	if len(c.DropOutbox) > 0 {
		r.tracef("%s commit: followed: %v", name, c.DropOutbox)
	}
	if len(c.Next) > 0 {
		r.tracef("%s commit: starts %v: %v", name, c.Next, out.Started)
	}
}
