package api

import (
	"context"
	"net/http"

	"southbound/shared/resource"
)

// resourceRoutes serves resources, and schedules work on them.
func resourceRoutes(r *router, s *resourceService) {
	serve(r, http.MethodGet, inEnv+"/resources", "resources", "Resources, in order of id",
		func(ctx context.Context, i *resourcesIn) (*out[Page[Resource]], error) {
			return answer(s.ResourcesPage(ctx, i.Env,
				ResourceQuery{Filter: i.Filter, Cursor: i.Cursor, Limit: i.Limit.Limit}))
		})
	serve(r, http.MethodGet, inEnv+"/health", "health", "Problems, causes first",
		func(ctx context.Context, i *InEnvironment) (*out[Health], error) {
			t, err := s.Health(ctx, i.Env)
			err = s.Env.known(ctx, i.Env, len(t.Groups), err)
			t.bound()
			return answer(t, err)
		})
	serve(r, http.MethodGet, inEnv+"/resources/{id}", "resource", "One resource",
		func(ctx context.Context, i *struct {
			InEnvironment
			ID string `path:"id" minLength:"1" maxLength:"4096"`
		}) (*out[Detail], error) {
			return answer(s.Resource(ctx, i.Env, resource.ID(i.ID)))
		})
	for _, repair := range []bool{false, true} {
		name, what := "deploy", "Schedule unfinished resources that match"
		if repair {
			name, what = "repair", "Schedule everything that matches to be checked against reality"
		}
		serve(r, http.MethodPost, inEnv+"/"+name, name, what,
			func(ctx context.Context, i *workIn) (*out[Scheduled], error) {
				if err := s.Env.exists(ctx, i.Env); err != nil {
					return nil, problemOf(err)
				}
				n, err := s.Schedule(ctx, i.Env, Work{Filter: i.Body.Filter, Repair: repair,
					RetryFailed: i.Body.RetryFailed})
				return answer(Scheduled{n}, err)
			})
	}
	serve(r, http.MethodPost, inEnv+"/forget", "forget",
		"Let go of resources that left the model, or of an agent",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body Forgetting
		}) (*out[Forgotten], error) {
			if len(i.Body.Filter) > 0 {
				if err := s.Env.exists(ctx, i.Env); err != nil {
					return nil, problemOf(err)
				}
			}
			return answer(s.Forget(ctx, i.Env, i.Body))
		})
}

// Scheduled is the number of resources that a request has scheduled.
type Scheduled struct {
	Scheduled int `json:"scheduled"`
}

type workIn struct {
	InEnvironment
	Body struct {
		Filter      []string `json:"filter,omitempty" maxItems:"20000" doc:"all terms must match, of several agent= any; other keys and an id at most once"`
		RetryFailed bool     `json:"retry_failed,omitempty"`
	}
}

type resourcesIn struct {
	InEnvironment
	Limit
	Cursor string   `query:"cursor" minLength:"1" maxLength:"4096" doc:"value of next of the previous page: an id"`
	Filter []string `query:"filter,explode" maxItems:"20" nullable:"false" doc:"all terms must match, of several agent= any; other keys and an id at most once"`
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
