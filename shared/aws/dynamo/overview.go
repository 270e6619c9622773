package dynamo

import (
	"context"

	"southbound/shared/deploy"
)

var _ deploy.Overviewer = (*State)(nil)

// Overview implements deploy.Overviewer: the head, all records, and the head again, and those pieces of lanes that hold something that is scheduled. What
// follows from a commit is in the outbox or scheduled by a planner, who changes the head: it is in what was read, or that is read anew.
func (s *State) Overview(ctx context.Context, env string) (deploy.Overview, error) {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return deploy.Overview{}, err
	}
	for {
		out, err := s.overview(ctx, env, before)
		if err != nil {
			return out, err
		}
		after, err := s.readHead(ctx, env)
		if err != nil || after.plannedAs(before) {
			return out, err
		}
		before = after
	}
}

func (s *State) overview(ctx context.Context, env string, h *head) (out deploy.Overview, err error) {
	if out.Env, err = h.env(); err != nil {
		return out, err
	}
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return out, err
	}
	if out.Schedule, _, err = s.scheduleIn(ctx, env, h, recs, nil); err != nil {
		return out, err
	}
	if out.Leases, err = s.leasesIn(ctx, recs); err != nil {
		return out, err
	}
	out.Counts, out.Paused = countsIn(recs), map[string]bool{}
	for _, name := range h.paused {
		out.Paused[name] = true
	}
	for _, rec := range recs {
		out.Outbox += rec.outbox
	}
	return out, nil
}
