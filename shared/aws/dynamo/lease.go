package dynamo

import (
	"context"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// leases acquires and releases leases, which are in the records of their lanes.
type leases struct {
	*rows

	mu sync.Mutex
	// started is the accepted Next of each lease that this process holds; guarded by mu.
	started map[tabletKey]started
}

// errNothing means that no change is required.
var errNothing = fault.New(fault.Internal, "", "nothing to change")

// Acquire implements state.State. It cannot know whether a holder is dead: the lease of a dead
// holder expires.
func (s *leases) Acquire(
	ctx context.Context,
	env, key, holder string,
	now, until time.Time,
) (state.Lease, error) {
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
	// The head is read after the lease is taken, and MarkQuiet reads the leases after it has
	// written its note. So a quiet time cannot hide a commit under this lease, wherever either
	// process ends.
	h, err := s.readHead(ctx, env)
	if err != nil {
		return state.Lease{}, err
	}
	if !h.quietUntil.IsZero() || h.seq == 0 { // DropOrphans skips an environment without a head
		if h, err = s.wake(ctx, env); err != nil {
			return state.Lease{}, err
		}
	}
	is, err := envIn(h, key)
	if err != nil {
		return state.Lease{}, err
	}
	running, err := s.mayHaveRun(ctx, env, rec)
	if fault.Is(err, fault.NotFound) { // another process took the lease, and wrote the running list
		err = fault.New(fault.Unavailable, "take lease", "%s was taken over meanwhile", key)
	}
	return state.Lease{
		Key:     key,
		Holder:  holder,
		Fence:   rec.fence,
		Until:   until,
		Running: running,
		Wave:    rec.wave,
		Env:     is,
	}, err
}

// envIn returns the environment of a head that was read under a lease, if the holder needs it. The
// holder of a lane reads the environment with the schedule. If the holder does not need it, or
// there is no head, the result has no name.
func envIn(h *head, key string) (state.Env, error) {
	if h == nil || key != state.PlanKey {
		return state.Env{}, nil
	}
	return h.env()
}

// Release implements state.State.
func (s *leases) Release(ctx context.Context, env string, l state.Lease) error {
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

// Leases implements state.State.
func (s *leases) Leases(ctx context.Context, env string) ([]state.Lease, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	return s.leasesIn(ctx, recs)
}
