package parameters

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"

	"southbound/shared/api/paging"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// InNamed holds the parameters of a request about a parameter.
type InNamed struct {
	server.InEnvironment
	Name string `path:"name" minLength:"1" maxLength:"4096"`
}

// The path of one parameter, and the suffix for its history.
const (
	oneParameter = server.EnvironmentPath + "/parameters/{name}"
)

// changeKeys sorts the changes of a parameter, the newest first, and returns their keys. Changes at
// the same instant are numbered from the oldest, so that keys stay valid when further changes are
// added.
func changeKeys(list []state.ParameterChange) []string {
	slices.SortStableFunc(list,
		func(a, b state.ParameterChange) int { return b.Updated.Compare(a.Updated) })
	keys := make([]string, len(list))
	older := 0 // of the same instant
	for i := len(list) - 1; i >= 0; i-- {
		if older++; i+1 == len(list) || !list[i].Updated.Equal(list[i+1].Updated) {
			older = 0
		}
		keys[i] = fmt.Sprintf("%020d.%010d", math.MaxInt64-list[i].Updated.UnixNano(),
			math.MaxInt32-older)
	}
	return keys
}

// ListIn selects a page of parameters or of facts.
type ListIn struct {
	paging.KeyPaging
	paging.Counting
	Sort   string `query:"sort" pattern:"^name(\\.(asc|desc))?$"`
	Prefix string `query:"prefix" minLength:"1" maxLength:"4096" doc:"of the name"`
}

// query returns the query that the parameters define.
func (i *ListIn) query() Query {
	return Query{Query: paging.Query{Sort: i.Sort, Cursor: i.Cursor, Limit: i.Limit.Limit,
		Count: i.Count}, Prefix: i.Prefix}
}

// Routes serves parameters and facts.
func Routes(r *server.Router, s *Service) {
	type listIn struct {
		server.InEnvironment
		ListIn
	}
	type factsIn struct {
		server.InEnvironment
		ListIn
		Resource string `query:"resource" minLength:"1" maxLength:"4096" doc:"facts of the resource with this id"`
	}
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/parameters", "parameters",
		"Parameters, by name",
		func(ctx context.Context, i *listIn) (*server.Out[paging.Page[state.Parameter]], error) {
			return server.Answer(s.ParametersPage(ctx, i.Env, i.query()))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/facts", "facts",
		"Facts, by resource and name",
		func(ctx context.Context, i *factsIn) (*server.Out[paging.Page[Fact]], error) {
			q := i.query()
			q.Facts, q.Resource = true, resource.ID(i.Resource)
			page, err := s.ParametersPage(ctx, i.Env, q)
			return server.Answer(factsPage(page), err)
		})
	server.Register(r, http.MethodGet, oneParameter, "parameter", "One parameter",
		func(ctx context.Context, i *InNamed) (*server.Out[state.Parameter], error) {
			return server.Answer(s.Parameter(ctx, i.Env, i.Name))
		})
	server.Register(r, http.MethodGet, oneParameter+wire.HistorySuffix, "parameterHistory",
		"History of a parameter, newest first", func(ctx context.Context, i *struct {
			InNamed
			paging.KeyPaging
		}) (*server.Out[paging.Page[state.ParameterChange]], error) {
			list, err := s.ParameterHistory(ctx, i.Env, i.Name)
			err = s.Env.CheckFound(ctx, i.Env, len(list), err)
			return server.Answer(paging.ByKeys(list, changeKeys(list), i.KeyPaging, err))
		})
	server.Register(r, http.MethodPut, oneParameter, "setParameter", "Set a parameter",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Name string `path:"name" minLength:"1" maxLength:"255" pattern:"^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$" patternDescription:"letters, digits, signs and spaces, without line breaks and other control characters"`
			Body struct {
				Value string `json:"value"`
			}
		}) (*server.Out[state.Parameter], error) {
			return server.Answer(s.SetParameter(ctx, i.Env, i.Name, i.Body.Value))
		})
	server.Register(r, http.MethodDelete, oneParameter, "deleteParameter", "Delete a parameter",
		func(ctx context.Context, i *InNamed) (*server.Out[server.Done], error) {
			err := s.Env.Require(ctx, i.Env)
			if err == nil {
				err = s.DeleteParameter(ctx, i.Env, i.Name)
			}
			return server.Answer(server.Done{Done: true}, err)
		})
}
