package dynamo

import "context"

// IdleEpoch returns the number that SetIdleEpoch was last given, as this process saw it when it
// last read the head of the environment; 0 when it never did. It makes no call: every commit of a
// planner reads the head, and is refused when the head has changed since. So whoever schedules
// something and notifies knows whether the queues of idle agents were disconnected before that.
func (s *environments) IdleEpoch(env string) int64 {
	return s.headSeen(env).number
}

// SetIdleEpoch notes in the head that nobody may be polling the queues of idle agents of the
// environment, so that whoever notifies one has to wake it first. 0: all queues are polled. A
// number other than before makes every process forget which agents it found awake.
func (s *environments) SetIdleEpoch(ctx context.Context, env string, number int64) error {
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
