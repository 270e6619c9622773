package services

import (
	"sync"

	"southbound/shared/aws/attr"
)

// Heard is what a process knows of which environments have callbacks. It comes with what is read
// anyway: a definition, before an instance is ordered, and an instance, before it is changed. The
// stores of a process share one.
type Heard struct {
	mu   sync.Mutex
	envs map[string]hears
}

// hears is what is known of an environment.
type hears struct {
	seq   int64 // the revision of its callbacks
	some  bool  // it has callbacks
	noted bool  // something was noted that they are to be told
}

// note keeps what an item says that was read; nil: there is none.
func (h *Heard) note(env string, i item) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.envs == nil {
		h.envs = map[string]hears{}
	}
	now, ok := h.envs[env]
	if seq := attr.NumberOf(i, attrSeq); !ok || seq >= now.seq {
		now.seq, now.some = seq, attr.NumberOf(i, attrEvents) > 0
		h.envs[env] = now
	}
}

// known reports whether an environment has callbacks, if that was read.
func (h *Heard) known(env string) (some, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now, ok := h.envs[env]
	return now.some, ok
}

// noted keeps that callbacks of an environment are to be told something.
func (h *Heard) noted(env string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.envs[env]
	now.noted = true
	h.envs[env] = now
}

// take reports whether something was noted for callbacks of an environment since it was asked last.
func (h *Heard) take(env string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.envs[env]
	out := now.noted
	if now.noted = false; out {
		h.envs[env] = now
	}
	return out
}
