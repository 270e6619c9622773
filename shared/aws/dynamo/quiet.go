package dynamo

import (
	"context"
	"strings"
	"time"

	"southbound/shared/aws/attributevalue"
)

// QuietUntil says of each environment until when nothing is due in it; the zero time when that is
// not known. It is one query.
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

// MarkQuiet notes that nothing is due in an environment until a time, and reports whether that
// holds. The order of the writes is what makes it safe: first the note is written as tentative,
// then the records are read, then the note is confirmed, if nobody has removed it. Who takes a
// lease looks for the note afterwards and removes it, and while a lease is held no environment is
// quiet. So whatever begins meanwhile is seen by one side or the other, and a process that dies
// between two writes leaves a note that does not count.
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

// notLost returns err, or nil when it only says that somebody else was faster.
func notLost(err error) error {
	if err == errLost { // it is never wrapped
		return nil
	}
	return err
}

// isQuiet reports whether nothing in the records has to be looked at before a time.
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

// Wake ends the quiet of an environment in which something else than the state holds has begun to
// wait: it is called after that was written, as who marks the environment quiet looks for it
// (Config.Waits) after the note was made. An environment that is not there is made.
func (s *environments) Wake(ctx context.Context, env string) error {
	_, err := s.changeHead(withPurpose(ctx, Purpose{Name: "rest"}), env, func(h *head) error {
		if h.quietUntil.IsZero() && h.seq != 0 {
			return errNothing
		}
		return nil // every change of a head ends the quiet
	})
	if err == errNothing { // it is never wrapped
		return nil
	}
	return err
}
