package deploy

import (
	"context"

	"southbound/shared/deploy/state"
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

// Places returns the places of the resources of a version in the documents or the model that were
// exported, as far as they are known. A caller must not change them.
func (e *Engine) Places(ctx context.Context, v *state.Version) (version.Places, error) {
	return e.places.Get(ctx, v)
}
