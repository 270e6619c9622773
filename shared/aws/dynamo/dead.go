package dynamo

import (
	"context"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// liveIndex knows the index items that this process has read for an agent, with the entries that may
// be alive. A worker that has recorded all rows of an item so removes it without a read.
type liveIndex struct {
	mu     sync.Mutex
	agents map[leaseKey][]indexed // by environment and agent; guarded by mu
}

// read replaces the known index items of an agent.
func (x *liveIndex) read(env, agent string, items []indexed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	const most = 100 // agents of one process
	if len(x.agents) >= most {
		clear(x.agents)
	}
	x.agents[leaseKey{env, agent}] = items
}

// wrote removes the entries of rows that were written under a lease of an agent.
func (x *liveIndex) wrote(env, agent string, rows []state.Row) {
	x.mu.Lock()
	defer x.mu.Unlock()
	list := x.agents[leaseKey{env, agent}]
	if len(list) == 0 || len(rows) == 0 {
		return
	}
	before := make(map[resource.ID]int64, len(rows))
	for i := range rows {
		before[rows[i].ID] = rows[i].Rev
	}
	for n := range list {
		live := list[n].entries[:0]
		for _, e := range list[n].entries {
			if rev, written := before[e.id]; !written || e.rev > rev {
				live = append(live, e)
			}
		}
		list[n].entries = live
	}
}

// dead takes the index items of an agent in which all entries are dead.
func (x *liveIndex) dead(env, agent string) []item {
	x.mu.Lock()
	defer x.mu.Unlock()
	var out []item
	for _, i := range x.agents[leaseKey{env, agent}] {
		if len(i.entries) == 0 {
			out = append(out, i.item)
		}
	}
	delete(x.agents, leaseKey{env, agent})
	return out
}

// dropDead removes the index items that a worker has made dead.
func (s *store) dropDead(ctx context.Context, env, agent string) {
	dead := s.live.dead(env, agent)
	if len(dead) < enoughDead {
		return
	}
	if h, err := s.readHead(ctx, env); err == nil {
		s.tidy(ctx, h, dead)
	}
}
