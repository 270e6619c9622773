package resources

import (
	"context"
	"net/http"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/resource"
)

// Routes serves resources, and schedules work on them.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/resources", "resources",
		"Resources, in order of id unless sorted otherwise",
		func(ctx context.Context, i *resourcesIn) (*server.Out[paging.Page[Resource]], error) {
			return server.Answer(s.ResourcesPage(ctx, i.Env,
				Query{paging.Query{Sort: i.Sort, Cursor: i.Cursor, Limit: i.Limit.Limit,
					Count: i.Count}, i.Filter}))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/health", "health",
		"Problems, causes first",
		func(ctx context.Context, i *server.InEnvironment) (*server.Out[Health], error) {
			t, err := s.Health(ctx, i.Env)
			err = s.Env.CheckFound(ctx, i.Env, len(t.Groups), err)
			t.bound()
			return server.Answer(t, err)
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/resources/{id}", "resource",
		"One resource",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			ID string `path:"id" minLength:"1" maxLength:"4096"`
		}) (*server.Out[Detail], error) {
			return server.Answer(s.Resource(ctx, i.Env, resource.ID(i.ID)))
		})
	for _, repair := range []bool{false, true} {
		name, what := "deploy", "Schedule unfinished resources that match"
		if repair {
			name, what = "repair", "Schedule everything that matches to be checked against reality"
		}
		server.Register(r, http.MethodPost, server.EnvironmentPath+"/"+name, name, what,
			func(ctx context.Context, i *workIn) (*server.Out[Scheduled], error) {
				if err := s.Env.Require(ctx, i.Env); err != nil {
					return nil, problem.Of(err)
				}
				n, err := s.Schedule(ctx, i.Env, Work{Filter: i.Body.Filter, Repair: repair,
					RetryFailed: i.Body.RetryFailed})
				return server.Answer(Scheduled{n}, err)
			})
	}
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/forget", "forget",
		"Forget orphaned resources or a retired agent",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body Forgetting
		}) (*server.Out[Forgotten], error) {
			if len(i.Body.Filter) > 0 {
				if err := s.Env.Require(ctx, i.Env); err != nil {
					return nil, problem.Of(err)
				}
			}
			return server.Answer(s.Forget(ctx, i.Env, i.Body))
		})
}

type workIn struct {
	server.InEnvironment
	Body struct {
		Filter      []string `json:"filter,omitempty" maxItems:"20000" doc:"as the filter of resources, without deploying="`
		RetryFailed bool     `json:"retry_failed,omitempty"`
	}
}

type resourcesIn struct {
	server.InEnvironment
	paging.Limit
	paging.Counting
	Sort   string   `query:"sort" pattern:"^(id(\\.(asc|desc))?|status)$" doc:"status: the worst first, then by id"`
	Cursor string   `query:"cursor" minLength:"1" maxLength:"4120" doc:"value of next of the previous page"`
	Filter []string `query:"filter,explode" maxItems:"120" nullable:"false" doc:"all keys must match: type=, deploying=, an id or a glob at most once; any of several set=, agent=, status=, compliance=, last_run=, blocked=; all of several reason~=, id~=, parts of the text in any case"`
}

// maxNamed is how many blocked resources an answer names.
const maxNamed = 20_000

// bound removes ids beyond the first maxNamed.
func (t *Health) bound() {
	room := maxNamed
	for i := range t.Single {
		p := &t.Single[i]
		p.Because = p.Because[:min(len(p.Because), room)]
		room -= len(p.Because)
	}
}
