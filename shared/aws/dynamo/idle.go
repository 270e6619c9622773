package dynamo

import "context"

// IdleEpoch returns the number that SetIdleEpoch stored last, as of the last read of the
// environment's head by this process. If this process never read the head, it returns 0. It makes
// no request. Every commit of a planner reads the head, and fails if the head has changed since. So
// a process that schedules a resource and notifies its agent knows whether the queues of idle
// agents were disconnected before that.
func (s *environments) IdleEpoch(env string) int64 {
	return s.headSeen(env).number
}

// SetIdleEpoch records in the head that polling may be disabled for the queues of the environment's
// idle agents. A process that notifies such an agent has to wake it first. The number 0 means that
// all queues are polled. A new number makes every process forget which agents it found awake.
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
