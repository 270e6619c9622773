package dynamo

import (
	"context"
	"slices"
	"time"

	"southbound/shared/deploy/state"
)

// environments reads and writes the head of an environment.
type environments struct {
	*store
	log   Log                                                 // Config.Log
	waits func(ctx context.Context, env string) (bool, error) // Config.Waits
}

// Env implements state.State.
func (s *environments) Env(ctx context.Context, env string) (state.Env, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return state.Env{Name: env}, err
	}
	return h.record()
}

// Envs implements state.State.
func (s *environments) Envs(ctx context.Context) ([]string, error) {
	var out []string
	err := s.query(ctx, partition(headPart, headPrefix, true), func(i item) (bool, error) {
		out = append(out, envName(i))
		return true, nil
	})
	slices.Sort(out)
	return out, err
}

// Halt implements state.State.
func (s *environments) Halt(ctx context.Context, env string, halted bool) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		h.Halted = halted
		h.Plan++
		return nil
	})
	return err
}

// Pause implements state.State.
func (s *environments) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		for _, a := range agents {
			i, have := slices.BinarySearch(h.Paused, a)
			switch {
			case paused && !have:
				h.Paused = slices.Insert(h.Paused, i, a)
			case !paused && have:
				h.Paused = slices.Delete(h.Paused, i, i+1)
			}
		}
		h.Plan++
		return nil
	})
	return err
}

// IdleEpoch returns the number that SetIdleEpoch stored last, as of the last read of the
// environment's head by this process. If this process never read the head, it returns 0. It makes
// no request. Every commit of a planner reads the head, and fails if the head has changed since. So
// a process that schedules a resource and notifies its agent knows whether the queues of idle
// agents were disconnected before that.
func (s *environments) IdleEpoch(env string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleEpochs[env].number
}

// SetIdleEpoch records in the head that polling may be disabled for the queues of the environment's
// idle agents. A process that notifies such an agent has to wake it first. The number 0 means that
// all queues are polled. A new number makes every process forget which agents it found awake.
func (s *environments) SetIdleEpoch(ctx context.Context, env string, number int64) error {
	_, err := s.changeHead(ctx, env, func(h *head) error {
		if h.IdleEpoch == number || h.seq == 0 {
			return errNothing
		}
		h.IdleEpoch = number
		return nil
	})
	if err == errNothing {
		return nil
	}
	return err
}

// QuietUntil returns for each environment the time until which no work is due; the zero time if
// that is unknown. It needs one query.
func (s *environments) QuietUntil(ctx context.Context) (map[string]time.Time, error) {
	out := map[string]time.Time{}
	err := s.query(ctx, partition(headPart, headPrefix, false), func(i item) (bool, error) {
		h := &headRecord{}
		err := s.readJSON(i, h)
		if out[envName(i)] = h.QuietTo; h.Tentative {
			out[envName(i)] = time.Time{}
		}
		return true, err
	})
	return out, err
}

// MarkQuiet records that no work is due in an environment until a time, and reports whether that is
// so. The order of its requests makes it safe. It writes the note as tentative, then reads the
// state, then confirms the note if no process has removed it. A process that takes a lease reads
// the head afterwards and removes the note. While a lease is held, no environment is quiet. So one
// of the two processes sees the other. A process that ends between the two writes leaves a
// tentative note, which has no effect.
func (s *environments) MarkQuiet(ctx context.Context, env string, until time.Time) (bool, error) {
	h, err := s.readHead(ctx, env)
	if err != nil || h.seq == 0 {
		return false, err
	}
	h.QuietTo, h.Tentative = until, true
	if err := s.writeHead(ctx, h); err != nil {
		return false, unlessLost(err)
	}
	quiet, err := s.isQuiet(ctx, env, h, until)
	if err == nil && quiet {
		h.Tentative = false
		err = s.writeHead(ctx, h)
		return err == nil, unlessLost(err)
	}
	if e := s.wake(ctx, env); err == nil {
		err = e
	}
	return false, err
}

// unlessLost returns err, or nil if err is errLost.
func unlessLost(err error) error {
	if err == errLost {
		return nil
	}
	return err
}

// isQuiet reports whether the environment has no work that is due before a time.
func (s *environments) isQuiet(
	ctx context.Context, env string, h *head, until time.Time,
) (bool, error) {
	e, err := h.record()
	if err != nil || e.Releasing != 0 {
		return false, err
	}
	if entries, err := s.list(ctx, outboxPart(env), ""); err != nil || len(entries) > 0 {
		return false, err
	}
	all, err := s.tallied(ctx, env)
	if err != nil {
		return false, err
	}
	for _, l := range all.leases {
		if l.holder != "" {
			return false, nil
		}
	}
	if len(all.waiting()) > 0 || len(all.unfinished(e.Wave.Epoch)) > 0 {
		return false, nil
	}
	r := &rows{s.store}
	due, next, err := r.Due(ctx, env, until.Add(-1), 1)
	if err != nil || len(due) > 0 || !next.IsZero() && next.Before(until) {
		return false, err
	}
	if s.waits != nil {
		if waits, err := s.waits(ctx, env); waits || err != nil {
			return false, err
		}
	}
	if s.log == nil {
		return true, nil
	}
	unlogged, err := s.list(ctx, actionPart(env), "")
	return len(unlogged) == 0, err
}

// Wake ends the quiet time of an environment after work was stored outside the state. The caller
// has to store that work first, because MarkQuiet looks for it (Config.Waits) after it has written
// its note. If the environment does not exist, Wake creates it.
func (s *environments) Wake(ctx context.Context, env string) error { return s.wake(ctx, env) }
