package dynamo

import (
	"context"

	"southbound/shared/deploy"
)

var _ deploy.Overviewer = (*State)(nil)

// Overview implements deploy.Overviewer: the head, all records, and the head again, and those
// pieces of lanes that hold something that is scheduled. What follows from a commit is in the
// outbox or scheduled by a planner, who changes the head: it is in what was read, or that is read
// anew. A piece may be newer than the record that named it. It then says that what was scheduled is
// done, and of what follows from that the record knows nothing: where nothing seems to be left, all
// is read anew.
func (s *State) Overview(ctx context.Context, env string) (out deploy.Overview, err error) {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return out, err
	}
	err = s.contend(ctx, func() error {
		var newer bool
		var err error
		if out, newer, err = s.overview(ctx, env, before); err != nil {
			return err
		}
		after, err := s.readHead(ctx, env)
		if err != nil || after.plannedAs(before) && !(newer && idle(&out)) {
			return err
		}
		before = after
		return errLost
	})
	return out, err
}

// overview reads everything once; newer: some pieces may be newer than the records.
func (s *State) overview(
	ctx context.Context, env string, h *head,
) (out deploy.Overview, newer bool, err error) {
	if out.Env, err = h.env(); err != nil {
		return out, false, err
	}
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return out, false, err
	}
	sched, err := s.scheduleIn(ctx, env, h, recs, nil)
	if err != nil {
		return out, false, err
	}
	out.Schedule = sched.Schedule
	if out.Leases, err = s.leasesIn(ctx, recs); err != nil {
		return out, false, err
	}
	out.Counts, out.Paused = countsIn(recs), map[string]bool{}
	for _, name := range h.paused {
		out.Paused[name] = true
	}
	for _, rec := range recs {
		out.Outbox += rec.outbox
	}
	return out, sched.newer, nil
}

// idle reports whether an overview says that nothing is left to do.
func idle(o *deploy.Overview) bool {
	return o.Outbox == 0 && len(o.Schedule.Tickets)+len(o.Schedule.Unfinished) == 0
}
