package dynamo

import (
	"context"
	"slices"

	"southbound/shared/deploy"
)

// Overview implements deploy.Overviewer. It reads all records, the head, and the pieces of lanes
// that have not finished a wave. If there is work left, the lanes may be older than the head.
//
// The result "no work left" has to be true at some moment, and a query is not a snapshot. A commit
// may move an outbox entry from a record that is read after it to a record that was read before it.
// A piece may be newer than the record that named it. Both can hide remaining work. So Overview
// reads the records again: if none has changed, all of them were current when the head was read.
func (s *rows) Overview(ctx context.Context, env string) (out deploy.Overview, err error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return out, err
	}
	err = s.contend(ctx, func() error {
		if out, err = s.overview(ctx, env, recs); err != nil || !idle(&out) {
			return err
		}
		again, err := s.readRecords(ctx, env)
		if err != nil || slices.EqualFunc(recs, again, unchanged) {
			return err
		}
		recs = again
		return errLost
	})
	return out, err
}

// unchanged reports whether a record was not written between two reads.
func unchanged(a, b *record) bool { return a.key == b.key && a.seq == b.seq }

// overview reads the head, and computes the overview from records that were read before.
func (s *rows) overview(
	ctx context.Context, env string, recs []*record,
) (out deploy.Overview, err error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return out, err
	}
	if out.Env, err = h.env(); err != nil {
		return out, err
	}
	out.Waiting = map[string]int{}
	sched, err := s.scheduleIn(ctx, env, h, recs, nil, out.Waiting)
	if err != nil {
		return out, err
	}
	out.Schedule = sched.Schedule
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

// idle reports whether an overview shows no remaining work.
func idle(o *deploy.Overview) bool {
	return o.Outbox == 0 && len(o.Waiting)+len(o.Schedule.Unfinished) == 0
}
