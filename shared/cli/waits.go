package cli

import (
	"maps"
	"sync"
	"time"
)

const (
	// countEvery is how often the remaining resources are counted by agent, if progress does not
	// report them.
	countEvery = 5 * time.Second
	// maxSlow is how many agents a line of progress names.
	maxSlow = 3
	// freshWait is how long a line of progress shows why an agent is waited for.
	freshWait = 10 * time.Second
)

// waits records why agents are waited for.
type waits struct {
	mu  sync.Mutex
	why map[waiting]wait
}

// waiting is an agent of an environment.
type waiting struct{ env, agent string }

type wait struct {
	why string
	at  time.Time
}

// note records why an agent is waited for.
func (w *waits) note(env, agent, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == nil {
		w.why = map[waiting]wait{}
	}
	w.why[waiting{env, agent}] = wait{why, time.Now()}
}

// of returns the reasons for waiting by agent, for the agents of an environment whose reasons were
// reported recently.
func (w *waits) of(env string, now time.Time) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.why, func(_ waiting, s wait) bool { return now.Sub(s.at) > freshWait })
	out := map[string]string{}
	for of, s := range w.why {
		if of.env == env {
			out[of.agent] = s.why
		}
	}
	return out
}
