package dynamo

import "context"

// sleepers is what a head, at a number of changes, said of agents that sleep.
type sleepers struct{ seq, number int64 }

// Asleep returns the number that SetAsleep was last given, as this process saw it when it last read the head of the environment; 0 when it
// never did. It asks nobody: every commit of a planner reads the head, and is refused when the head has changed since. So whoever schedules
// something and notifies knows whether agents were put to sleep before that.
func (s *State) Asleep(env string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asleep[env].number
}

// SetAsleep notes in the head that agents of the environment may be asleep: nobody polls their queues, and whoever notifies them has to wake them. 0: all are
// awake. Another number than before makes everybody forget which agents they found awake.
func (s *State) SetAsleep(ctx context.Context, env string, number int64) error {
	h, err := s.changeHead(ctx, env, func(h *head) error {
		if h.asleep == number || h.seq == 0 {
			return errNothing
		}
		h.asleep = number
		return nil
	})
	if err == errNothing { //nolint:errorlint // it is never wrapped
		return nil
	}
	if err == nil {
		s.sawAsleep(env, h)
	}
	return err
}

// sawAsleep remembers what a head said; nil: it could not be read.
func (s *State) sawAsleep(env string, h *head) {
	if h == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.seq >= s.asleep[env].seq {
		s.asleep[env] = sleepers{seq: h.seq, number: h.asleep}
	}
}
