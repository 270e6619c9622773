package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Request says which of the released resources work is asked for.
type Request struct {
	Filter Filter
	// RetryFailed includes resources that wait for their backoff, and those whose failure waits for a new intent or a person.
	RetryFailed bool
}

// Deploy schedules the matching resources that are not deployed as wanted, and returns how many these are.
func (e *Engine) Deploy(ctx context.Context, env string, req Request) (int, error) {
	n := 0
	err := e.plan(ctx, env, func(p *planner) error {
		graph, err := e.graph(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		err = p.scheduleUnfinished(ctx, PriorityUserDeploy, req.RetryFailed, req.Filter.Match)
		if err != nil {
			return err
		}
		if req.RetryFailed && req.Filter.ID != "" {
			if err := p.decided(ctx, req.Filter); err != nil {
				return err
			}
		}
		n = len(p.order)
		p.orderBy(graph)
		return p.commit(ctx, true)
	})
	return n, err
}

// decided takes a request as a person's decision that the matching creates whose outcome is not known may be begun anew.
func (p *planner) decided(ctx context.Context, f Filter) error {
	return p.e.eachRow(ctx, p.env.Name, func(r *Row) error {
		if r.Blocked == NeedsPerson && !r.Orphaned && f.Match(r) {
			p.set(r, func(r *Row) bool {
				r.Blocked, r.Creating = NotBlocked, ""
				p.schedule(r, PriorityUserDeploy)
				return true
			})
		}
		return nil
	})
}

// Repair schedules all matching resources to be checked against reality, and returns how many these are.
func (e *Engine) Repair(ctx context.Context, env string, req Request) (int, error) {
	n := 0
	err := e.plan(ctx, env, func(p *planner) error {
		graph, err := e.graph(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		if req.Filter.Empty() {
			p.startWave(PriorityUserRepair, false)
			n = len(graph.IDs)
			return p.commitAll(ctx)
		}
		err = e.eachRow(ctx, env, func(r *Row) error {
			if runnable(r) && req.Filter.Match(r) {
				p.set(r, func(r *Row) bool {
					if !runnable(r) {
						return false
					}
					p.schedule(r, PriorityUserRepair)
					return true
				})
			}
			return nil
		})
		n = len(p.order)
		p.orderBy(graph)
		if err != nil {
			return err
		}
		return p.commit(ctx, true)
	})
	return n, err
}

// Pause stops claims for agents, or lets them go on. What runs is finished, and what is scheduled stays scheduled.
func (e *Engine) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := e.State.Pause(ctx, env, paused, agents...); err != nil {
		return fault.Wrap(fault.Unknown, "pause", err)
	}
	if paused {
		return nil
	}
	return e.ringWork(ctx, env)
}

// Halt stops all claims of an environment, or lets them go on. Agents that were paused stay paused.
func (e *Engine) Halt(ctx context.Context, env string, halted bool) error {
	if err := e.State.Halt(ctx, env, halted); err != nil {
		return fault.Wrap(fault.Unknown, "halt", err)
	}
	if halted {
		return nil
	}
	return e.ringWork(ctx, env)
}

// WorkLanes returns the lanes in which something is scheduled, sorted.
func (e *Engine) WorkLanes(ctx context.Context, env string) ([]string, error) {
	s, err := e.State.Schedule(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	var lanes []string
	for _, t := range s.Tickets {
		lanes = append(lanes, t.Lane)
	}
	for lane := range s.Unfinished {
		lanes = append(lanes, lane)
	}
	slices.Sort(lanes)
	return slices.Compact(lanes), nil
}

// ringWork rings every lane in which something is scheduled.
func (e *Engine) ringWork(ctx context.Context, env string) error {
	lanes, err := e.WorkLanes(ctx, env)
	if err != nil {
		return err
	}
	e.ring(ctx, env, RingsOf(lanes))
	return nil
}

// SetParameters stores parameters. Resources that were undefined for want of them get their intent and are scheduled.
func (e *Engine) SetParameters(ctx context.Context, env string, ps ...Parameter) error {
	for i := range ps {
		if ps[i].Name == "" {
			return fault.New(fault.Invalid, "set parameter", "a parameter needs a name")
		}
		ps[i].Updated = e.Clock.Now()
	}
	return e.changeParameters(ctx, env, func(p *planner) { p.store.set = ps })
}

// DeleteParameters removes parameters and facts. What was deployed with their values stays as it is until the next export.
func (e *Engine) DeleteParameters(ctx context.Context, env string, keys ...ParameterKey) error {
	return e.changeParameters(ctx, env, func(p *planner) { p.store.unset = keys })
}

func (e *Engine) changeParameters(ctx context.Context, env string, change func(p *planner)) error {
	return e.plan(ctx, env, func(p *planner) error {
		change(p)
		p.env.Fingerprint = ""
		if err := p.resolveAgain(ctx); err != nil {
			return err
		}
		return p.commit(ctx, true)
	})
}

// settleOutbox does what outbox entries ask for and removes them.
func (e *Engine) settleOutbox(ctx context.Context, env string, entries []Outbox) error {
	return e.plan(ctx, env, func(p *planner) error {
		graph, err := e.graph(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		resolve := false
		for i := range entries {
			p.drop = append(p.drop, entries[i].ID)
			if entries[i].Kind == OutboxFact {
				resolve = true
			}
		}
		if err := p.wakeDependants(ctx, graph, entries); err != nil {
			return err
		}
		if err := p.lookAgain(ctx, entries); err != nil {
			return err
		}
		if resolve {
			if err := p.resolveAgain(ctx); err != nil {
				return err
			}
		}
		p.orderBy(graph)
		return p.commit(ctx, true)
	})
}

// wakeDependants schedules direct dependants: skipped ones if what they require has recovered, and those that hear its changes if it has
// sent an event.
func (p *planner) wakeDependants(ctx context.Context, g *Graph, entries []Outbox) error {
	type wake struct {
		events    []Outbox // entries of kind OutboxEvent
		recovered bool
		priority  Priority
	}
	wakes, senders := map[resource.ID]wake{}, map[resource.ID]bool{}
	var ids []resource.ID
	for _, entry := range entries {
		n := g.Node(entry.Of)
		if n < 0 || entry.Kind == OutboxFact || entry.Kind == OutboxAgain {
			continue
		}
		for _, d := range g.Dependants(n) {
			id := g.IDs[d]
			w, seen := wakes[id]
			if !seen {
				ids = append(ids, id)
				w.priority = entry.Priority
			}
			if entry.Kind == OutboxEvent {
				w.events, senders[entry.Of] = append(w.events, entry), true
			}
			w.recovered = w.recovered || entry.Kind == OutboxRecovered
			w.priority = min(w.priority, entry.Priority)
			wakes[id] = w
		}
	}
	for _, id := range ids {
		delete(senders, id) // read as one of these
	}
	rows, err := p.load(ctx, slices.Concat(ids, slices.Sorted(maps.Keys(senders))))
	if err != nil {
		return err
	}
	for _, id := range ids {
		row := rows[id]
		if row == nil {
			continue
		}
		w := wakes[id]
		p.set(row, func(row *Row) bool {
			// One that has run since, most often in the same batch, need not run again.
			told := runnable(row) && slices.ContainsFunc(w.events, func(entry Outbox) bool {
				return !row.SucceededAt.After(entry.At) && hears(row, rows[entry.Of])
			})
			// One that is scheduled may be about to be skipped, by a worker that read its requirements too early.
			told = told || w.recovered && (row.Ticket != 0 || row.Checked < p.env.Wave.Epoch && runnable(row))
			if !told && row.Blocked != BlockedTemp || row.Orphaned {
				return false
			}
			if row.Blocked == BlockedTemp {
				row.Blocked = NotBlocked
			}
			p.schedule(row, max(w.priority, PriorityUserDeploy))
			return true
		})
	}
	return nil
}

// lookAgain schedules resources that had a run overtaken by another. Their listeners are told, and their facts are read again.
func (p *planner) lookAgain(ctx context.Context, entries []Outbox) error {
	priority := map[resource.ID]Priority{}
	for i := range entries {
		if entries[i].Kind == OutboxAgain {
			priority[entries[i].Of] = max(entries[i].Priority, PriorityUserDeploy)
		}
	}
	rows, err := p.load(ctx, slices.Sorted(maps.Keys(priority)))
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		row := rows[id]
		if planned := p.rows[id]; planned != nil {
			row = planned
		}
		_, facts := provider.As[provider.FactReader](p.e.Handlers[id.Type()])
		p.set(row, func(row *Row) bool {
			if row.Orphaned {
				return false
			}
			row.Unsure, row.WantFacts = row.Unsure || sendsEvents(row), row.WantFacts || facts
			if runnable(row) {
				p.schedule(row, priority[id])
			}
			return true
		})
	}
	return nil
}

// hears reports whether a resource is told of the changes of a requirement; of is nil if the row of that is gone.
func hears(row, of *Row) bool {
	res, err := resource.Decode(row.Body)
	return err == nil && res.ReceiveEvents && (of == nil || toldBy(res, of))
}
