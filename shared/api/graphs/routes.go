package graphs

import (
	"context"
	"net/http"

	"southbound/shared/api/server"
	"southbound/shared/resource"
)

// Routes serves graphs.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/resources/{id}/graph",
		"resourceGraph", "Neighbours of a resource, with its root causes",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			ID    string `path:"id" minLength:"1" maxLength:"4096"`
			Up    int    `query:"up" minimum:"0" maximum:"1000" default:"2" doc:"steps to requirements"`
			Down  int    `query:"down" minimum:"0" maximum:"1000" default:"2" doc:"steps to dependants"`
			Limit int    `query:"limit" minimum:"1" maximum:"2000" default:"500" doc:"number of nodes; beyond it only unhealthy nodes and their neighbours are kept"`
		}) (*server.Out[Graph], error) {
			return server.Answer(s.Graph(ctx, i.Env, Query{ID: resource.ID(i.ID), Up: i.Up,
				Down: i.Down, Limit: i.Limit}))
		})
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/graph", "graph",
		"Dependencies between resources, folded into boxes",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Fold    []string `query:"fold" minItems:"1" maxItems:"2" nullable:"false" enum:"agent,type" doc:"common properties of the resources of a box; absent: every resource is a node"`
			Open    []string `query:"open,explode" maxItems:"30" minLength:"1" maxLength:"1000" nullable:"false" doc:"keys of boxes whose resources are nodes"`
			Filter  []string `query:"filter,explode" maxItems:"20" nullable:"false" doc:"all terms must match, of several agent= any; other keys and an id at most once"`
			Outside bool     `query:"outside" doc:"also the direct requirements that the filter does not select"`
			Limit   int      `query:"limit" minimum:"1" maximum:"2000" default:"500" doc:"number of nodes; beyond it only unhealthy nodes and their neighbours are kept"`
		}) (*server.Out[Graph], error) {
			return server.Answer(s.Graph(ctx, i.Env, Query{Fold: i.Fold, Open: i.Open,
				Filter: i.Filter, Outside: i.Outside, Limit: i.Limit}))
		})
}
