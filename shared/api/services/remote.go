// Package services serves the services that can be ordered: offering them, listing them, and moving
// their instances to other definitions.
package services

import (
	"context"
	"net/http"
	"net/url"

	"southbound/shared/api/client"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/service/orders"
)

type Remote struct{ *client.Conn }

type CatalogRemote struct{ C *client.Conn }

// Catalog implements Orders.
func (o CatalogRemote) Catalog(
	ctx context.Context, env string, versions, counts bool,
) ([]orders.Offer, error) {
	path := "/lsm/v1/service_catalog"
	if versions {
		path = "/lsm/v2/service_catalog"
	}
	all, err := client.GetData[[]orders.Offer](ctx, o.C, env, http.MethodGet,
		path, counting(counts), nil)
	return all, client.IgnoreMissing(err)
}

func counting(counts bool) url.Values {
	if counts {
		return url.Values{"instance_summary": {"true"}}
	}
	return nil
}

// Offer implements Orders.
func (o CatalogRemote) Offer(
	ctx context.Context, env, name string, version int, counts bool,
) (orders.Offer, error) {
	path := "/lsm/v2/service_catalog/" + url.PathEscape(name)
	if version >= 0 {
		path += "/" + wire.Number(version)
		counts = false
	}
	return client.GetData[orders.Offer](ctx, o.C, env, http.MethodGet, path, counting(counts), nil)
}

// Rollouts implements Orders.
func (o CatalogRemote) Rollouts(
	ctx context.Context, env, service, after string,
) (orders.RolloutPage, error) {
	var q url.Values
	if after != "" {
		q = url.Values{"after": {after}}
	}
	path := rolloutsPath + url.PathEscape(service) + rolloutPath
	return client.GetData[orders.RolloutPage](ctx, o.C, env, http.MethodGet, path, q, nil)
}

// Roll implements Orders. A repeated request for a move has no further effect.
func (o CatalogRemote) Roll(
	ctx context.Context, env string, w orders.Wish, back bool,
) (orders.Instance, error) {
	body := RolloutBody{Version: w.Version, Back: back, Message: wire.OrNull(w.Message)}
	return client.GetData[orders.Instance](ctx, o.C, env, http.MethodPost,
		tenant.InstanceAddress(w.Ref)+rolloutPath, nil,
		body)
}
