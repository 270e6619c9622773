package services

import (
	"context"
	"net/http"

	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/service/orders"
)

// RolloutBody requests a move of an instance.
type RolloutBody struct {
	tenant.Nulls
	Version *int64  `json:"current_version,omitempty" minimum:"1" nullable:"true" doc:"version of the instance that the caller has seen; null: any"`
	Back    bool    `json:"back,omitempty" doc:"return to the definition and the model from before the last rollout"`
	Message *string `json:"message,omitempty" maxLength:"4096" nullable:"true" doc:"reason, stored with its events"`
}

const (
	rolloutPath  = "/rollout"
	rolloutsPath = "/lsm/v2/service_catalog/"
)

// rolloutRoutes serves moves of instances to other definitions and models.
func rolloutRoutes(r *server.Router, s *tenant.Orders) {
	type listIn struct {
		tenant.InTenant
		tenant.OfService
		After string `query:"after" maxLength:"255" doc:"value of next of the previous page"`
	}
	tenant.Register(r, s, http.MethodGet, rolloutsPath+"{service_entity}"+rolloutPath, "rollouts",
		"Which instances have the definition and the model that their version has now",
		func(ctx context.Context, o *orders.Service, i *listIn) (orders.RolloutPage, error) {
			return o.Rollouts(ctx, i.Env, i.Service, i.After)
		})
	type rollIn struct {
		tenant.OfInstance
		Body RolloutBody
	}
	tenant.Register(r, s, http.MethodPost, tenant.InstancePath+rolloutPath, "rollOut",
		"Move an instance to the definition and the model that its version has now, or back",
		func(ctx context.Context, o *orders.Service, i *rollIn) (orders.Instance, error) {
			w := orders.Wish{Ref: i.Ref(), Version: i.Body.Version, Message: wire.Text(i.Body.Message)}
			return o.Roll(ctx, i.Env, w, i.Body.Back)
		})
}
