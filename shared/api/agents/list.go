package agents

import (
	"context"

	"southbound/shared/api/paging"
)

// AgentsPage returns a page of the agents, by name.
func (s *Service) AgentsPage(
	ctx context.Context, env string, g paging.KeyPaging,
) (paging.Page[Agent], error) {
	list, err := s.Agents(ctx, env)
	err = s.Env.CheckFound(ctx, env, len(list), err)
	return paging.ByKey(list, func(a *Agent) string { return a.Name }, g, err)
}
