package api

import "context"

// AgentsPage returns a page of the agents, by name.
func (s *agentService) AgentsPage(ctx context.Context, env string, g KeyPaging) (Page[Agent], error) {
	list, err := s.Agents(ctx, env)
	err = s.Env.known(ctx, env, len(list), err)
	return pageBy(list, func(a *Agent) string { return a.Name }, g, err)
}
