package worker

import (
	"context"
	"slices"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Index reports which lanes exist. It caches the existing ones, so that a lane costs one request
// for each process. Any number of goroutines may use it.
type Index struct {
	// State returns the agents of environments.
	State interface {
		Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	}
	// Work returns the lanes of an environment that have work, as deploy.Engine.WorkLanes does.
	Work func(ctx context.Context, env string) ([]string, error)

	mu    sync.Mutex
	known map[place]int // number of lanes
}

// maxKnown limits the cached agents.
const maxKnown = 10_000

// Exists reports whether a lane exists: its agent has that many lanes, or it still has work from a
// time when the agent had more.
func (x *Index) Exists(ctx context.Context, env, lane string) (bool, error) {
	p, n := place{env, state.AgentOf(lane)}, state.NumberOf(lane)
	x.mu.Lock()
	lanes := x.known[p]
	x.mu.Unlock()
	if n < lanes {
		return true, nil
	}
	agents, err := x.State.Agents(ctx, env, p.agent)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, fault.Wrap(fault.Unknown, "find lane", err)
	}
	if a, ok := agents[p.agent]; ok {
		x.learn(p, max(a.Lanes, 1))
		if n < max(a.Lanes, 1) {
			return true, nil
		}
	}
	work, err := x.Work(ctx, env)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, fault.Wrap(fault.Unknown, "find lane", err)
	}
	return slices.Contains(work, lane), nil
}

func (x *Index) learn(p place, lanes int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil || len(x.known) >= maxKnown {
		x.known = map[place]int{}
	}
	x.known[p] = lanes
}
