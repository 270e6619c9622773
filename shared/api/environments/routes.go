package environments

import (
	"context"
	"net/http"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/deploy"
)

// Routes serves environments as a whole.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, "/v1/environments", "environments", "Names of environments",
		func(ctx context.Context, g *paging.KeyPaging) (*server.Out[paging.Page[string]], error) {
			list, err := s.Environments(ctx)
			return server.Answer(paging.ByKey(list, func(name *string) string { return *name }, *g, err))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/progress", "progress",
		"How far it is",
		func(ctx context.Context, i *server.InEnvironment) (*server.Out[Progress], error) {
			p, err := s.Progress(ctx, i.Env)
			return server.Answer(p, s.CheckFound(ctx, i.Env, p.Last, err))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/audit", "audit",
		"Requests that changed something, newest first",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			paging.Limit
			Cursor string    `query:"cursor" minLength:"1" maxLength:"200" doc:"value of next of the previous page"`
			Since  time.Time `query:"since" doc:"only requests that began then or later"`
		}) (*server.Out[paging.Page[Audited]], error) {
			return server.Answer(s.AuditPage(ctx, i.Env,
				AuditQuery{Cursor: i.Cursor, Since: i.Since, Limit: i.Limit.Limit}))
		})
	changesRoute(r, s)
	summariesRoute(r, s)
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/halt", "halt",
		"Halt or resume the environment",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Halted bool `json:"halted"`
			}
		}) (*server.Out[server.Done], error) {
			err := s.Require(ctx, i.Env)
			if err == nil {
				err = s.Halt(ctx, i.Env, i.Body.Halted)
			}
			return server.Answer(server.Done{Done: true}, err)
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/gc", "collectGarbage",
		"Remove old versions, actions and unused files", func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				GraceMS int64 `json:"grace_ms,omitempty" minimum:"0" maximum:"31536000000" doc:"age up to which unused files are kept; 0: a day"`
			}
		}) (*server.Out[deploy.Collected], error) {
			if err := s.Require(ctx, i.Env); err != nil {
				return nil, problem.Of(err)
			}
			return server.Answer(s.Collect(ctx, i.Env, time.Duration(i.Body.GraceMS)*time.Millisecond))
		})
}
