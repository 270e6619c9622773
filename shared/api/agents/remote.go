package agents

import (
	"context"
	"net/http"
	"strconv"

	"southbound/shared/api/client"
	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
)

type Remote struct{ *client.Conn }

// Agents implements Home.
func (c Remote) Agents(ctx context.Context, env string) ([]Agent, error) {
	return client.AllIn[Agent](ctx, c.Conn, env, "agents")
}

// AgentsPage implements Home.
func (c Remote) AgentsPage(
	ctx context.Context, env string, q Query,
) (paging.Page[Agent], error) {
	v := q.Values()
	client.Set(v, "name", q.Name)
	client.Set(v, "transport", q.Transport)
	if q.Paused != nil {
		v.Set("paused", strconv.FormatBool(*q.Paused))
	}
	return client.Page[Agent](ctx, c.Conn, env, "agents", v)
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
