package dynamo

import (
	"context"
	"strings"
	"time"

	"southbound/shared/aws/attr"
	"southbound/shared/fault"
)

// Resting says of each environment until when nothing is due in it; the zero time when that is not known. It is one query.
func (s *State) Resting(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.query(ctx, partition(headPart, headPrefix, false), func(i item) (bool, error) {
		name := strings.TrimPrefix(attr.TextOf(i, attrSort), headPrefix)
		h, err := headOf(name, i)
		out[name] = h.restUntil()
		return true, err
	})
	return out, err
}

func (h *head) restUntil() time.Time {
	if h == nil || h.pending || h.trying {
		return time.Time{}
	}
	return h.rest
}

// Rest notes that nothing is due in an environment until a time, and reports whether that holds. The note is made first, as one that does
// not count yet; then what it says is looked at; then it counts, when nobody has removed it. Who takes a lease looks for the note
// afterwards and removes it, and while a lease is held there is no rest. So whatever begins meanwhile is seen by one side or the other, and
// whoever ends in the middle leaves nothing wrong behind.
func (s *State) Rest(ctx context.Context, env string, until time.Time) (bool, error) {
	h, err := s.readHead(ctx, env)
	if err != nil || h.seq == 0 {
		return false, err
	}
	h.rest, h.trying = until, true
	if err := s.write(ctx, env, nil, h); err != nil {
		return false, notLost(err)
	}
	if quiet, err := s.quiet(ctx, env, h, until); err == nil && quiet {
		h.trying = false
		err := s.write(ctx, env, nil, h)
		return err == nil, notLost(err)
	} else if e := s.wake(ctx, env); err == nil {
		err = e
	}
	return false, err
}

// notLost returns err, or nil when it only says that somebody else was faster.
func notLost(err error) error {
	if err == errLost { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// quiet reports whether nothing in the records has to be looked at before a time.
func (s *State) quiet(ctx context.Context, env string, h *head, until time.Time) (bool, error) {
	e, err := h.env()
	if err != nil || e.Releasing != 0 {
		return false, err
	}
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return false, err
	}
	for _, r := range recs {
		waving := e.Wave.Epoch != 0 && r.wave < e.Wave.Epoch && r.total() > 0
		if r.tickets > 0 || r.outbox > 0 || r.holder != "" || waving || (!r.due.IsZero() && r.due.Before(until)) {
			return false, nil
		}
	}
	if s.Waits != nil {
		if waits, err := s.Waits(ctx, env); waits || err != nil {
			return false, err
		}
	}
	return s.allLogged(ctx, env)
}

// Wake ends the rest of an environment in which something else than the state holds has begun to
// wait: it is called after that was written, as who sends the environment to rest looks for it
// (Config.Waits) after the note was made. An environment that is not there is made.
func (s *State) Wake(ctx context.Context, env string) error {
	_, err := s.changeHead(withPurpose(ctx, Purpose{Name: "rest"}), env, func(h *head) error {
		if h.rest.IsZero() && h.seq != 0 {
			return errNothing
		}
		return nil // whoever changes a head ends the rest
	})
	if err == errNothing { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}

// wake ends the rest of an environment.
func (s *State) wake(ctx context.Context, env string) error {
	_, err := s.changeHead(withPurpose(ctx, Purpose{Name: "rest"}), env, func(h *head) error {
		if h.rest.IsZero() && h.seq != 0 {
			return errNothing
		}
		h.rest = time.Time{}
		return nil
	})
	if err == errNothing || fault.Is(err, fault.Canceled) { //nolint:errorlint // it is never wrapped
		return nil
	}
	return err
}
