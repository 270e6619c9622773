package sweep

import (
	"sync"
	"time"
)

// seen records since when agents have had work, as far as the sweeps of this process saw it. An
// agent that was idle for a day has an old lease when work arrives. Judged by its last lease alone,
// each repair would look like work that is not served.
type seen struct {
	mu    sync.Mutex
	since map[string]map[string]time.Time // by environment and agent; no entry: not swept yet
}

// nothing records that no agent of an environment waits.
func (s *seen) nothing(env string) { s.set(env, map[string]time.Time{}) }

func (s *seen) set(env string, agents map[string]time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since == nil {
		s.since = map[string]map[string]time.Time{}
	}
	s.since[env] = agents
}

// shorten limits the waiting time of each agent to the time since sweeps first saw its work, and
// records the waiting agents. The environment's quiet time, in which there was no work, ended at
// quiet. If quiet is zero, that time is unknown.
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
