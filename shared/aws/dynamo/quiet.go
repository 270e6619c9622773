package dynamo

import (
	"context"
	"strings"
	"time"

	"southbound/shared/aws/attributevalue"
)

// QuietUntil returns for each environment the time until which no work is due; the zero time if
// that is unknown. It needs one query.
func (s *environments) QuietUntil(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.query(ctx, partition(headPart, headPrefix, false), func(i item) (bool, error) {
		name := strings.TrimPrefix(attributevalue.TextOf(i, attrSort), headPrefix)
		h, err := headOf(name, i)
		out[name] = h.quiet()
		return true, err
	})
	return out, err
}

func (h *head) quiet() time.Time {
	if h == nil || h.pending || h.tentative {
		return time.Time{}
	}
	return h.quietUntil
}

// MarkQuiet records that no work is due in an environment until a time, and reports whether that is
// so. The order of its requests makes it safe. It writes the note as tentative, then reads the
// records, then confirms the note if no process has removed it. A process that takes a lease reads
// the head afterwards and removes the note. While a lease is held, no environment is quiet. So one
// of the two processes sees the other. A process that dies between the two writes leaves a
// tentative note, which has no effect.
func (s *environments) MarkQuiet(ctx context.Context, env string, until time.Time) (bool, error) {
	h, err := s.readHead(ctx, env)
	if err != nil || h.seq == 0 {
		return false, err
	}
	h.quietUntil, h.tentative = until, true
	if err := s.write(ctx, env, nil, h); err != nil {
		return false, notLost(err)
	}
	quiet, err := s.isQuiet(ctx, env, h, until)
	if err == nil && quiet {
		h.tentative = false
		err = s.write(ctx, env, nil, h)
		return err == nil, notLost(err)
	}
	if _, e := s.wake(ctx, env); err == nil {
		err = e
	}
	return false, err
}

// notLost returns err, or nil if err is errLost.
func notLost(err error) error {
	if err == errLost { // it is never wrapped
		return nil
	}
	return err
}

// isQuiet reports whether the records contain no work that is due before a time.
func (s *environments) isQuiet(
	ctx context.Context,
	env string,
	h *head,
	until time.Time,
) (bool, error) {
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
		if r.tickets > 0 || r.outbox > 0 || r.holder != "" || waving ||
			(!r.due.IsZero() && r.due.Before(until)) {
			return false, nil
		}
	}
	if s.waits != nil {
		if waits, err := s.waits(ctx, env); waits || err != nil {
			return false, err
		}
	}
	return s.allLogged(ctx, env)
}

// Wake ends the quiet time of an environment after work was stored outside the state. The caller
// has to store that work first, because MarkQuiet looks for it (Config.Waits) after it has written
// its note. If the environment does not exist, Wake creates it.
func (s *environments) Wake(ctx context.Context, env string) error {
	_, err := s.changeHead(withPurpose(ctx, Purpose{Name: "rest"}), env, func(h *head) error {
		if h.quietUntil.IsZero() && h.seq != 0 {
			return errNothing
		}
		return nil // every change of a head ends the quiet time
	})
	if err == errNothing { // it is never wrapped
		return nil
	}
	return err
}
