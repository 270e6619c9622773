package planner

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/provider"
	"southbound/shared/schema"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Config is what a planner works with.
type Config struct {
	*state.Client
	Files     state.Files
	Secrets   state.Secrets
	Graphs    *version.Graphs
	Contents  *Contents
	Checker   *model.Checker
	Runs      *run.Runner
	Types     *schema.Registry
	Handlers  map[string]provider.Handler // by type name
	Pack      string                      // digest of the handlers, recorded with every version
	NewID     func() string               // unique, and greater than those made before
	ChunkSize int                         // about how many resources are in a chunk of a version
	SweepSize int                         // entries of the outbox, and retries, that one sweep takes on
	// Owned and Keep may be nil; see deploy.Config.
	Owned func(ctx context.Context, env string, sets []string) ([]string, error)
	Keep  func(ctx context.Context) ([]string, error)
}

// Planner stores versions and changes what is scheduled, for any environment. It keeps nothing
// between calls.
//
// Large: it is the facade of the package: one method for each request. The work is done by what has
// the lease, planning and the types that embed it.
type Planner struct{ Config }

// New returns a planner.
func New(c Config) *Planner { return &Planner{c} }

// planning changes what is scheduled in one environment. It holds the lease "plan", so there is one
// at a time; only that of a Draft has none. Workers go on meanwhile: rows that they change before
// they are written here are planned again. See docs/design/engine.md.
type planning struct {
	pl      *Planner
	env     state.Env
	was     state.Env // env as it is stored
	lease   state.Lease
	dry     bool           // nothing is stored: it is a Draft
	commits int64          // number of commits made so far
	changes                // of rows
	graph   *version.Graph // the graph that will be in force
	add     []state.Outbox // outbox entries that follow from the plan
	drop    []string       // outbox entries that are done by the plan
	store   writes
	// mending says that what is stored may be lost, so that all of it is compared; rebuilt stands
	// for a graph that is.
	mending bool
	rebuilt *version.Graph
}

// changes are the rows that are planned.
type changes struct {
	rows  map[resource.ID]*state.Row // to be written
	order []resource.ID              // ids of rows, requirements first
	// reapply makes the planned change again, on a row that somebody else has changed meanwhile.
	reapply map[resource.ID]func(*state.Row) bool
	whole   map[resource.ID]bool      // rows that reapply makes anew if they are gone
	before  map[resource.ID]state.Row // the planned rows as they are stored
}

// newChanges returns no changes.
func newChanges() changes {
	return changes{
		rows:    map[resource.ID]*state.Row{},
		reapply: map[resource.ID]func(*state.Row) bool{},
		whole:   map[resource.ID]bool{},
		before:  map[resource.ID]state.Row{},
	}
}

// writes is what is written with the rows.
type writes struct {
	version *state.Version
	forget  []int // versions
	agents  []resource.Agent
	goodbye []string // agents to remove
	set     []state.Parameter
	unset   []state.ParameterKey
}

// planLease is how long the lease of a planner outlasts its last write; see state.LeaseMargin.
const planLease = 60 * time.Second

// plan runs f as the one planner of env. A release that a crash cut short is finished first.
func (pl *Planner) plan(ctx context.Context, env string, f func(p *planning) error) error {
	return pl.planMending(ctx, env, false, f)
}

// planMending is plan where f may make anew what is lost, so that it is not an error that a release
// cannot be finished for that reason.
func (pl *Planner) planMending(
	ctx context.Context,
	env string,
	mending bool,
	f func(p *planning) error,
) error {
	lease, err := pl.Client.Acquire(ctx, env, state.PlanKey, planLease)
	if err != nil {
		return err
	}
	defer pl.Client.Release(ctx, env, lease)
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	p := &planning{pl: pl, env: stored, was: stored, lease: lease}
	p.reset()
	if stored.Releasing != 0 {
		if err := (&releasing{p}).resumeRelease(ctx); err != nil &&
			!(mending && state.Unreadable(err)) {
			return fault.Wrap(fault.Unknown, "finish interrupted release", err)
		}
	}
	p.mending = mending
	return f(p)
}

