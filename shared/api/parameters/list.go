package parameters

import (
	"context"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
)

// ParametersPage returns a page of the parameters by name, or of the facts by resource and name.
func (s *Service) ParametersPage(
	ctx context.Context, env string, facts bool, g paging.KeyPaging,
) (paging.Page[state.Parameter], error) {
	list, err := s.Parameters(ctx, env, facts)
	err = s.Env.CheckFound(ctx, env, len(list), err)
	return paging.ByKey(list, parameterKey, g, err)
}

// parameterKey is the order of parameters, by name, and of facts, by resource and name.
func parameterKey(p *state.Parameter) string { return string(p.Of) + "\x00" + p.Name }
