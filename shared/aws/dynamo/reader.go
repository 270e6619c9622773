package dynamo

import (
	"context"
	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
	"sync"
	"time"
)

// reader reads heads and records as they are when no commit is being rolled forward: it finishes
// one that is.
type reader struct {
	*forwarder

	mu         sync.Mutex
	idleEpochs map[string]idleEpoch // by environment, see State.IdleEpoch; guarded by mu
}

// knownHead returns the head of an environment as this process saw it last, or as it is now if it
// never did. It is for what is written if it is still the same, and decided again if not.
func (s *reader) knownHead(ctx context.Context, env string) (h *head, fresh bool, err error) {
	if h := s.headKnown(env); h != nil {
		return h, false, nil
	}
	h, err = s.readHead(ctx, env)
	return h, true, err
}

// readRecords reads the records of all lanes. A commit that is being rolled forward is finished
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

// unmoved calls read until no row has moved between lanes meanwhile: every commit that moves one
// changes the head. So what is nowhere was nowhere at some moment. Where rows move all the time it
// ends as other contention does, with Unavailable.
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

// maxRolls is how many commits in a row are finished before a reader gives up.
const maxRolls = 50

// readHead reads the head of an environment, strongly. A commit that is being rolled forward is
// finished first.
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

// changeHead changes the head by f until nobody else was faster, and returns it as it was written.
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

// wake ends the quiet of an environment, and returns the head as it is then; nil: nothing had to be
// written.
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

// idleEpoch is the idle epoch that a head named, at a number of changes.
type idleEpoch struct{ seq, number int64 }

// sawIdleEpoch remembers what a head said; nil: it could not be read.
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

// headSeen returns what the head said that was last read; the zero value: none was.
func (s *reader) headSeen(env string) idleEpoch {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleEpochs[env]
}
