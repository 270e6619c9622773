package api

import (
	"context"
	"net/http"
	"net/url"

	"southbound/shared/api/client"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/service/orders"
)

// RolloutBody requests a move of an instance.
type RolloutBody struct {
	nulls
	Version *int64  `json:"current_version,omitempty" minimum:"1" nullable:"true" doc:"version of the instance that the caller has seen; null: any"`
	Back    bool    `json:"back,omitempty" doc:"return to the definition and the model from before the last rollout"`
	Message *string `json:"message,omitempty" maxLength:"4096" nullable:"true" doc:"reason, stored with its events"`
}

const (
	rolloutPath  = "/rollout"
	rolloutsPath = "/lsm/v2/service_catalog/"
)

// rolloutRoutes serves moves of instances to other definitions and models.
func rolloutRoutes(r *server.Router, s *orderService) {
	type listIn struct {
		InTenant
		OfService
		After string `query:"after" maxLength:"255" doc:"value of next of the previous page"`
	}
	ordering(r, s, http.MethodGet, rolloutsPath+"{service_entity}"+rolloutPath, "rollouts",
		"Which instances have the definition and the model that their version has now",
		func(ctx context.Context, o *orders.Service, i *listIn) (orders.RolloutPage, error) {
			return o.Rollouts(ctx, i.Env, i.Service, i.After)
		})
	type rollIn struct {
		OfInstance
		Body RolloutBody
	}
	ordering(r, s, http.MethodPost, instancePath+rolloutPath, "rollOut",
		"Move an instance to the definition and the model that its version has now, or back",
		func(ctx context.Context, o *orders.Service, i *rollIn) (orders.Instance, error) {
			w := orders.Wish{Ref: i.ref(), Version: i.Body.Version, Message: wire.Text(i.Body.Message)}
			return o.Roll(ctx, i.Env, w, i.Body.Back)
		})
}

// Rollouts implements Orders.
func (o catalogClient) Rollouts(
	ctx context.Context, env, service, after string,
) (orders.RolloutPage, error) {
	var q url.Values
	if after != "" {
		q = url.Values{"after": {after}}
	}
	path := rolloutsPath + url.PathEscape(service) + rolloutPath
	return client.GetData[orders.RolloutPage](ctx, o.c, env, http.MethodGet, path, q, nil)
}

// Roll implements Orders. A repeated request for a move has no further effect.
func (o catalogClient) Roll(
	ctx context.Context, env string, w orders.Wish, back bool,
) (orders.Instance, error) {
	body := RolloutBody{Version: w.Version, Back: back, Message: wire.OrNull(w.Message)}
	return client.GetData[orders.Instance](ctx, o.c, env, http.MethodPost, inventoryOf(w.Ref)+rolloutPath, nil,
		body)
}
