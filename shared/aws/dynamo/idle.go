package dynamo

import "context"

// idleEpoch is the idle epoch that a head named, at a number of changes.
type idleEpoch struct{ seq, number int64 }

// IdleEpoch returns the number that SetIdleEpoch was last given, as this process saw it when it
// last read the head of the environment; 0 when it never did. It makes no call: every commit of a
// planner reads the head, and is refused when the head has changed since. So whoever schedules
// something and notifies knows whether the queues of idle agents were disconnected before that.
func (s *State) IdleEpoch(env string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.idleEpochs[env].number
}

// SetIdleEpoch notes in the head that nobody may be polling the queues of idle agents of the
// environment, so that whoever notifies one has to wake it first. 0: all queues are polled. A
// number other than before makes every process forget which agents it found awake.
func (s *State) SetIdleEpoch(ctx context.Context, env string, number int64) error {
	h, err := s.changeHead(ctx, env, func(h *head) error {
		if h.idleEpoch == number || h.seq == 0 {
			return errNothing
		}
		h.idleEpoch = number
		return nil
	})
	if err == errNothing { // it is never wrapped
		return nil
	}
	if err == nil {
		s.sawIdleEpoch(env, h)
	}
	return err
}

// sawIdleEpoch remembers what a head said; nil: it could not be read.
func (s *State) sawIdleEpoch(env string, h *head) {
	if h == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.seq >= s.idleEpochs[env].seq {
		s.idleEpochs[env] = idleEpoch{seq: h.seq, number: h.idleEpoch}
	}
}
