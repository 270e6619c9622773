package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// notifyPlanned notifies the agents of rows that one commit scheduled. It leaves out a row that
// requires another of these rows: the worker that finishes the requirement notifies its agent. If
// all is set, another writer has changed some of the rows, and every agent is notified.
func (p *planning) notifyPlanned(ctx context.Context, rows []state.Row, all bool) {
	agents, planned := map[string]bool{}, make(map[resource.ID]bool, len(rows))
	sizes := map[string]int{}
	for i := range rows {
		if rows[i].Ticket() != 0 {
			planned[rows[i].ID] = true
			sizes[rows[i].Agent]++
		}
	}
	g, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil || all {
		g = version.EmptyGraph()
	}
	for i := range rows {
		r := &rows[i]
		if r.Ticket() == 0 || agents[r.Agent] {
			continue
		}
		isPlanned := func(q int32) bool { return planned[g.IDs[q]] }
		if n := g.Node(r.ID); n < 0 || !slices.ContainsFunc(g.Requires(n), isPlanned) {
			agents[r.Agent] = true
		}
	}
	notices := state.NoticesOf(slices.Sorted(maps.Keys(agents)))
	for i := range notices {
		notices[i].Size = sizes[notices[i].Agent]
	}
	p.pl.Client.Notify(ctx, p.env.Name, notices)
}

// notifyWave notifies every agent in which a wave may start. Other agents are notified when their
// requirements have been checked.
func (p *planning) notifyWave(ctx context.Context) {
	g, err := p.pl.Graphs.Get(ctx, p.env.Graph)
	if err != nil {
		return // a sweep finds the agents
	}
	agents, checked := map[string]bool{}, func(q int32) bool { return !g.Removing[q] }
	for n := range int32(len(g.IDs)) { // see Node
		if !slices.ContainsFunc(g.Requires(n), checked) {
			agents[g.Agent(n)] = true
		}
	}
	p.notifyAgents(ctx, agents)
}
