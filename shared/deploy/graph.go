package deploy

import (
	"context"

	"southbound/shared/deploy/version"
	"southbound/shared/fault"
)

// Graph returns the graph in force of an environment. A caller must not change it.
func (e *Engine) Graph(ctx context.Context, env string) (*version.Graph, error) {
	stored, err := e.State.Env(ctx, env)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read environment", err)
	}
	return e.graphs.Get(ctx, stored.Graph)
}
