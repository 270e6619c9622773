package deploy

import (
	"slices"
	"sync"

	"southbound/shared/provider"
)

// mostCaches bounds how many agents have a cache in one process.
const mostCaches = 256

// agentKey names an agent of an environment.
type agentKey struct{ env, agent string }

// caches holds what handlers keep between runs: one cache for each agent, shared by its lanes.
type caches struct {
	mu      sync.Mutex
	byAgent map[agentKey]*provider.Cache
	order   []agentKey // the one used least recently first
}

// cacheOf returns the cache of an agent. If there are too many, the one used least recently is closed; a run that still has it can keep
// nothing in it any more.
func (e *Engine) cacheOf(env, agent string) *provider.Cache {
	key := agentKey{env, agent}
	c := &e.caches
	c.mu.Lock()
	have := c.byAgent[key]
	if have == nil {
		have = provider.NewCache(e.Clock.Now)
		if c.byAgent == nil {
			c.byAgent = map[agentKey]*provider.Cache{}
		}
		c.byAgent[key] = have
	}
	if n := len(c.order); n == 0 || c.order[n-1] != key {
		c.order = append(slices.DeleteFunc(c.order, func(k agentKey) bool { return k == key }), key)
	}
	var old *provider.Cache
	if len(c.order) > mostCaches {
		old = c.byAgent[c.order[0]]
		delete(c.byAgent, c.order[0])
		c.order = c.order[1:]
	}
	c.mu.Unlock()
	if old != nil {
		old.Close()
	}
	return have
}

// Close closes what handlers keep between runs. It is meant for the end of a process, but the engine may still be used afterwards.
func (e *Engine) Close() {
	c := &e.caches
	c.mu.Lock()
	all := c.byAgent
	c.byAgent, c.order = nil, nil
	c.mu.Unlock()
	for _, cache := range all {
		cache.Close()
	}
}
