package callbacks

import (
	"context"
	"net/http"
	"slices"

	"southbound/shared/api/environments"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/service/callback"
	"southbound/shared/service/orders"
)

// CallbackBody registers a webhook.
type CallbackBody struct {
	tenant.Nulls
	URL     string   `json:"callback_url" minLength:"1" maxLength:"2048" doc:"http or https"`
	ID      *string  `json:"callback_id,omitempty" format:"uuid" pattern:"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" nullable:"true" doc:"id of the webhook; an equal registration adds none"`
	Service *string  `json:"service_entity,omitempty" maxLength:"255" nullable:"true" doc:"null: all"`
	Level   *string  `json:"minimal_log_level,omitempty" enum:"TRACE,DEBUG,INFO,WARNING,ERROR,CRITICAL" nullable:"true" doc:"INFO, or ERROR for errors only"`
	Secret  *string  `json:"secret,omitempty" maxLength:"1024" nullable:"true" doc:"the source of the key that calls are signed with: env:CALLBACK_…, ssm:/southbound/callbacks/…, secretsmanager:southbound/callbacks/…; null: they are not signed"`
	Events  []string `json:"event_types,omitempty" maxItems:"50" nullable:"true" doc:"null: all"`
}

const (
	callbacksPath = "/lsm/v1/callbacks"
	callbackPath  = callbacksPath + "/{callback_id}"
)

// Routes serves the webhooks for events of instances.
func Routes(r *server.Router, s *tenant.Orders, env *environments.Service) {
	type registerIn struct {
		tenant.InTenant
		Body CallbackBody
	}
	tenant.Register(r, s, http.MethodPost, callbacksPath, "registerCallback",
		"Register a webhook for events of instances",
		func(ctx context.Context, o *orders.Service, i *registerIn) (string, error) {
			b := &i.Body
			c, err := o.Register(ctx, i.Env, orders.NewCallback{
				ID: wire.Text(b.ID), URL: b.URL, Service: wire.Text(b.Service), Events: b.Events,
				Level: wire.Text(b.Level), Secret: wire.Text(b.Secret),
			})
			return c.ID, err
		})
	tenant.Register(r, s, http.MethodGet, callbacksPath, "callbacks",
		"Addresses that are called, and how the last calls went",
		func(ctx context.Context, o *orders.Service, i *tenant.InTenant) ([]orders.Callback, error) {
			all, err := o.Registered(ctx, i.Env)
			return wire.OrEmpty(all), env.CheckFound(ctx, i.Env, len(all), err)
		})
	type oneIn struct {
		tenant.InTenant
		ID string `path:"callback_id" minLength:"1" maxLength:"255"`
	}
	tenant.Register(r, s, http.MethodGet, callbackPath, "callback", "An address that is called",
		func(ctx context.Context, o *orders.Service, i *oneIn) (orders.Callback, error) {
			return oneCallback(ctx, o, i.Env, i.ID)
		})
	tenant.Register(r, s, http.MethodDelete, callbackPath, "unregisterCallback",
		"Call an address no more",
		func(ctx context.Context, o *orders.Service, i *oneIn) (string, error) {
			return i.ID, o.Unregister(ctx, i.Env, i.ID)
		})
}

// oneCallback returns one of the registered webhooks.
func oneCallback(ctx context.Context, o Registry, env, id string) (orders.Callback, error) {
	all, err := o.Registered(ctx, env)
	if err != nil {
		return orders.Callback{}, err
	}
	n := slices.IndexFunc(all, func(c orders.Callback) bool { return c.ID == id })
	if n < 0 {
		return orders.Callback{}, callback.ErrNone(id)
	}
	return all[n], nil
}