// reset forgets what was planned.
func (p *planning) reset() {
	p.changes, p.store, p.add, p.drop = newChanges(), writes{}, nil, nil
}

// set changes a row by f, which reports whether there is anything to write. It remembers f, even if
// there is nothing to write now: if somebody else has changed the row meanwhile, f is applied to it
// again, and then there may be.
func (p *changes) set(row *state.Row, f func(*state.Row) bool) {
	was := *row
	changed := f(row)
	if before := p.reapply[row.ID]; before != nil {
		p.reapply[row.ID] = func(r *state.Row) bool {
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
	if was.Rev > 0 { // a new row is written in any case, and there may be very many
		p.before[row.ID] = was
	}
}

// ticket returns the ticket of all that the next commit schedules: greater than those of all
// commits before it.
func (p *planning) ticket() int64 { return p.lease.Fence<<20 | p.commits }

// schedule gives a row a ticket.
func (p *planning) schedule(r *state.Row, priority state.Priority) {
	if r.Ticket == 0 || priority < r.Priority {
		r.Priority = priority
	}
	r.Ticket = p.ticket()
	r.NextAt = time.Time{}
}

// What a commit of a planner means for the schedule. If it changes, whoever has read it has to read
// it again before anything starts.
const (
	scheduleChanges = true
	scheduleStays   = false
)

// commit writes what was planned, together with the environment, and notifies the lanes that got
// work. Rows that a worker has changed meanwhile are planned again, until all are written. plan is
// scheduleChanges or scheduleStays.
func (p *planning) commit(ctx context.Context, plan bool) error {
	s := &p.store
	if p.nothing() {
		return nil
	}
	c := state.Commit{
		Guard:          state.Guard{Key: p.lease.Key, Fence: p.lease.Fence},
		Plan:           plan,
		DropOutbox:     p.drop,
		Env:            &p.env,
		AddOutbox:      p.add,
		Version:        s.version,
		Forget:         s.forget,
		Agents:         s.agents,
		DropAgents:     s.goodbye,
		Parameters:     s.set,
		DropParameters: s.unset,
	}
	if len(p.order) > 0 {
		c.Rows = make([]state.Row, 0, len(p.order))
	}
	for _, id := range p.order {
		if row, was := p.rows[id], p.before[id]; toWrite(row, &was) {
			c.Rows = append(c.Rows, *row)
			p.rows[id] = &c.Rows[len(c.Rows)-1] // nothing holds the copied one any more: there may be very many
		}
	}
	rows, conflicts := c.Rows, false
	for {
		now := p.pl.Clock.Now()
		c.Until = now.Add(planLease)
		done, err := p.write(ctx, c)
		if err != nil {
			return err
		}
		if c.Env != nil { // while the lease lasts, nobody else writes it except through Pause and Halt
			p.env.Rev, p.env.PlanSeq = p.env.Rev+1, done.PlanSeq
			p.was = p.env
		}
		drop := c.DropOutbox
		c = state.Commit{Guard: c.Guard, Plan: plan}
		if len(done.Conflicts) > 0 {
			c.DropOutbox = drop // they are still there
		}
		for i := range done.Conflicts {
			conflicts = true
			row := &done.Conflicts[i]
			if row.Rev == 0 && !p.whole[row.ID] {
				continue // it is gone, and with it what was to be done
			}
			was := *row
			if again := p.reapply[row.ID]; again(row) && toWrite(row, &was) {
				c.Rows = append(c.Rows, *row)
			}
		}
		if len(c.Rows)+len(c.DropOutbox) == 0 {
			break
		}
	}
	p.reset()
	p.notifyPlanned(ctx, rows, conflicts)
	return nil
}

// nothing reports whether nothing was planned that has to be written.
func (p *planning) nothing() bool {
	s := &p.store
	n := len(p.order) + len(p.drop) + len(s.forget) + len(s.agents) + len(s.set) + len(s.unset) + len(s.goodbye)
	return n == 0 && s.version == nil && p.env == p.was
}

// toWrite reports whether a planned row has to be written: not if it was changed and changed back.
func toWrite(row, was *state.Row) bool { return row.Rev == 0 || !row.Same(was) }

// write makes a commit, trying again while the store is unavailable. It recognises a commit that
// took effect although its answer was lost.
func (p *planning) write(ctx context.Context, c state.Commit) (state.Committed, error) {
	var done state.Committed
	want := state.Env{}
	if c.Env != nil {
		want = *c.Env
	}
	lost := false
	err := p.pl.Client.Retry(ctx, func() error {
		var err error
		if lost && c.Env != nil {
			now, err := p.pl.State.Env(ctx, want.Name)
			if err != nil {
				return err
			}
			if now.Rev == want.Rev+1 {
				c.Env, c.Version = nil, nil // our own write, as only the holder of the lease writes it
			}
		}
		done, err = p.pl.State.Commit(ctx, p.env.Name, c)
		lost = lost || err != nil
		return err
	})
	if err != nil {
		return done, fault.Wrap(fault.Unknown, "write plan", err)
	}
	p.commits++
	if lost {
		done.Conflicts = slices.DeleteFunc(
			done.Conflicts,
			func(r state.Row) bool { return p.sameAsPlanned(c.Rows, r) },
		)
	}
	return done, nil
}

// sameAsPlanned reports whether a conflicting row is what this planner has written itself. What a
// worker has written differs at least in its last action.
func (p *planning) sameAsPlanned(rows []state.Row, now state.Row) bool {
	for i := range rows {
		if rows[i].ID == now.ID {
			if rows[i].Gone {
				return now.Rev == 0
			}
			return rows[i].WrittenAs(&now)
		}
	}
	return false
}

func (p *planning) notifyLanes(ctx context.Context, lanes map[string]bool) {
	p.pl.Client.Notify(ctx, p.env.Name, state.NoticesOf(slices.Sorted(maps.Keys(lanes))))
}

// load returns rows by id.
func (p *planning) load(
	ctx context.Context,
	ids []resource.ID,
) (map[resource.ID]*state.Row, error) {
	return p.pl.Client.Rows(ctx, p.env.Name, ids)
}

// startWave plans a wave, which asks for everything to be checked.
func (p *planning) startWave(priority state.Priority, keepTerminal bool) {
	p.env.Wave = state.Wave{
		Epoch:        p.env.Wave.Epoch + 1,
		Priority:     priority,
		At:           p.pl.Clock.Now(),
		KeepTerminal: keepTerminal,
	}
}

// scheduleUnfinished schedules the rows that are not deployed as wanted, may run, and match (nil:
// all). retry includes those that wait for their backoff, and those whose failure waits for a
// person or a new intent.
func (p *planning) scheduleUnfinished(
	ctx context.Context,
	priority state.Priority,
	retry bool,
	match func(*state.Row) bool,
) error {
	leases, err := p.pl.State.Leases(ctx, p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read leases", err)
	}
	running, now := map[resource.ID]string{}, p.pl.Clock.Now()
	for i := range leases {
		for _, id := range leases[i].Running {
			if now.Before(leases[i].Until) {
				running[id] = leases[i].Key
			}
		}
	}
	ask := func(r *state.Row) bool {
		if !r.Runnable() || !r.Unfinished() || (match != nil && !match(r)) ||
			running[r.ID] == r.Lane {
			return false // what runs does just what is asked for
		}
		if !retry && (!state.Retried(r.Class) || r.NextAt.After(p.pl.Clock.Now())) {
			return false
		}
		if r.Ticket == 0 {
			p.schedule(r, priority)
			return true
		}
		// It is asked for already, and may be claimed by now: a new ticket would ask for another
		// run.
		higher := priority < r.Priority
		r.Priority = min(r.Priority, priority)
		return higher
	}
	return p.pl.Client.EachRow(ctx, p.env.Name, func(r *state.Row) error {
		if planned := p.rows[r.ID]; planned != nil {
			r = planned
		}
		p.set(r, ask)
		return nil
	})
}
