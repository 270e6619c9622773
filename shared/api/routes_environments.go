package api

import (
	"context"
	"net/http"
	"time"

	"southbound/shared/deploy"
)

// environmentRoutes serves environments as a whole.
func environmentRoutes(r *router, s *environmentService) {
	serve(r, http.MethodGet, "/v1/environments", "environments", "Names of environments",
		func(ctx context.Context, g *KeyPaging) (*out[Page[string]], error) {
			list, err := s.Environments(ctx)
			return answer(pageBy(list, func(name *string) string { return *name }, *g, err))
		})
	serve(r, http.MethodGet, inEnv+"/progress", "progress", "How far it is",
		func(ctx context.Context, i *InEnvironment) (*out[Progress], error) {
			p, err := s.Progress(ctx, i.Env)
			return answer(p, s.known(ctx, i.Env, p.Last, err))
		})
	serve(r, http.MethodPost, inEnv+"/halt", "halt",
		"Halt or resume the environment",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Halted bool `json:"halted"`
			}
		}) (*out[Done], error) {
			err := s.exists(ctx, i.Env)
			if err == nil {
				err = s.Halt(ctx, i.Env, i.Body.Halted)
			}
			return answer(Done{true}, err)
		})
	serve(r, http.MethodPost, inEnv+"/gc", "collectGarbage",
		"Remove old versions, actions and unused files", func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				GraceMS int64 `json:"grace_ms,omitempty" minimum:"0" maximum:"31536000000" doc:"age up to which unused files are kept; 0: a day"`
			}
		}) (*out[deploy.Collected], error) {
			if err := s.exists(ctx, i.Env); err != nil {
				return nil, problemOf(err)
			}
			return answer(s.Collect(ctx, i.Env, time.Duration(i.Body.GraceMS)*time.Millisecond))
		})
}
