package api

import (
	"context"
	"net/http"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/fault"
)

// typeRoutes serves resource types.
func typeRoutes(r *server.Router, s *typeService) {
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

// UnknownType is the error for an unknown type; similar is a similar name, or "".
func UnknownType(name, similar string) error {
	e := fault.New(fault.NotFound, "", "unknown type %q", name).
		WithHint("`southbound types` lists them")
	if similar != "" {
		e = e.WithHint("did you mean %q?", similar)
	}
	return e
}
