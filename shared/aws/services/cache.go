package services

import (
	"sync"

	"southbound/shared/aws/attributevalue"
)

// CallbackCache records which environments have callbacks, as far as this process has read it. The
// process learns it from reads that it makes anyway. It reads a definition before it accepts an
// order, and an instance before it changes the instance. The stores of a process share one cache.
type CallbackCache struct {
	mu   sync.Mutex
	envs map[string]cachedCallbacks
}

// cachedCallbacks is the cache entry of an environment.
type cachedCallbacks struct {
	seq   int64 // revision of the list of callbacks
	some  bool  // the environment has callbacks
	noted bool  // this process recorded events that are due to be delivered to the callbacks
}

// note caches the list of callbacks that an item holds. A nil item means that the environment has
// none.
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

// known reports whether an environment has callbacks. If the process has not read that, ok is
// false.
func (c *CallbackCache) known(env string) (some, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, ok := c.envs[env]
	return now.some, ok
}

// noted records that this process wrote events for the callbacks of an environment.
func (c *CallbackCache) noted(env string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.envs[env]
	now.noted = true
	c.envs[env] = now
}

// take reports whether this process recorded events for the callbacks of an environment since the
// last call of take.
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
