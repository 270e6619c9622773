// Package callbacks serves the webhooks for events of instances.
package callbacks

import (
	"context"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"southbound/shared/api/client"
	"southbound/shared/api/wire"
	"southbound/shared/service/orders"
)

type Remote struct{ C *client.Conn }

// Register implements Orders. With an id, it may be sent twice.
func (o Remote) Register(
	ctx context.Context, env string, n orders.NewCallback,
) (orders.Callback, error) {
	if n.ID == "" {
		n.ID = uuid.NewString()
	}
	body := CallbackBody{
		URL: n.URL, ID: &n.ID, Service: wire.OrNull(n.Service), Level: wire.OrNull(n.Level), Events: n.Events,
		Secret: wire.OrNull(n.Secret),
	}
	id, err := client.GetData[string](ctx, o.C, env, http.MethodPost, callbacksPath, nil, body)
	if err != nil {
		return orders.Callback{}, err
	}
	return oneCallback(ctx, o, env, id)
}

// Unregister implements Orders.
func (o Remote) Unregister(ctx context.Context, env, id string) error {
	path := callbacksPath + "/" + url.PathEscape(id)
	_, err := client.GetData[string](ctx, o.C, env, http.MethodDelete, path, nil, nil)
	return err
}

// Registered implements Orders.
func (o Remote) Registered(ctx context.Context, env string) ([]orders.Callback, error) {
	all, err := client.GetData[[]orders.Callback](ctx, o.C, env, http.MethodGet,
		callbacksPath, nil, nil)
	return all, client.IgnoreMissing(err)
}

// Registry holds webhooks for events of instances.
type Registry interface {
	// Register adds a webhook.
	Register(ctx context.Context, env string, n orders.NewCallback) (orders.Callback, error)
	// Unregister removes a webhook.
	Unregister(ctx context.Context, env, id string) error
	// Registered returns all webhooks.
	Registered(ctx context.Context, env string) ([]orders.Callback, error)
}
