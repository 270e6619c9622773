package agents

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/api/paging"
)

// Query selects a page of agents.
type Query struct {
	paging.Query
	Name      string // a part of the name, in any case; "": any
	Transport string // "": any
	Paused    *bool  // nil: any
}

// AgentsPage implements Home.
func (s *Service) AgentsPage(
	ctx context.Context, env string, q Query,
) (paging.Page[Agent], error) {
	list, err := s.Agents(ctx, env)
	if err = s.Env.CheckFound(ctx, env, len(list), err); err != nil {
		return paging.Page[Agent]{}, err
	}
	part := strings.ToLower(q.Name)
	list = slices.DeleteFunc(list, func(a Agent) bool {
		return !strings.Contains(strings.ToLower(a.Name), part) ||
			q.Transport != "" && a.Transport != q.Transport ||
			q.Paused != nil && a.Paused != *q.Paused
	})
	return paging.OfList(list, func(a *Agent) string { return a.Name }, "name", q.Query)
}
