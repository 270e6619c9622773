package deploy

import (
	"context"
	"reflect"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// planner changes what is scheduled in one environment. It holds the lease "plan", so there is one at a time; workers go on
// meanwhile, and rows they change first are read again. See docs/design/engine.md.
type planner struct {
	e       *Engine
	env     Env
	was     Env // as stored
	lease   Lease
	commits int64                // made so far
	rows    map[resource.ID]*Row // to be written
	order   []resource.ID        // of rows, requirements first
	graph   *Graph               // what will be in force
	drop    []string             // outbox entries that this settles
	store   struct {             // what is written with the rows
		version *Version
		forget  []int
		agents  []resource.Agent
		set     []Parameter
		unset   []ParameterKey
	}
	// reapply makes the change anew on a row that somebody else has changed meanwhile.
	reapply map[resource.ID]func(*Row) bool
	whole   map[resource.ID]bool // reapply makes the row anew if it has gone
	before  map[resource.ID]Row  // the rows as they are stored
}

// plan runs f as the one planner of env. A release that a crash cut short is finished first.
func (e *Engine) plan(ctx context.Context, env string, f func(p *planner) error) error {
	lease, err := e.acquire(ctx, env, planKey, planLease)
	if err != nil {
		return err
	}
	defer e.release(ctx, env, lease)
	state, err := e.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	p := &planner{e: e, env: state, was: state, lease: lease}
	p.reset()
	if state.Releasing != 0 {
		if err := p.resumeRelease(ctx); err != nil {
			return fault.Wrap(fault.Unknown, "finish interrupted release", err)
		}
	}
	return f(p)
}

// acquire waits for a lease.
func (e *Engine) acquire(ctx context.Context, env, key string, span time.Duration) (Lease, error) {
	pause := time.Millisecond
	holder := e.holder()
	for {
		now := e.Clock.Now()
		lease, err := e.State.Acquire(ctx, env, key, holder, now, now.Add(span))
		if err == nil {
			return lease, nil
		}
		if !fault.Is(err, fault.Busy) && !fault.Is(err, fault.Unavailable) {
			return Lease{}, fault.Wrap(fault.Unknown, "take lease "+key, err)
		}
		if err := e.Clock.Sleep(ctx, pause); err != nil {
			return Lease{}, err
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// release gives a lease back. When that fails it expires.
func (e *Engine) release(ctx context.Context, env string, l Lease) {
	ctx = context.WithoutCancel(ctx)
	_ = e.retryUnavailable(ctx, func() error { return e.State.Release(ctx, env, l) })
}

func (p *planner) reset() {
	p.rows, p.order, p.drop = map[resource.ID]*Row{}, nil, nil
	p.store.version, p.store.forget, p.store.agents, p.store.set, p.store.unset = nil, nil, nil, nil, nil
	p.reapply, p.whole, p.before = map[resource.ID]func(*Row) bool{}, map[resource.ID]bool{}, map[resource.ID]Row{}
}

// set changes a row by f, which reports whether there is anything to write, and remembers f in case the row has to be read again: then it
// may have something to write although it has nothing now.
func (p *planner) set(row *Row, f func(*Row) bool) {
	was := *row
	changed := f(row)
	if before := p.reapply[row.ID]; before != nil {
		p.reapply[row.ID] = func(r *Row) bool {
			a := before(r)
			return f(r) || a
		}
	} else {
		p.reapply[row.ID] = f
	}
	if _, planned := p.rows[row.ID]; !changed || planned {
		return
	}
	p.rows[row.ID] = row
	p.order = append(p.order, row.ID)
	p.before[row.ID] = was
}

// ticket returns the ticket of everything that is scheduled by the next commit: greater than those of all commits before.
func (p *planner) ticket() int64 { return p.lease.Fence<<20 | p.commits }

// schedule gives a row a ticket.
func (p *planner) schedule(r *Row, priority Priority) {
	if r.Ticket == 0 || priority < r.Priority {
		r.Priority = priority
	}
	r.Ticket = p.ticket()
	r.NextAt = time.Time{}
}

// commit writes what was planned, the environment with it, and rings the lanes that got work. Rows that a worker has changed
// meanwhile are read and planned again until all are written.
func (p *planner) commit(ctx context.Context, plan bool) error {
	s := &p.store
	if len(p.order)+len(p.drop)+len(s.forget)+len(s.agents)+len(s.set)+len(s.unset) == 0 && s.version == nil && p.env == p.was {
		return nil
	}
	c := Commit{Guard: Guard{Key: p.lease.Key, Fence: p.lease.Fence}, Plan: plan, DropOutbox: p.drop, Env: &p.env,
		Version: s.version, Forget: s.forget, Agents: s.agents, Parameters: s.set, DropParameters: s.unset}
	for _, id := range p.order {
		if row, was := p.rows[id], p.before[id]; toWrite(row, &was) {
			c.Rows = append(c.Rows, *row)
		}
	}
	lanes := map[string]bool{}
	for _, r := range c.Rows {
		if r.Ticket != 0 {
			lanes[r.Lane] = true
		}
	}
	for {
		now := p.e.Clock.Now()
		c.Until = now.Add(planLease)
		done, err := p.write(ctx, c)
		if err != nil {
			return err
		}
		if c.Env != nil { // nobody else writes it while the lease lasts, but for what pauses and halts
			p.env.Rev, p.env.PlanSeq = p.env.Rev+1, done.PlanSeq
			p.was = p.env
		}
		c = Commit{Guard: c.Guard, Plan: plan}
		for i := range done.Conflicts {
			row := &done.Conflicts[i]
			if row.Rev == 0 && !p.whole[row.ID] {
				continue // it has gone, and what was to be done with it
			}
			was := *row
			if again := p.reapply[row.ID]; again(row) && toWrite(row, &was) {
				c.Rows = append(c.Rows, *row)
			}
		}
		if len(c.Rows) == 0 {
			break
		}
	}
	p.reset()
	p.ringLanes(ctx, lanes)
	return nil
}

// toWrite reports whether a row that was planned has to be written: what is changed and changed back has not.
func toWrite(row, was *Row) bool { return row.Rev == 0 || !row.same(was) }

// write commits, and tells a commit that took effect although its answer was lost from one that did not.
func (p *planner) write(ctx context.Context, c Commit) (Committed, error) {
	var done Committed
	want := Env{}
	if c.Env != nil {
		want = *c.Env
	}
	lost := false
	err := p.e.retryUnavailable(ctx, func() error {
		var err error
		if lost && c.Env != nil {
			now, err := p.e.State.Env(ctx, want.Name)
			if err != nil {
				return err
			}
			if now.Rev == want.Rev+1 {
				c.Env, c.Version = nil, nil // our own write: only this holder of the lease writes it
			}
		}
		done, err = p.e.State.Commit(ctx, p.env.Name, c)
		lost = lost || err != nil
		return err
	})
	if err != nil {
		return done, fault.Wrap(fault.Unknown, "write plan", err)
	}
	p.commits++
	if lost {
		done.Conflicts = slices.DeleteFunc(done.Conflicts, func(r Row) bool { return p.sameAsPlanned(c.Rows, r) })
	}
	return done, nil
}

// sameAsPlanned reports whether a conflicting row is what we wrote ourselves. A result of a worker differs in its action at least.
func (p *planner) sameAsPlanned(rows []Row, now Row) bool {
	for i := range rows {
		if rows[i].ID == now.ID {
			if rows[i].Gone {
				return now.Rev == 0
			}
			return rows[i].writtenAs(&now)
		}
	}
	return false
}

// writtenAs reports whether now is r after it was written.
func (r *Row) writtenAs(now *Row) bool {
	a := *r
	a.Rev++
	return a.same(now)
}

// same reports whether two rows are the same but for form.
func (r *Row) same(o *Row) bool {
	if r.Rev != o.Rev || r.Ticket != o.Ticket || r.Hash != o.Hash || r.LastAction != o.LastAction {
		return false
	}
	a, b := *r, *o
	for _, x := range []*Row{&a, &b} { // these differ in form only, or are compared by what they stand for
		x.Missing, x.Causes, x.Waiting, x.Hidden, x.Left = nil, nil, nil, nil, nil
		x.NotBefore, x.LastAt, x.NextAt, x.ChangedAt, x.SucceededAt = zeroTime, zeroTime, zeroTime, zeroTime, zeroTime
	}
	return reflect.DeepEqual(&a, &b) && slices.Equal(r.Causes, o.Causes) && slices.Equal(r.Missing, o.Missing) && slices.Equal(r.Hidden, o.Hidden) &&
		r.NextAt.Equal(o.NextAt) && r.NotBefore.Equal(o.NotBefore)
}

func (p *planner) ringLanes(ctx context.Context, lanes map[string]bool) {
	rings := make([]Ring, 0, len(lanes))
	for lane := range lanes {
		rings = append(rings, Ring{Lane: lane})
	}
	slices.SortFunc(rings, func(a, b Ring) int {
		if a.Lane < b.Lane {
			return -1
		}
		return 1
	})
	p.e.ring(ctx, p.env.Name, rings)
}

// load returns rows by id.
func (p *planner) load(ctx context.Context, ids []resource.ID) (map[resource.ID]*Row, error) {
	return p.e.rows(ctx, p.env.Name, ids)
}

func (e *Engine) rows(ctx context.Context, env string, ids []resource.ID) (map[resource.ID]*Row, error) {
	out := make(map[resource.ID]*Row, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	rows, err := e.State.Rows(ctx, env, ids)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read resources", err)
	}
	for i := range rows {
		out[rows[i].ID] = &rows[i]
	}
	return out, nil
}

// eachRow calls f for every row of the environment, in order of id.
func (e *Engine) eachRow(ctx context.Context, env string, f func(*Row) error) error {
	const page = 5000
	for after := resource.ID(""); ; {
		rows, err := e.State.ScanRows(ctx, env, after, page)
		if err != nil {
			return fault.Wrap(fault.Unknown, "read resources", err)
		}
		for i := range rows {
			if err := f(&rows[i]); err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
		after = rows[len(rows)-1].ID
	}
}

// startWave asks for everything to be checked.
func (p *planner) startWave(priority Priority, keepTerminal bool) {
	p.env.Wave = Wave{Epoch: p.env.Wave.Epoch + 1, Priority: priority, At: p.e.Clock.Now(), KeepTerminal: keepTerminal}
}

// scheduleUnfinished gives tickets to what is not deployed and may run. retry includes what waits for its backoff, for a person
// or for a new intent.
func (p *planner) scheduleUnfinished(ctx context.Context, priority Priority, retry bool, match func(*Row) bool) error {
	ask := func(r *Row) bool {
		if !runnable(r) || !unfinished(r) || (match != nil && !match(r)) {
			return false
		}
		if !retry && (r.Class == ClassTerminal || r.Class == ClassNeedsChange || r.NextAt.After(p.e.Clock.Now())) {
			return false
		}
		p.schedule(r, priority)
		return true
	}
	return p.e.eachRow(ctx, p.env.Name, func(r *Row) error {
		if planned := p.rows[r.ID]; planned != nil {
			r = planned
		}
		p.set(r, ask)
		return nil
	})
}

// runnable reports whether a row may be scheduled at all.
func runnable(r *Row) bool {
	return !r.Orphaned && r.Compliance != Undefined && r.Blocked != BlockedYes && r.Blocked != NeedsPerson
}

// unfinished reports whether a row is not as its intent wants, as far as is known.
func unfinished(r *Row) bool {
	return !asWanted(r)
}
