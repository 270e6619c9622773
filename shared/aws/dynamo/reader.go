package dynamo

import (
	"context"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"sync"
	"time"
)

// reader reads heads and records without a pending roll-forward. If a commit is pending, reader
// finishes it first.
type reader struct {
	*forwarder

	mu         sync.Mutex
	idleEpochs map[string]idleEpoch // by environment, see State.IdleEpoch; guarded by mu
}

// knownHead returns the cached head of an environment. If there is none, it reads the head, and
// fresh is true. A cached head is good enough for a write that is conditional on it: if the head
// has changed, the write is decided again.
func (s *reader) knownHead(ctx context.Context, env string) (h *head, fresh bool, err error) {
	if h := s.headKnown(env); h != nil {
		return h, false, nil
	}
	h, err = s.readHead(ctx, env)
	return h, true, err
}

// readRecords reads the records of all lanes. If a commit is pending, readRecords finishes it
// first.
func (s *reader) readRecords(ctx context.Context, env string) ([]*record, error) {
	for try := 0; ; try++ {
		if try == maxRolls {
			return nil, damaged("a commit of environment %q that was begun cannot be finished", env)
		}
		var out []*record
		var tx item
		err := s.query(
			ctx,
			partition(recordPart(env), recordPrefix, true),
			func(i item) (bool, error) {
				key := attributevalue.TextOf(i, attrSort)
				if key == txSort {
					tx = i
					return false, nil
				}
				rec, err := s.recordOf(env, key, i)
				out = append(out, rec)
				return true, err
			},
		)
		if err != nil || tx == nil {
			return out, err
		}
		if err := s.rollForward(ctx, env, tx); err != nil {
			return nil, err
		}
	}
}

// unmoved calls read until no row has moved between lanes during the call. Every commit that moves
// a row changes the head. So a row that read did not find was in no lane at some moment. If rows
// keep moving, unmoved fails with fault.Unavailable, as other contention does.
func (s *reader) unmoved(ctx context.Context, env string, read func() error) error {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return err
	}
	return s.contend(ctx, func() error {
		if err := read(); err != nil {
			return err
		}
		after, err := s.readHead(ctx, env)
		if err != nil || after.seq == before.seq {
			return err
		}
		before = after
		return errLost
	})
}

// maxRolls is how many commits in a row a reader finishes before it fails.
const maxRolls = 50

// readHead reads the head of an environment strongly. If a commit is pending, readHead finishes it
// first.
func (s *reader) readHead(ctx context.Context, env string) (*head, error) {
	for try := 0; ; try++ {
		if try == maxRolls {
			return nil, damaged("a commit of environment %q that was begun cannot be finished", env)
		}
		i, err := s.get(ctx, headPart, headPrefix+env)
		if err != nil {
			return nil, err
		}
		h, err := headOf(env, i)
		if err != nil || !h.pending {
			s.sawIdleEpoch(env, h)
			if err == nil {
				s.sawHead(h)
			}
			return h, err
		}
		if err := s.finishPending(ctx, env); err != nil {
			return nil, err
		}
	}
}

// changeHead changes the head by f, and returns the head that it wrote. If another process changes
// the head concurrently, changeHead retries.
func (s *reader) changeHead(ctx context.Context, env string, f func(h *head) error) (*head, error) {
	var out *head
	err := s.contend(ctx, func() error {
		h, err := s.readHead(ctx, env)
		if err != nil {
			return err
		}
		if err := f(h); err != nil {
			return err
		}
		h.quietUntil, h.tentative = time.Time{}, false
		p := h.put(s.host.Random())
		now, err := s.putOne(ctx, p)
		if err == errLost && now != nil { // it is never wrapped
			if is, e := headOf(env, now); e == nil && is.nonce == h.nonce {
				err = nil // our own write, repeated by the SDK
			}
		}
		h.seq++
		if out = h; err == nil {
			s.sawHead(h)
		}
		return err
	})
	return out, err
}

// tabletRecords reads the records of all lanes and of the parameters.
func (s *reader) tabletRecords(ctx context.Context, env string) ([]*record, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	params, err := s.readRecord(ctx, env, paramsKey)
	return append(recs, params), err
}

// wake ends the quiet time of an environment, and returns the new head, or nil if no write was
// required.
func (s *reader) wake(ctx context.Context, env string) (*head, error) {
	out, err := s.changeHead(withPurpose(ctx, Purpose{Name: "rest"}), env, func(h *head) error {
		if h.quietUntil.IsZero() && h.seq != 0 {
			return errNothing
		}
		h.quietUntil = time.Time{}
		return nil
	})
	if err == errNothing || fault.Is(err, fault.Canceled) { // it is never wrapped
		return nil, nil
	}
	return out, err
}

// idleEpoch is the idle epoch of a head with a number of changes.
type idleEpoch struct{ seq, number int64 }

// sawIdleEpoch caches the idle epoch of a head. A nil head, which could not be read, is ignored.
func (s *reader) sawIdleEpoch(env string, h *head) {
	if h == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.seq >= s.idleEpochs[env].seq {
		s.idleEpochs[env] = idleEpoch{seq: h.seq, number: h.idleEpoch}
	}
}

// headSeen returns the idle epoch of the head that was read last, or the zero value.
func (s *reader) headSeen(env string) idleEpoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleEpochs[env]
}
