package worker

import (
	"context"
	"slices"
	"sync"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Index reports which agents exist. It caches the existing ones, so that an agent costs one request
// for each process. Any number of goroutines may use it.
type Index struct {
	// State returns the agents of environments.
	State interface {
		Agents(ctx context.Context, env string, names ...string) (map[string]state.Agent, error)
	}
	// Work returns the agents of an environment that have work, as deploy.Engine.AgentsWithWork does.
	Work func(ctx context.Context, env string) ([]string, error)

	mu    sync.Mutex
	known map[place]bool
}

// maxKnown limits the cached agents.
const maxKnown = 10_000

// Exists reports whether an agent exists or still has work.
func (x *Index) Exists(ctx context.Context, env, agent string) (bool, error) {
	p := place{env, agent}
	if x.knows(p) {
		return true, nil
	}
	agents, err := x.State.Agents(ctx, env, agent)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, fault.Wrap(fault.Unknown, "find agent", err)
	}
	if _, ok := agents[agent]; ok {
		x.learn(p)
		return true, nil
	}
	work, err := x.Work(ctx, env)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return false, fault.Wrap(fault.Unknown, "find agent", err)
	}
	return slices.Contains(work, agent), nil
}

func (x *Index) knows(p place) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.known[p]
}

func (x *Index) learn(p place) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.known == nil || len(x.known) >= maxKnown {
		x.known = map[place]bool{}
	}
	x.known[p] = true
}
