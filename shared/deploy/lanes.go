package deploy

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// WorkLanes returns the lanes in which something may start or a wave has to be ended, sorted. The
// others wait for these, and are rung by them.
func (e *Engine) WorkLanes(ctx context.Context, env string) ([]string, error) {
	s, err := e.State.Schedule(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read schedule", err)
	}
	lanes := map[string]bool{}
	for lane := range s.Unfinished {
		lanes[lane] = true
	}
	for _, t := range s.Tickets {
		lanes[t.Lane] = true
	}
	if len(lanes) > 1 {
		if err := e.dropWaiting(ctx, env, s, lanes); err != nil {
			return nil, err
		}
	}
	return slices.Sorted(maps.Keys(lanes)), nil
}

// dropWaiting drops from lanes with work those in which all that is scheduled waits for others.
// While a release is under way it drops none, as rows may not be where the graph says.
func (e *Engine) dropWaiting(
	ctx context.Context, env string, s state.Schedule, lanes map[string]bool,
) error {
	state, err := e.State.Env(ctx, env)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read environment", err)
	}
	if state.Releasing != 0 {
		return nil
	}
	g, err := e.graphs.Get(ctx, s.Graph)
	if err != nil {
		return err
	}
	scheduled, laneOf := make([]bool, len(g.IDs)), map[int32]string{}
	starts := map[string]bool{}
	for _, t := range s.Tickets {
		if n := g.Node(t.ID); n >= 0 {
			scheduled[n], laneOf[n] = true, t.Lane
		} else {
			starts[t.Lane] = true
		}
	}
	w := wavesOf(s, false)
	for n := range int32(len(g.IDs)) { //nolint:gosec // see Node
		if asks, _ := w.ask(g, n); asks && !scheduled[n] {
			scheduled[n], laneOf[n] = true, g.Lane(n)
		}
	}
	f := newFrontier(g, scheduled)
	waits := map[string]bool{}
	for n, lane := range laneOf {
		if waits[lane] = true; f.ready(n) {
			starts[lane] = true
		}
	}
	maps.DeleteFunc(lanes, func(lane string, _ bool) bool { return waits[lane] && !starts[lane] })
	return nil
}

// ringPlanned rings the lanes of rows that were scheduled by one commit. One that requires another
// of them is left to whoever finishes that, unless all are to be rung, because others have changed
// some of the rows.
func (p *planner) ringPlanned(ctx context.Context, rows []state.Row, all bool) {
	lanes, planned := map[string]bool{}, make(map[resource.ID]bool, len(rows))
	sizes := map[string]int{}
	for i := range rows {
		if rows[i].Ticket != 0 {
			planned[rows[i].ID] = true
			sizes[rows[i].Lane]++
		}
	}
	g, err := p.e.graphs.Get(ctx, p.env.Graph)
	if err != nil || all {
		g = version.EmptyGraph()
	}
	for i := range rows {
		r := &rows[i]
		if r.Ticket == 0 || lanes[r.Lane] {
			continue
		}
		isPlanned := func(q int32) bool { return planned[g.IDs[q]] }
		if n := g.Node(r.ID); n < 0 || !slices.ContainsFunc(g.Requires(n), isPlanned) {
			lanes[r.Lane] = true
		}
	}
	rings := state.RingsOf(slices.Sorted(maps.Keys(lanes)))
	for i := range rings {
		rings[i].Size = sizes[rings[i].Lane]
	}
	p.e.ring(ctx, p.env.Name, rings)
}

// ringWave rings every lane in which a wave may start. The others are rung when what they wait for
// has been checked.
func (p *planner) ringWave(ctx context.Context) {
	g, err := p.e.graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return // a sweep finds the lanes
	}
	lanes, checked := map[string]bool{}, func(q int32) bool { return !g.Removing[q] }
	for n := range int32(len(g.IDs)) { //nolint:gosec // see Node
		if !slices.ContainsFunc(g.Requires(n), checked) {
			lanes[g.Lane(n)] = true
		}
	}
	p.ringLanes(ctx, lanes)
}
