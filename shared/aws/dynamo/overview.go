package dynamo

import (
	"context"
	"slices"

	"southbound/shared/deploy"
)

// Overview implements deploy.Overviewer: the head, all records, and the head again, and those
// pieces of lanes that hold something that is scheduled. What follows from a commit is in the
// outbox or scheduled by a planner, who changes the head: it is in what was read, or that is read
// anew.
//
// A query is not a snapshot, though: a commit may move an entry of the outbox from a record that is
// read after it to one that was read before, and a piece may be newer than the record that named
// it. Both make something vanish that is still to be done. So where nothing seems to be left, the
// records are read once more: if none has changed, all of them were so at the moment between.
func (s *rows) Overview(ctx context.Context, env string) (out deploy.Overview, err error) {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return out, err
	}
	err = s.contend(ctx, func() error {
		var recs []*record
		var err error
		if out, recs, err = s.overview(ctx, env, before); err != nil {
			return err
		}
		still := true
		if idle(&out) {
			if still, err = s.stillSo(ctx, env, recs); err != nil {
				return err
			}
		}
		after, err := s.readHead(ctx, env)
		if err != nil || still && after.plannedAs(before) {
			return err
		}
		before = after
		return errLost
	})
	return out, err
}

// stillSo reports whether the records are as they were read. Leases may have been renewed.
func (s *rows) stillSo(ctx context.Context, env string, recs []*record) (bool, error) {
	again, err := s.readRecords(ctx, env)
	return slices.EqualFunc(recs, again, func(a, b *record) bool {
		return a.key == b.key && a.seq == b.seq
	}), err
}

// overview reads everything once, and returns the records that it is of.
func (s *rows) overview(
	ctx context.Context, env string, h *head,
) (out deploy.Overview, recs []*record, err error) {
	if out.Env, err = h.env(); err != nil {
		return out, nil, err
	}
	if recs, err = s.readRecords(ctx, env); err != nil {
		return out, nil, err
	}
	sched, err := s.scheduleIn(ctx, env, h, recs, nil)
	if err != nil {
		return out, nil, err
	}
	out.Schedule = sched.Schedule
	if out.Leases, err = s.leasesIn(ctx, recs); err != nil {
		return out, nil, err
	}
	out.Counts, out.Paused = countsIn(recs), map[string]bool{}
	for _, name := range h.paused {
		out.Paused[name] = true
	}
	for _, rec := range recs {
		out.Outbox += rec.outbox
	}
	return out, recs, nil
}

// idle reports whether an overview says that nothing is left to do.
func idle(o *deploy.Overview) bool {
	return o.Outbox == 0 && len(o.Schedule.Tickets)+len(o.Schedule.Unfinished) == 0
}
