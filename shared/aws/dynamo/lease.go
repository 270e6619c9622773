package dynamo

import (
	"context"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// errNothing says that there is nothing to change.
var errNothing = fault.New(fault.Internal, "", "nothing to change")

// Acquire implements deploy.State. Whether a holder is dead is never known here: leases of the dead
// expire.
func (s *State) Acquire(ctx context.Context, env, key, holder string, now, until time.Time) (state.Lease, error) {
	rec, err := s.change(ctx, env, keyOf(key), func(e *edit) error {
		r := e.next
		if r.holder != "" && r.holder != holder && now.Before(r.until) {
			return fault.New(fault.Busy, "take lease", "%s is served by another", key)
		}
		r.holder, r.until = holder, until
		r.fence++
		return nil
	})
	if err != nil {
		return state.Lease{}, err
	}
	h, err := s.readHead(ctx, env) // a commit under this lease must not be hidden by a rest, wherever its process ends
	if err != nil {
		return state.Lease{}, err
	}
	if !h.quietUntil.IsZero() || h.seq == 0 { // an environment without a head is not known to DropOrphans
		if err := s.wake(ctx, env); err != nil {
			return state.Lease{}, err
		}
	}
	running, err := s.mayHaveRun(ctx, env, rec)
	if fault.Is(err, fault.NotFound) { // it took so long that another holds the lease and says what runs
		err = fault.New(fault.Unavailable, "take lease", "%s was taken over meanwhile", key)
	}
	return state.Lease{Key: key, Holder: holder, Fence: rec.fence, Until: until, Running: running, Wave: rec.wave}, err
}

// Release implements deploy.State.
func (s *State) Release(ctx context.Context, env string, l state.Lease) error {
	rec, err := s.change(ctx, env, keyOf(l.Key), func(e *edit) error {
		if e.rec.seq == 0 || e.rec.fence != l.Fence || e.rec.holder == "" {
			return errNothing
		}
		e.next.holder, e.next.running, e.next.before = "", idList{}, idList{}
		return nil
	})
	if err == errNothing { // it is never wrapped
		return nil
	}
	if err == nil {
		s.hasEnded(tabletKey{env, keyOf(l.Key)})
		s.compactReleased(ctx, env, rec)
	}
	return err
}

// Leases implements deploy.State.
func (s *State) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	return s.leasesIn(ctx, recs)
}

// leasesIn returns the leases that records hold.
func (s *State) leasesIn(ctx context.Context, recs []*record) ([]state.Lease, error) {
	var out []state.Lease
	for _, r := range recs {
		if key, ok := laneOf(r.key); ok && r.fence > 0 {
			running, err := s.idsOf(ctx, r.running)
			// Not found: it ran before, and does not now, or it is lost, as it is when it does not
			// decode. Who takes the lease next says anew what may have run.
			if err != nil && !isLost(err) {
				return nil, err
			}
			out = append(out, state.Lease{Key: key, Holder: r.holder, Fence: r.fence, Until: r.until, Running: running, Wave: r.wave})
		}
	}
	return out, nil
}
