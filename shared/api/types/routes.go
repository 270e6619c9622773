package types

import (
	"context"
	"net/http"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
)

// Routes serves resource types.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, "/v1/types", "types", "Resource types",
		func(ctx context.Context, g *paging.Paging) (*server.Out[paging.Page[Type]], error) {
			list, err := s.Types(ctx)
			return server.Answer(paging.FromNumber(list, *g, err))
		})
	server.Register(r, http.MethodGet, "/v1/types/{name}", "type", "One resource type",
		func(ctx context.Context, i *struct {
			Name string `path:"name" minLength:"1" maxLength:"1000" pattern:"^[A-Za-z0-9_:]+$" patternDescription:"letters, digits, _ and ::"`
		}) (*server.Out[Type], error) {
			t, ok := s.Registry.Type(i.Name)
			if !ok {
				return nil, problem.Of(UnknownType(i.Name, s.Registry.Nearest(i.Name)))
			}
			return server.Answer(typeOf(t), nil)
		})
}
