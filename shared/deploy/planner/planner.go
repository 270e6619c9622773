package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Config holds the dependencies and limits of a planner.
//
// Large: it is the part of deploy.Config that planners need.
type Config struct {
	*state.Client
	Files     state.Files
	Secrets   state.Secrets
	Graphs    *version.Graphs
	Contents  *version.ContentsCache
	Checker   *model.Checker
	Runs      *run.Runner
	Types     *schema.Registry
	Handlers  map[string]provider.Handler // by type name
	Pack      string                      // digest of the handlers, recorded with every version
	NewID     func() string               // unique, and greater than those made before
	ChunkSize int                         // about how many resources are in a chunk of a version
	// the number of outbox entries, and of retries, that one sweep processes
	SweepSize int
	// Owned and Keep may be nil; see deploy.Config.
	Owned func(ctx context.Context, env string, sets []string) (live, gone []string, err error)
	Keep  func(ctx context.Context) ([]string, error)
	// Readable may be nil; see deploy.Config.
	Readable func(resource.Agent, resource.SecretSource) error
}

// Planner stores versions and changes the schedule of any environment. It keeps no state between
// calls.
//
// Large: it is the facade of the package: one method for each request. The holder of the lease does
// the work: planning and the types that embed it.
type Planner struct{ Config }

// New returns a planner.
func New(c Config) *Planner { return &Planner{c} }

// in returns the planner for one operation, which reads the declarations of types within ctx.
func (pl *Planner) in(ctx context.Context) *Planner {
	out := *pl
	out.Checker = pl.Checker.In(ctx)
	return &out
}

// planning changes the schedule of one environment. It holds the lease "plan", so there is one
// planning at a time; only that of a Draft has no lease. Workers run concurrently: if a worker
// changes a row before the planner writes it, the row is planned again. See
// docs/design/engine-today.md.
type planning struct {
	pl      *Planner
	env     state.Env
	was     state.Env // env as it is stored
	commits commits
	dry     bool           // nothing is stored: it is a Draft
	changes                // of rows
	graph   *version.Graph // the graph that will be in force
	add     []state.Outbox // outbox entries that follow from the plan
	drop    []string       // outbox entries that are done by the plan
	store   writes
	// repair means that stored data may be lost, so that all of it is compared. rowGraph replaces a
	// graph that is lost.
	repair   bool
	rowGraph *version.Graph
	// counts is the number of rows by status: only a planner makes rows undefined or blocked. nil:
	// not read yet.
	counts         map[state.Status]int
	pendingNotices pendingNotices
	held           map[string]bool // agents with rows that an interrupted release holds back
}

// writes is the data that a commit writes besides rows.
type writes struct {
	by         state.Origin // who releases, and the reason
	version    *state.Version
	forget     []int // versions
	agents     []resource.Agent
	dropAgents []string // agents to remove
	set        []state.Parameter
	unset      []state.ParameterKey
	dropKept   []resource.ID // ids whose kept states are removed
}

// newPlanning returns an empty plan for an environment.
func newPlanning(pl *Planner, env state.Env, c commits) *planning {
	p := &planning{pl: pl, env: env, was: env, commits: c}
	p.reset()
	return p
}

// reset discards the plan.
func (p *planning) reset() {
	p.changes, p.store, p.add, p.drop, p.counts = newChanges(), writes{}, nil, nil, nil
}

// apply applies an event to a row. If another writer has changed the row when it is written, the
// event is applied again.
func (p *planning) apply(row *state.Row, e step.Event) {
	p.set(row, func(row *state.Row) bool { return p.change(row, e) })
}

// change applies an event to a row once, and reports whether that changes the row.
func (p *planning) change(row *state.Row, e step.Event) bool {
	was := *row
	now, effects := step.Next(was, e)
	*row = now
	for _, effect := range effects {
		if s, is := effect.(step.Schedule); is {
			p.schedule(row, s)
		}
	}
	return len(effects) > 0 || !row.Same(&was)
}

// schedule gives a row the generation of the next commit.
func (p *planning) schedule(r *state.Row, s step.Schedule) {
	if r.Ticket() == 0 || s.Priority < r.Priority {
		r.Priority = s.Priority
	}
	if !s.Keep {
		r.Generation = p.commits.ticket()
	}
}

func (p *planning) notifyAgents(ctx context.Context, agents map[string]bool) {
	p.pl.Client.Notify(ctx, p.env.Name, state.NoticesOf(slices.Sorted(maps.Keys(agents))))
}

// load returns rows by id.
func (p *planning) load(
	ctx context.Context,
	ids []resource.ID,
) (map[resource.ID]*state.Row, error) {
	rows, counts, err := p.pl.Client.Look(ctx, p.env.Name, ids)
	if counts != nil {
		p.counts = counts
	}
	return rows, err
}

