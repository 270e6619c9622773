package agents

import (
	"context"
	"net/http"

	"southbound/shared/api/paging"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
)

// Routes serves agents.
func Routes(r *server.Router, s *Service) {
	type listIn struct {
		server.InEnvironment
		paging.KeyPaging
		paging.Counting
		Sort      string `query:"sort" pattern:"^name(\\.(asc|desc))?$"`
		Name      string `query:"name" minLength:"1" maxLength:"255" doc:"a part of the name, in any case"`
		Transport string `query:"transport" minLength:"1" maxLength:"255"`
		Paused    string `query:"paused" enum:"true,false"`
	}
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/agents", "agents",
		"Agents, by name",
		func(ctx context.Context, i *listIn) (*server.Out[paging.Page[Agent]], error) {
			q := Query{paging.Query{Sort: i.Sort, Cursor: i.Cursor, Limit: i.Limit.Limit,
				Count: i.Count}, i.Name, i.Transport, nil}
			if i.Paused != "" {
				paused := i.Paused == "true"
				q.Paused = &paused
			}
			return server.Answer(s.AgentsPage(ctx, i.Env, q))
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/pause", "pause",
		"Pause or resume agents",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Agents []string `json:"agents" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"text without line breaks and other control characters"`
				Paused bool     `json:"paused"`
			}
		}) (*server.Out[server.Done], error) {
			err := s.Env.Require(ctx, i.Env)
			if err == nil {
				err = s.Pause(ctx, i.Env, i.Body.Paused, i.Body.Agents...)
			}
			return server.Answer(server.Done{Done: true}, err)
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/agents/prune", "pruneAgents",
		"List or remove queues of agents that no longer exist",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Remove bool `json:"remove,omitempty" doc:"false: only list them"`
			}
		}) (*server.Out[prunedAgents], error) {
			agents, err := s.Prune(ctx, i.Env, i.Body.Remove)
			return server.Answer(prunedAgents{wire.OrEmpty(agents)}, err)
		})
}
