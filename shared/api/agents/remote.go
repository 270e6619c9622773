package agents

import (
	"context"
	"net/http"

	"southbound/shared/api/client"
	"southbound/shared/api/wire"
)

type Remote struct{ *client.Conn }

// Agents implements Home.
func (c Remote) Agents(ctx context.Context, env string) ([]Agent, error) {
	return client.AllIn[Agent](ctx, c.Conn, env, "agents")
}

// Pause implements Home.
func (c Remote) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	if err := checkNames(agents); err != nil {
		return err
	}
	return c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, "pause"),
		map[string]any{"agents": wire.OrEmpty(agents), "paused": paused}, nil)
}

// Prune implements Home.
func (c Remote) Prune(ctx context.Context, env string, remove bool) ([]Pruned, error) {
	out, err := client.Ask[prunedAgents](ctx, c.Conn, http.MethodPost,
		wire.EnvironmentPath(env, "agents/prune"),
		map[string]bool{"remove": remove})
	return out.Agents, err
}