// lacking returns how many stored rows are undefined or blocked.
func lacking(ctx context.Context, p *planning) (int, error) {
	return countRows(ctx, p, state.StatusUndefined, state.StatusBlocked)
}

// countRows returns how many stored rows have one of some statuses.
func countRows(ctx context.Context, p *planning, of ...state.Status) (n int, err error) {
	if p.counts == nil {
		counts, err := p.pl.State.Counts(ctx, p.env.Name)
		if err != nil {
			return 0, fault.Wrap(fault.Unknown, "count resources", err)
		}
		p.counts = counts
	}
	for _, status := range of {
		n += p.counts[status]
	}
	return n, nil
}

// startWave plans a wave, which asks for a check of every resource.
func (p *planning) startWave(priority state.Priority, keepTerminal bool) {
	p.env.Wave = state.Wave{
		Epoch:        p.env.Wave.Epoch + 1,
		Priority:     priority,
		At:           p.pl.Clock.Now(),
		KeepTerminal: keepTerminal,
	}
}

// runningNow returns the running resources and the agents in which they were claimed.
func (p *planning) runningNow(ctx context.Context) (map[resource.ID]string, error) {
	leases, err := p.pl.State.Leases(ctx, p.env.Name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read leases", err)
	}
	running, now := map[resource.ID]string{}, p.pl.Clock.Now()
	for i := range leases {
		for _, id := range leases[i].Running {
			if now.Before(leases[i].Until) {
				running[id] = leases[i].Key
			}
		}
	}
	return running, nil
}

// scheduleUnfinished schedules the rows that are not deployed as wanted, may run, and match (nil:
// all). With retry, it includes rows that back off, and rows whose failure waits for a person or a
// new intent.
func (p *planning) scheduleUnfinished(
	ctx context.Context,
	priority state.Priority,
	retry bool,
	match func(*state.Row) bool,
) error {
	ask, err := p.unfinished(ctx, priority, retry, match)
	if err != nil {
		return err
	}
	return p.pl.Client.EachRow(ctx, p.env.Name, func(r *state.Row) error {
		if !r.AsWanted() || p.rows[r.ID] != nil {
			p.set(p.planned(r), ask)
		}
		return nil
	})
}

// retryRemovals schedules resources that have left the model and could not be purged so far. A wave
// checks only resources in the model.
func (p *planning) retryRemovals(ctx context.Context, priority state.Priority) error {
	graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil || !slices.Contains(graph.Removing, true) {
		return err
	}
	var ids []resource.ID
	for n, removing := range graph.Removing {
		if removing {
			ids = append(ids, graph.IDs[n])
		}
	}
	if err := retryRows(ctx, p, ids, priority, func(r *state.Row) bool {
		return r.Removing && r.Counts() && r.LastRun == state.RunFailed
	}); err != nil {
		return err
	}
	p.orderBy(graph)
	return nil
}

// retryRows schedules the rows of ids that are not as wanted and match (nil: all).
func retryRows(
	ctx context.Context, p *planning, ids []resource.ID, priority state.Priority,
	match func(*state.Row) bool,
) error {
	rows, err := p.load(ctx, ids)
	if err != nil {
		return err
	}
	ask, err := p.unfinished(ctx, priority, true, match)
	for _, id := range ids {
		if r := rows[id]; r != nil && err == nil {
			p.set(p.planned(r), ask)
		}
	}
	return err
}

// unfinished returns a function that schedules a row by the rules of scheduleUnfinished, and
// reports whether it did.
func (p *planning) unfinished(
	ctx context.Context,
	priority state.Priority,
	retry bool,
	match func(*state.Row) bool,
) (func(*state.Row) bool, error) {
	running, err := p.runningNow(ctx)
	if err != nil {
		return nil, err
	}
	e := step.Requested{Priority: priority, Retry: retry, Now: p.pl.Clock.Now()}
	return func(r *state.Row) bool {
		e := e
		e.Running = running[r.ID] == r.Agent
		return (match == nil || match(r)) && p.change(r, e)
	}, nil
}

// pendingNotices holds rows that were written without notices, since a release that is under way
// holds these back.
type pendingNotices struct {
	rows      []state.Row
	conflicts bool // another writer had changed some of them
}

func (u *pendingNotices) add(rows []state.Row, conflicts bool) {
	u.conflicts = u.conflicts || conflicts
	if len(u.rows) == 0 {
		u.rows = rows // there may be very many
		return
	}
	u.rows = append(u.rows, rows...)
}
