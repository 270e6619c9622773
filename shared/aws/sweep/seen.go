package sweep

import (
	"sync"
	"time"
)

// seen knows since when agents have work, as far as sweeps of this process tell. An agent that was
// idle for a day has not had work for a day when some comes: who looks at its last lease alone
// would take each repair for work that nobody does.
type seen struct {
	mu    sync.Mutex
	since map[string]map[string]time.Time // by environment and agent; none of one not looked at
}

// nothing notes that no agent of an environment waits.
func (s *seen) nothing(env string) { s.set(env, map[string]time.Time{}) }

func (s *seen) set(env string, agents map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]map[string]time.Time{}
	}
	s.since[env] = agents
}

// shorten corrects for how long agents have waited, and notes who does. Quiet is when the
// environment's quiet time ended, in which there was no work; zero: it is not known.
func (s *seen) shorten(env string, waiting []Waiting, now, quiet time.Time) {
	s.mu.Lock()
	before, looked := s.since[env]
	s.mu.Unlock()
	agents := make(map[string]time.Time, len(waiting))
	for i := range waiting {
		w := &waiting[i]
		since, known := before[w.Agent]
		switch {
		case known:
		case looked:
			since = now
		case !quiet.IsZero():
			since = quiet
		default:
			since = now.Add(-w.For)
		}
		agents[w.Agent] = since
		w.For = min(w.For, now.Sub(since))
	}
	s.set(env, agents)
}
