package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Progress is the state of work in an environment, as counters and names. It holds no rows.
type Progress struct {
	Env       state.Env
	Counts    map[state.Status]int
	Scheduled int            // tickets, and resources that a check of everything still has to check
	Left      map[string]int // Scheduled by agent; nil: not counted
	Running   []resource.ID  // resources that run now
	// Interrupted lists the resources that a worker was running when it ended, in agents that no
	// other worker has taken over yet.
	Interrupted []resource.ID
	Lanes       []string        // agents with work
	Paused      map[string]bool // paused agents
	Held        map[string]bool // agents that a worker serves now
	// Outbox is the number of pending entries in the outbox. At most 10 are counted.
	Outbox int
}

// Progress returns the counters of an environment.
func (e *Engine) Progress(ctx context.Context, env string) (Progress, error) {
	if o, ok := e.State.(Overviewer); ok {
		return e.overview(ctx, env, o)
	}
	var p Progress
	var err error
	if p.Env, err = e.State.Env(ctx, env); err != nil {
		return p, fault.Wrap(fault.Unknown, "read environment", err)
	}
	s, err := e.State.Schedule(ctx, env)
	if err != nil {
		return p, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	waiting := map[string]int{}
	for _, t := range s.Tickets {
		waiting[t.Agent]++
	}
	if err := e.countScheduled(ctx, s, waiting, &p); err != nil {
		return p, err
	}
	agents, err := e.State.Agents(ctx, env)
	if err != nil {
		return p, fault.Wrap(fault.Unknown, "read agents", err)
	}
	p.Paused = map[string]bool{}
	for name, a := range agents {
		if a.Paused {
			p.Paused[name] = true
		}
	}
	entries, err := e.State.Outbox(ctx, env, maxOutbox)
	p.Outbox = len(entries)
	if err != nil {
		return p, fault.Wrap(fault.Unknown, "read outbox", err)
	}
	// The counts are read last, so that they are final if no work is left.
	if p.Counts, err = e.State.Counts(ctx, env); err != nil {
		return p, fault.Wrap(fault.Unknown, "count resources", err)
	}
	return p, e.running(ctx, env, &p)
}

// Pulse returns only Counts, Held and Running of Progress. Its cost does not depend on the size of
// the environment.
func (e *Engine) Pulse(ctx context.Context, env string) (Progress, error) {
	var p Progress
	var err error
	if p.Counts, err = e.State.Counts(ctx, env); err != nil {
		return p, fault.Wrap(fault.Unknown, "count resources", err)
	}
	return p, e.running(ctx, env, &p)
}

// countScheduled fills in the scheduled work: tickets by agent, and additional resources that a
// check of everything requests.
func (e *Engine) countScheduled(
	ctx context.Context, s state.Schedule, waiting map[string]int, p *Progress,
) error {
	agents := map[string]bool{}
	p.Left = map[string]int{}
	for agent, n := range waiting {
		agents[agent] = true
		p.Left[agent] += n
		p.Scheduled += n
	}
	if len(s.Unfinished) > 0 {
		g, err := e.graphs.Get(ctx, s.Graph)
		if err != nil {
			return err
		}
		names := g.Agents().Names
		perAgent := make([]int, len(names))
		for n := range int32(len(g.IDs)) { // see Graph.Node
			if !g.Removing[n] {
				perAgent[g.AgentOf(n)]++
			}
		}
		for i, agent := range names {
			if checked, ok := s.Unfinished[agent]; ok {
				n := max(perAgent[i]-len(checked)-waiting[agent], 0)
				p.Scheduled += n
				p.Left[agent] += n
			}
		}
		for agent := range s.Unfinished {
			agents[agent] = true
		}
	}
	p.Lanes = slices.Sorted(maps.Keys(agents))
	return nil
}

// running fills in the running resources and the held agents.
func (e *Engine) running(ctx context.Context, env string, p *Progress) error {
	leases, err := e.State.Leases(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read leases", err)
	}
	e.held(leases, p)
	return nil
}

// held fills in the fields of Progress that derive from leases. Interrupted covers only the agents
// in p.Lanes.
func (e *Engine) held(leases []state.Lease, p *Progress) {
	p.Held = map[string]bool{}
	for i := range leases {
		switch l := &leases[i]; {
		case l.Key == state.PlanKey || l.Holder == "":
		case e.client().AtWork(l):
			p.Held[l.Key] = true
			p.Running = append(p.Running, l.Running...)
		case slices.Contains(p.Lanes, l.Key):
			p.Interrupted = append(p.Interrupted, l.Running...)
		}
	}
}

// Claimed holds the state of resources according to the leases.
type Claimed struct {
	Running map[resource.ID]bool // running now
	// Interrupted holds the resources that a worker was running when it ended, in agents that have
	// work and that no other worker has taken over yet. Some of these resources may have been
	// forgotten since.
	Interrupted map[resource.ID]bool
	Held        map[string]bool // agents that a worker serves now
}

// Claimed returns the state of an environment's resources according to the leases.
func (e *Engine) Claimed(ctx context.Context, env string) (Claimed, error) {
	c := Claimed{Running: map[resource.ID]bool{}, Interrupted: map[resource.ID]bool{},
		Held: map[string]bool{}}
	leases, err := e.State.Leases(ctx, env)
	if err != nil {
		return c, fault.Wrap(fault.Unknown, "read leases", err)
	}
	ended := map[string][]resource.ID{} // by agent
	for i := range leases {
		switch l := &leases[i]; {
		case l.Key == state.PlanKey:
		case !e.client().AtWork(l):
			if len(l.Running) > 0 {
				ended[l.Key] = l.Running
			}
		default:
			c.Held[l.Key] = true
			for _, id := range l.Running {
				c.Running[id] = true
			}
		}
	}
	return c, e.interrupted(ctx, env, ended, &c)
}

// interrupted fills in Claimed.Interrupted from ended, which holds the interrupted resources by
// agent. It reads the schedule only if there are any, which is rare.
func (e *Engine) interrupted(
	ctx context.Context, env string, ended map[string][]resource.ID, c *Claimed,
) error {
	if len(ended) == 0 {
		return nil
	}
	s, err := e.State.Schedule(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read schedule", err)
	}
	busy := map[string]bool{}
	for _, t := range s.Tickets {
		busy[t.Agent] = true
	}
	for agent := range s.Unfinished {
		busy[agent] = true
	}
	for agent, ids := range ended {
		for _, id := range ids {
			if busy[agent] {
				c.Interrupted[id] = true
			}
		}
	}
	return nil
}

// Done reports whether nothing is scheduled or under way.
func (p *Progress) Done() bool {
	return p.Scheduled == 0 && p.Outbox == 0 && len(p.Lanes) == 0 && p.Env.Releasing == 0
}

// Known reports whether the released version was made from inputs with this fingerprint, so that
// another export of them would change nothing. It also returns the result that such an export would
// have. declarations are the hashes of the files by which the caller declares types: if the version
// has one that is no longer stored, Known returns false, since an export stores it again. Without
// declarations, Known sends no request for them.
func (e *Engine) Known(
	ctx context.Context, env, fingerprint string, declarations []string,
) (planner.Exported, bool, error) {
	state, err := e.State.Env(ctx, env)
	if err != nil {
		return planner.Exported{}, false, fault.Wrap(fault.Unknown, "read environment", err)
	}
	if fingerprint == "" || state.Fingerprint != fingerprint || state.Released == 0 ||
		state.Released != state.Last || state.Releasing != 0 {
		return planner.Exported{}, false, nil
	}
	if !e.planner().Intact(ctx, state) {
		return planner.Exported{}, false, nil
	}
	vs, err := e.State.Versions(ctx, env, state.Released)
	if err != nil || len(vs) == 0 {
		return planner.Exported{}, false, fault.Wrap(fault.Unknown, "read version", err)
	}
	lost, err := e.planner().LostDeclarations(ctx, &vs[0], declarations)
	if err != nil || lost {
		return planner.Exported{}, false, err
	}
	return planner.Exported{Version: state.Released, Resources: vs[0].Resources,
		Unchanged: vs[0].Resources, Origin: vs[0].Origin}, true, nil
}

// Row returns one resource. It returns NotFound if there is no resource with that id.
func (e *Engine) Row(ctx context.Context, env string, id resource.ID) (state.Row, error) {
	rows, err := e.client().Rows(ctx, env, []resource.ID{id})
	if err != nil {
		return state.Row{}, err
	}
	if rows[id] == nil {
		return state.Row{}, fault.New(fault.NotFound, "read resource", "there is no resource %s",
			id).WithHint("`southbound resources` lists them")
	}
	return *rows[id], nil
}

// EachRow calls f for every resource that matches, in order of id, until f returns an error. Of named
// sets it reads only the rows of these sets, if the state has an index.
func (e *Engine) EachRow(
	ctx context.Context, env string, filter state.Filter, f func(*state.Row) error,
) error {
	match := func(r *state.Row) error {
		if !filter.Match(r) {
			return nil
		}
		return f(r)
	}
	if filter.OfNamed() {
		return e.client().EachFound(ctx, env, state.Filter{Sets: filter.Sets}, match)
	}
	return e.client().EachRow(ctx, env, match)
}

// FindRows returns a page of the rows that match.
func (e *Engine) FindRows(
	ctx context.Context, env string, q state.RowQuery,
) (state.RowPage, error) {
	return e.client().FindRows(ctx, env, q)
}

// Tally returns the number of resources by agent, type and status, from counters. None is deploying,
// since leases record which resources run.
func (e *Engine) Tally(ctx context.Context, env string) ([]state.Tally, error) {
	return e.client().Tally(ctx, env)
}

// EachWith calls f for every resource that has one of the statuses, in order of id for each status,
// until f returns an error.
func (e *Engine) EachWith(
	ctx context.Context, env string, statuses []state.Status, f func(*state.Row) error,
) error {
	return e.client().EachWith(ctx, env, statuses, f)
}

// Neighbours returns the direct requirements and the direct dependants of a resource, according to
// the graph in force.
func (e *Engine) Neighbours(
	ctx context.Context, env string, id resource.ID,
) (requires, dependants []resource.ID, err error) {
	g, err := e.Graph(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	n := g.Node(id)
	if n < 0 {
		return nil, nil, nil
	}
	for _, q := range g.Requires(n) {
		requires = append(requires, g.IDs[q])
	}
	for _, d := range g.Dependants(n) {
		dependants = append(dependants, g.IDs[d])
	}
	return requires, dependants, nil
}

// VersionsOf returns the environment and its versions up to the last one, in ascending order.
func (e *Engine) VersionsOf(ctx context.Context, env string) ([]state.Version, state.Env, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return nil, stored, fault.Wrap(fault.Unknown, "read environment", err)
	}
	vs, err := e.State.Versions(ctx, env)
	if err != nil {
		return nil, stored, fault.Wrap(fault.Unknown, "read versions", err)
	}
	return slices.DeleteFunc(vs, func(v state.Version) bool {
		return v.Number > stored.Last
	}), stored, nil
}

// Overview holds the inputs of Progress. Its parts may be from different times. But if it shows
// that no work is left, then no work was left at some instant.
type Overview struct {
	Env      state.Env
	Schedule state.Schedule // without Tickets
	Waiting  map[string]int // tickets, by agent
	Leases   []state.Lease
	Counts   map[state.Status]int
	Paused   map[string]bool // agents
	Outbox   int             // entries
}

// Overviewer may be implemented by a State that returns an Overview in fewer requests than separate
// reads.
type Overviewer interface {
	Overview(ctx context.Context, env string) (Overview, error)
}

// maxOutbox is the maximum number of outbox entries that Progress counts.
const maxOutbox = 10

// overview returns the Progress of a state that implements Overviewer.
func (e *Engine) overview(ctx context.Context, env string, from Overviewer) (Progress, error) {
	o, err := from.Overview(ctx, env)
	if err != nil {
		return Progress{}, fault.Wrap(fault.Unknown, "read environment", err)
	}
	p := Progress{Env: o.Env, Counts: o.Counts, Paused: o.Paused, Outbox: min(o.Outbox, maxOutbox)}
	if err := e.countScheduled(ctx, o.Schedule, o.Waiting, &p); err != nil {
		return p, err
	}
	e.held(o.Leases, &p)
	return p, nil
}
