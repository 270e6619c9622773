package home

import (
	"maps"
	"sync"
	"time"
)

// freshWait is how long a line of progress shows why an agent is waited for.
const freshWait = 10 * time.Second

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

// Note records why an agent is waited for.
func (w *waits) Note(env, agent, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.why == nil {
		w.why = map[waiting]wait{}
	}
	w.why[waiting{env, agent}] = wait{why, time.Now()}
}

// Of returns the reasons for waiting by agent, for the agents of an environment whose reasons were
// reported recently.
func (w *waits) Of(env string, now time.Time) map[string]string {
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
