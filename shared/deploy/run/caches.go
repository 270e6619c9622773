package run

import (
	"slices"
	"sync"
	"time"

	"southbound/shared/provider"
)

// maxCaches bounds how many agents have a cache in one process.
const maxCaches = 256

// agentKey names an agent of an environment.
type agentKey struct{ env, agent string }

// Caches holds the data that handlers keep between runs: one cache for each agent, shared by its
// lanes. The zero value is empty. It is safe for concurrent use.
type Caches struct {
	mu      sync.Mutex
	byAgent map[agentKey]*provider.Cache
	order   []agentKey // the least recently used one first
}

// of returns the cache of an agent; now returns the current time for it. If there are too many
// caches, the least recently used one is closed; a run that still uses it can no longer store data
// in it.
func (c *Caches) of(env, agent string, now func() time.Time) *provider.Cache {
	key := agentKey{env, agent}
	c.mu.Lock()
	have := c.byAgent[key]
	if have == nil {
		have = provider.NewCache(now)
		if c.byAgent == nil {
			c.byAgent = map[agentKey]*provider.Cache{}
		}
		c.byAgent[key] = have
	}
	if last := len(c.order) - 1; last < 0 || c.order[last] != key {
		c.order = append(slices.DeleteFunc(c.order, func(k agentKey) bool { return k == key }), key)
	}
	var old *provider.Cache
	if len(c.order) > maxCaches {
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

// Close closes the caches of all agents. It is meant for the end of a process, but the caches may
// still be used afterwards.
func (c *Caches) Close() {
	c.mu.Lock()
	all := c.byAgent
	c.byAgent, c.order = nil, nil
	c.mu.Unlock()
	for _, cache := range all {
		cache.Close()
	}
}
