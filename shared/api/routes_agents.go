package api

import (
	"context"
	"net/http"
)

// agentRoutes serves agents.
func agentRoutes(r *router, s *agentService) {
	type listIn struct {
		InEnvironment
		KeyPaging
	}
	serve(r, http.MethodGet, inEnv+"/agents", "agents", "Agents, by name",
		func(ctx context.Context, i *listIn) (*out[Page[Agent]], error) {
			return answer(s.AgentsPage(ctx, i.Env, i.KeyPaging))
		})
	serve(r, http.MethodPost, inEnv+"/pause", "pause", "Pause or resume agents",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Agents []string `json:"agents" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"text without line breaks and other control characters"`
				Paused bool     `json:"paused"`
			}
		}) (*out[Done], error) {
			err := s.Env.exists(ctx, i.Env)
			if err == nil {
				err = s.Pause(ctx, i.Env, i.Body.Paused, i.Body.Agents...)
			}
			return answer(Done{true}, err)
		})
	serve(r, http.MethodPost, inEnv+"/agents/prune", "pruneAgents",
		"List or remove queues of agents that no longer exist",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Remove bool `json:"remove,omitempty" doc:"false: only list them"`
			}
		}) (*out[prunedAgents], error) {
			agents, err := s.Prune(ctx, i.Env, i.Body.Remove)
			return answer(prunedAgents{orEmpty(agents)}, err)
		})
}

// prunedAgents are the agents whose queues are not needed, or were removed.
type prunedAgents struct {
	Agents []Pruned `json:"agents"`
}
