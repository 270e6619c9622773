// Package agents serves agents: their state, pausing them, and the removal of their queues.
package agents

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/api/environments"
	"southbound/shared/fault"
)

// Pause implements Home.
func (s *Service) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := checkNames(agents); err != nil {
		return err
	}
	act := environments.ActPause
	if !paused {
		act = environments.ActResume
	}
	defer s.Env.Changed(env)
	return s.Env.Act(ctx, env, act, "", agents, func() error {
		return s.Env.Engine.Pause(ctx, env, paused, agents...)
	})
}

// Prune implements Home.
func (s *Service) Prune(ctx context.Context, env string, remove bool) ([]Pruned, error) {
	if s.Unneeded == nil {
		return nil, nil
	}
	return s.Unneeded(ctx, env, remove)
}

type Service struct {
	Env *environments.Service
	// Unserved, if not nil, returns the agents with work that no process does, and since how
	// long.
	Unserved func(ctx context.Context, env string) (map[string]time.Duration, error)
	// Unneeded, if not nil, implements Prune.
	Unneeded func(ctx context.Context, env string, remove bool) ([]Pruned, error)
}

// Agents implements Home.
func (s *Service) Agents(ctx context.Context, env string) ([]Agent, error) {
	agents, err := s.Env.Engine.State.Agents(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	var unserved map[string]time.Duration
	if s.Unserved != nil {
		if unserved, err = s.Unserved(ctx, env); err != nil {
			return nil, fault.Wrap(fault.Unknown, "list unserved agents", err)
		}
	}
	out := make([]Agent, 0, len(agents))
	for _, name := range slices.Sorted(maps.Keys(agents)) {
		g := agents[name]
		out = append(out, Agent{name, g.Transport, max(g.Lanes, 1), g.Paused,
			unserved[name].Milliseconds()})
	}
	return out, nil
}
