package parameters

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Query selects a page of parameters or of facts.
type Query struct {
	paging.Query
	Facts    bool        // facts, else parameters
	Prefix   string      // of the name; "": any
	Resource resource.ID // facts of this resource; "": of all
}

// ParametersPage implements Home.
func (s *Service) ParametersPage(
	ctx context.Context, env string, q Query,
) (paging.Page[state.Parameter], error) {
	list, err := s.Env.Engine.State.Parameters(ctx, env,
		state.ParameterQuery{Facts: q.Facts, Of: q.Resource})
	if err = s.Env.CheckFound(ctx, env, len(list), err); err != nil {
		return paging.Page[state.Parameter]{}, err
	}
	list = slices.DeleteFunc(list, func(p state.Parameter) bool {
		return !strings.HasPrefix(p.Name, q.Prefix)
	})
	return paging.OfList(list, parameterKey, "name", q.Query)
}

// parameterKey is the order of parameters, by name, and of facts, by resource and name.
func parameterKey(p *state.Parameter) string { return string(p.Of) + "\x00" + p.Name }
