package services

import (
	"sync"

	"southbound/shared/aws/attributevalue"
)

// CallbackCache is what a process knows of which environments have callbacks. It comes with what is
// read anyway: a definition, before an instance is ordered, and an instance, before it is changed.
// The stores of a process share one.
type CallbackCache struct {
	mu   sync.Mutex
	envs map[string]cachedCallbacks
}

// cachedCallbacks is what is known of an environment.
type cachedCallbacks struct {
	seq   int64 // the revision of its callbacks
	some  bool  // it has callbacks
	noted bool  // something was noted that they are to be told
}

// note keeps what an item says that was read; nil: there is none.
func (c *CallbackCache) note(env string, i item) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.envs == nil {
		c.envs = map[string]cachedCallbacks{}
	}
	now, ok := c.envs[env]
	if seq := attributevalue.NumberOf(i, attrSeq); !ok || seq >= now.seq {
		now.seq, now.some = seq, attributevalue.NumberOf(i, attrEvents) > 0
		c.envs[env] = now
	}
}

// known reports whether an environment has callbacks, if that was read.
func (c *CallbackCache) known(env string) (some, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, ok := c.envs[env]
	return now.some, ok
}

// noted keeps that callbacks of an environment are to be told something.
func (c *CallbackCache) noted(env string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.envs[env]
	now.noted = true
	c.envs[env] = now
}

// take reports whether something was noted for callbacks of an environment since it was asked last.
func (c *CallbackCache) take(env string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.envs[env]
	out := now.noted
	if now.noted = false; out {
		c.envs[env] = now
	}
	return out
}
