package dynamo

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Look implements state.Looker. One read of the records gives both results.
func (s *rows) Look(
	ctx context.Context, env string, ids []resource.ID,
) ([]state.Row, map[state.Status]int, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	var out []state.Row
	err = s.eachIn(ctx, env, recs, ids, func(_ *image, r *state.Row) { out = append(out, *r) })
	return out, countsIn(recs), err
}

// Lane implements state.Looker. It reads the head, which holds the environment, with the agents.
// Then it reads the records, as Schedule does, and the rows of one record. A later claim fails if
// anything was planned after the head was read.
func (s *State) Lane(
	ctx context.Context, env, lane string, all func(state.Schedule, state.Env) bool,
) (state.Lane, error) {
	var out state.Lane
	agent := state.AgentOf(lane)
	h, agents, err := s.settledHead(ctx, env)
	if err != nil {
		return out, err
	}
	sched, h, err := s.leases.scheduled(ctx, env, h, []string{agent})
	if err != nil {
		return out, err
	}
	out.Schedule, out.Agent = sched.Schedule, agents[agent]
	if out.Env, err = h.env(); err != nil {
		return out, err
	}
	for _, rec := range sched.records {
		if rec.key == keyOf(lane) {
			out.Rows, err = s.leases.laneRows(ctx, env, rec, all(out.Schedule, out.Env))
		}
	}
	return out, err
}
